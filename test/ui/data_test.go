//go:build ui

package ui

import (
	"context"
	"fmt"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/explain/loadreport"
	"github.com/plimsoll-dev/plimsoll/internal/output"
	"github.com/plimsoll-dev/plimsoll/internal/ui/server"
	"github.com/plimsoll-dev/plimsoll/internal/ui/view"
)

// markup is what names and messages must not become.
const markup = `<img src=x onerror="window.hacked=true"><script>window.hacked=true</script>`

// madeUp is a cluster of made-up autoscalers. The page asks it as it asks a real one.
type madeUp struct {
	mu   sync.Mutex // guards what is below
	rows []view.Row
	// objects are by ID.
	objects map[string]*view.Object
	notes   []view.Note
	// revision grows with each change; changed are the rows of the last one.
	revision int64
	changed  []view.Row
	// asked are the other settings that the page has sent, played is the answer to each.
	asked  []view.WhatIfRequest
	played *view.WhatIf
}

var _ server.Source = (*madeUp)(nil)

// Overview is the server's.
func (m *madeUp) Overview(since int64) *view.Overview {
	m.mu.Lock()
	defer m.mu.Unlock()
	answer := &view.Overview{
		Context: "kind-production", Now: time.Now().UnixMilli(), Revision: m.revision, Rows: []view.Row{},
		Removed: []string{}, Notes: append([]view.Note{}, m.notes...),
	}
	switch {
	case since == m.revision:
	case since > 0 && since == m.revision-1:
		answer.Rows = slices.Clone(m.changed)
	default:
		answer.IsWhole, answer.Rows = true, slices.Clone(m.rows)
	}
	return answer
}

// Object is the server's.
func (m *madeUp) Object(_ context.Context, kind, namespace, name string, _ time.Duration) (*view.Object, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	object := m.objects[view.IDOf(kind, namespace, name)]
	if object == nil {
		return nil, server.ErrNotFound
	}
	answer := *object
	answer.Now = time.Now().UnixMilli()
	return &answer, nil
}

// change replaces a row.
func (m *madeUp) change(row view.Row) {
	m.mu.Lock()
	defer m.mu.Unlock()
	i := slices.IndexFunc(m.rows, func(r view.Row) bool { return r.ID == row.ID })
	m.rows[i], m.changed = row, []view.Row{row}
	m.revision++
}

// WhatIf is the server's.
func (m *madeUp) WhatIf(_ context.Context, asked *view.WhatIfRequest) (*view.WhatIf, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.asked = append(m.asked, *asked)
	if most := asked.Changes.MaxReplicas; most != nil && *most < 1 {
		return nil, fmt.Errorf("%w: spec.maxReplicas: %d is less than 1", server.ErrInvalid, *most)
	}
	return m.played, nil
}

// lastAsked is the last other setting that was played.
func (m *madeUp) lastAsked() (asked view.WhatIfRequest, n int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if n = len(m.asked); n > 0 {
		asked = m.asked[n-1]
	}
	return asked, n
}

var (
	teams    = []string{"checkout", "search", "payments", "catalogue", "accounts", "shipping", "media"}
	services = []string{"web", "api", "worker", "cache", "index", "gateway", "mailer", "cron", "stream", "pricing"}
)

// rowsOf are n autoscalers of all kinds and in all states.
func rowsOf(n int) []view.Row {
	rows := make([]view.Row, n)
	for i := range rows {
		rows[i] = rowOf(i)
	}
	return rows
}

func rowOf(i int) view.Row {
	name := services[i%len(services)]
	if round := i / (len(services) * len(teams)); round > 0 {
		name = fmt.Sprintf("%s-%d", name, round)
	}
	row := view.Row{Kind: view.HPA, Namespace: teams[i/len(services)%len(teams)], Name: name, Target: "Deployment/" + name, Health: view.OK}
	switch i % 9 {
	case 3:
		row.Kind = view.WLA
	case 5:
		row.Kind, row.Mode = view.VPA, []string{"Auto", "Initial", "InPlaceOrRecreate"}[i/9%3]
	}
	row.ID = view.IDOf(row.Kind, row.Namespace, row.Name)
	if row.Kind == view.VPA {
		if i%61 == 6 {
			row.Health, row.Says = view.Unknown, "no controller has written a status"
		}
		return row
	}
	least, most := int32(1+i%3), int32(8+i%5*4)
	row.Min, row.Max = &least, &most
	if i%61 == 6 {
		row.Health, row.Says = view.Unknown, "no controller has written a status"
		return row
	}
	desired := least + int32(i*7%int(most-least+1))
	current := desired
	if i%11 == 4 && desired > least && desired < 7 {
		current--
	}
	row.Desired, row.Current = &desired, &current
	row.Scaled = time.Now().Add(-time.Duration(i%97) * time.Minute).UnixMilli()
	row.Counts = countsOf(i, least, desired)
	// The load asks for as many pods as are desired.
	setLoad(&row, float64(desired)-0.15-0.4*math.Abs(math.Sin(float64(i))))
	worsen(&row, i)
	return row
}

// targetPercent is the target of all CPU metrics here.
const targetPercent = 70

// setLoad sets a load in pods at the target, as the utilization of the current pods.
func setLoad(row *view.Row, pods float64) {
	percent := math.Round(targetPercent * pods / float64(*row.Current))
	ratio := percent / targetPercent
	row.Load = &view.Load{Metric: "cpu", Ratio: &ratio, Text: fmt.Sprintf("%.0f%%/%d%%", percent, targetPercent)}
}

func worsen(row *view.Row, i int) {
	switch {
	case i%41 == 7:
		row.Load, row.Health = nil, view.Problem
		row.Says = "failed to get cpu utilization: missing request for cpu in container main of Pod " + row.Name + "-7d4b9c-x2x8f"
	case i%17 == 2:
		*row.Desired, *row.Current = *row.Max, *row.Max
		row.Counts = countsOf(i, *row.Min, *row.Max)
		setLoad(row, 1.3*float64(*row.Max))
		row.Health, row.Says = view.Warning, "maxReplicas is reached, and the load asks for more"
		row.Limit = &view.Limit{Name: "TooManyReplicas"}
	}
}

func countsOf(i int, least, desired int32) []view.Count {
	counts := make([]view.Count, 0, 9)
	now := time.Now()
	for k := range 8 {
		at := now.Add(-time.Duration(8-k) * 4 * time.Minute)
		n := least + int32(math.Abs(math.Sin(float64(i+k)))*float64(desired-least+1))
		counts = append(counts, view.Count{At: at.UnixMilli(), Desired: n, Current: n})
	}
	return append(counts, view.Count{At: now.UnixMilli(), Desired: desired, Current: desired})
}

// surge is what is shown of an autoscaler whose load has risen and fallen within the last hour.
func surge(row view.Row) *view.Object {
	end := time.Now().Truncate(15 * time.Second)
	begin := end.Add(-time.Hour)
	row.Counts = nil
	history := &loadreport.Output{
		Kind: row.Kind, Namespace: row.Namespace, Name: row.Name, Source: "Controller", From: begin, To: end, ResolutionSeconds: 15,
	}
	wanted := max(*row.Min, int32(math.Ceil(loadAt(0))))
	ready := wanted
	last := 0.0
	for i := range 241 {
		at, minutes := begin.Add(time.Duration(i)*15*time.Second), float64(i)/4
		load := loadAt(minutes) + 0.12*math.Sin(float64(i)*1.7)
		limit := "None"
		next := max(*row.Min, int32(math.Ceil(load)))
		switch {
		case next > *row.Max:
			next, limit = *row.Max, "TooManyReplicas"
		case next < wanted && load > float64(wanted)-2.2:
			next, limit = wanted, "ScaleDownStabilized"
		}
		if last = load; ready < wanted {
			ready += (wanted - ready + 1) / 2
		} else {
			ready = wanted
		}
		if next != wanted {
			history.Changes = append(history.Changes, loadreport.OutputChange{
				Time: at, WithinSeconds: 1, From: wanted, To: next, Load: &load, Ready: ready, Limit: limit,
			})
		}
		if next != wanted {
			row.Scaled = at.UnixMilli()
			row.Counts = append(row.Counts, view.Count{At: row.Scaled, Desired: next, Current: wanted})
		}
		wanted = next
		w, r := wanted, ready
		history.Points = append(history.Points, loadreport.OutputPoint{Time: at, Load: &load, Wanted: &w, Ready: &r, Limit: limit})
	}
	desired, current := wanted, ready
	row.Desired, row.Current, row.Ready = &desired, &current, &current
	setLoad(&row, last)
	object := &view.Object{Row: row, History: history, Manifest: manifest(row), Notes: []view.Note{}}
	object.Summary, object.Lines = explanation(&row)
	detail(object)
	plan(object, end)
	return object
}

// plan adds what lies ahead, and a schedule; the load has a second metric, which is behind the first one.
func plan(object *view.Object, end time.Time) {
	least, most := *object.Row.Min, *object.Row.Max
	at := func(minutes int) int64 { return end.Add(time.Duration(minutes) * time.Minute).UnixMilli() }
	object.Now, object.Until = end.UnixMilli(), at(15)
	object.Bounds = []view.Bound{
		{At: at(-60), Min: least, Max: most}, {At: at(-50), Min: least + 1, Max: most, Schedules: []string{"lunch"}}, {At: at(-38), Min: least, Max: most},
		{At: at(6), Min: least + 2, Max: most, Schedules: []string{"batch"}},
	}
	for minute := range 15 {
		mean := 2.4 + 0.1*float64(minute)
		object.Forecast.Curve = append(object.Forecast.Curve, view.Expected{At: at(minute + 1), Mean: mean, Upper: mean + 0.6})
		if minute < 10 {
			object.Forecast.Expected, object.Forecast.Until = &mean, at(minute+1)
		}
	}
	// The schedule asks for more than the load does.
	object.Ahead = []view.Ahead{{At: at(6), Replicas: least + 2, Limit: "TooFewReplicas"}}
	cpu := loadreport.OutputMetric{Name: "cpu resource utilization"}
	requests := loadreport.OutputMetric{Name: "pods metric requests"}
	for i, p := range object.History.Points {
		behind := *p.Load * (0.7 + 0.1*math.Sin(float64(i)/15))
		cpu.Loads, requests.Loads = append(cpu.Loads, p.Load), append(requests.Loads, &behind)
	}
	object.History.Metrics = []loadreport.OutputMetric{cpu, requests}
	for _, change := range object.History.Changes {
		reason := "cpu resource utilization (percentage of request) above target"
		if change.To < change.From {
			reason = "All metrics below target"
		}
		object.Events = append(object.Events, view.Event{
			At: change.Time.Add(time.Second).UnixMilli(), Type: "Normal", Reason: "SuccessfulRescale", Count: 1,
			Message: fmt.Sprintf("New size: %d; reason: %s", change.To, reason),
		})
	}
	slices.SortFunc(object.Events, func(a, b view.Event) int { return int(a.At - b.At) })
}

// loadAt is in pods at the target: a surge from 2 to 11 within six minutes, a plateau and a slow decline.
func loadAt(minutes float64) float64 {
	rise := 1 / (1 + math.Exp(-(minutes-18)/1.2))
	fall := 1 / (1 + math.Exp(-(minutes-42)/3))
	return 2.4 + 8.2*(rise-fall)
}

// explanation is what is said of a row whose load is within the tolerance.
func explanation(row *view.Row) (answer string, lines []output.Line) {
	percent, pods := targetPercent**row.Load.Ratio, *row.Current
	begins := time.Now().Truncate(15 * time.Second).Add(6 * time.Minute).Format(time.TimeOnly)
	return fmt.Sprintf("Stays at %d: CPU is at %.0f %% (target %d %%), which needs %d pods; schedule \"batch\" starts at %s with minReplicas %d.",
			*row.Desired, percent, targetPercent, *row.Desired, begins, *row.Min+2), []output.Line{
			{Text: "Decision, 3 s ago", IsHeading: true},
			{Label: "result", Text: fmt.Sprintf("stay at %d", *row.Desired), IsStrong: true},
			{Label: "metric 1", Text: fmt.Sprintf("cpu of pods: %s of the target; %d of %d pods count", row.Load.Text, pods-1, pods)},
			{Label: "  proposal", Text: fmt.Sprintf("ceil(%d × %.2f) = %d", pods, *row.Load.Ratio, *row.Desired)},
			{Text: "Next", IsHeading: true},
			{Label: "next change", Text: fmt.Sprintf("in 6 minutes: the schedule batch asks for %d replicas", *row.Min+2)},
		}
}

func manifest(row view.Row) string {
	return fmt.Sprintf(`apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata:
  name: %s
  namespace: %s
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: %s}
  minReplicas: %d
  maxReplicas: %d
  metrics:
  - type: Resource
    resource: {name: cpu, target: {type: Utilization, averageUtilization: 70}}
`, row.Name, row.Namespace, row.Name, *row.Min, *row.Max)
}

// hostile is an autoscaler all of whose texts are markup.
func hostile() *view.Object {
	row := rowOf(0)
	row.Namespace, row.Name, row.Target, row.Mode = markup, markup, markup, markup
	row.ID = view.IDOf(row.Kind, row.Namespace, row.Name)
	row.Health, row.Says = view.Problem, markup
	ratio := 1.5
	row.Load = &view.Load{Metric: markup, Ratio: &ratio, Text: markup}
	object := surge(row)
	for i := range object.History.Changes {
		object.History.Changes[i].Limit = markup
	}
	object.Lines = []output.Line{{Text: markup, IsHeading: true}, {Label: markup, Text: markup}}
	object.Notes = []view.Note{{What: markup, Why: markup}}
	for i := range object.Metrics {
		object.Metrics[i].Name, object.Metrics[i].Failure = markup, markup
		object.Metrics[i].SetAside = []view.SetAside{{Pod: markup, Why: markup}}
	}
	object.Forecast.Mode, object.Forecast.Text, object.Ahead[0].Limit = markup, markup, markup
	object.Events = []view.Event{{Type: markup, Reason: markup, Message: markup}}
	object.Findings = &[]view.Finding{{
		Rule: markup, Level: markup, Title: markup, Object: markup, Field: markup, Why: markup, Remedy: markup, Command: markup, Patch: markup,
	}}
	object.Vertical = &view.Vertical{
		Mode: markup, Containers: []view.VerticalContainer{{Name: markup, Resources: []view.VerticalResource{{Name: markup}}}},
		Pods: []view.VerticalPod{{Name: markup, Requests: markup, Says: []string{markup}}}, Updater: []string{markup},
	}
	object.Summary, object.Unrecorded, object.Manifest = markup, markup, markup
	return object
}

// detail adds what there is to know besides the past.
func detail(object *view.Object) {
	cpu, counted := *object.Row.Load.Ratio, int(*object.Row.Current)
	requests := 0.7 * cpu
	asks := func(ratio float64) *int32 {
		replicas := int32(math.Ceil(ratio * float64(counted)))
		return &replicas
	}
	fresh := counted - 1
	object.Metrics = []view.Metric{
		{Name: "cpu resource utilization (percentage of request)", Ratio: &cpu, Replicas: asks(cpu), Counted: &fresh, SetAside: []view.SetAside{{
			Pod: "web-7d4b9c-x2x8f", Why: "its last sample is 75 s old",
		}}},
		{Name: "pods metric requests_per_second", Ratio: &requests, Replicas: asks(requests), Counted: &counted},
	}
	now := time.Now()
	object.Forecast = &view.Forecast{Mode: "Preview", Text: "played back, it avoids 14 pod-minutes of lacking capacity a day and wastes 9"}
	object.Events = []view.Event{
		{At: now.Add(-22 * time.Minute).UnixMilli(), Type: "Warning", Reason: "FailedGetResourceMetric", Count: 3,
			Message: "failed to get cpu utilization: did not receive metrics for targeted pods (pods might be unready)"},
	}
	object.Findings = &[]view.Finding{{
		Rule: "readiness", Level: "warning", Title: "No readiness probe", Object: object.Row.Target, Field: "spec.template.spec.containers[main]",
		Why:    "A pod without a readiness probe counts as ready before it serves.",
		Remedy: "Add a readiness probe to the container main.",
		Command: `kubectl patch deployment web -n checkout --type=json -p '[{"op":"add","path":"/spec/template/spec/containers/0/readinessProbe",` +
			`"value":{"httpGet":{"path":"/ready","port":8080}}}]'`,
	}}
}

// played is a day's load with 70% as the target and with 50%, between 2 and 12 replicas.
func played() *view.WhatIf {
	begin := time.Now().Add(-24 * time.Hour).Truncate(time.Minute)
	answer := &view.WhatIf{
		From: begin.UnixMilli(), StepMillis: 60_000,
		Patch: `[{"op":"add","path":"/spec/metrics/0/resource/target/averageUtilization","value":50}]`,
		Notes: []string{
			"the load of HorizontalPodAutoscaler checkout/web of the last 24 h, in pods at the target, read from the controller",
			"the load is in pods at the target, as recorded, each of which serves 35 requests/s; a pod serves 50 requests/s at 100 % " +
				"of its CPU request; at 70 % the peak needs 9 pods; --pod-capacity changes what a pod serves",
			"cpu is what requests use, 10m for each request per second: the peak needs 9 pods",
			"a pod is ready 8s after it has a place on a node", "Plimsoll's loop decides in both",
			"flags such as --pod-capacity are those of plimsoll simulate --from horizontalpodautoscaler/web -n checkout",
		},
	}
	answer.Command = "kubectl patch hpa web -n checkout --type=json -p '" + answer.Patch + "'"
	for i := range 24 * 60 {
		answer.Load = append(answer.Load, dayLoad(i))
	}
	answer.AsIs, answer.Changed = follow(answer.Load, 1), follow(answer.Load, 1.4)
	return answer
}

// dayLoad is quiet at night, and jumps at nine and at noon.
func dayLoad(minute int) float64 {
	load := 2.6 + 0.15*math.Sin(float64(minute)*0.9)
	for _, jump := range []struct {
		from, to int
		pods     float64
	}{{9 * 60, 20 * 60, 3.6}, {12 * 60, 14 * 60, 2.4}} {
		if minute >= jump.from && minute < jump.to {
			load += jump.pods
		}
	}
	return load
}

// follow is what becomes of a load if its ceiling, times a factor, is wanted two minutes later, and lowered after five.
func follow(load []float64, factor float64) (p view.Played) {
	const most = 12
	wanted, short, longest, above, atMax, run := int32(2), 0, 0, 0, 0, 0
	for i := range load {
		highest := 0.0
		for _, pods := range load[max(0, i-7):max(1, i-1)] {
			highest = max(highest, pods)
		}
		next := min(most, max(2, int32(math.Ceil(factor*highest))))
		if next != wanted {
			p.Actions++
		}
		ready := wanted
		wanted = next
		p.Desired, p.Ready = append(p.Desired, wanted), append(p.Ready, ready)
		p.PodHours += float64(ready) / 60
		if load[i] > 1.1*float64(ready) {
			above++
			if ready == most {
				atMax++
			}
		}
		if run++; load[i] <= float64(ready)*100/targetPercent {
			run = 0
		} else {
			short++
		}
		longest = max(longest, run)
	}
	share := 100 / float64(len(load))
	p.AboveAtMaxPercent = share * float64(atMax)
	p.AboveTargetPercent, p.ShortPercent, p.LongestShortSeconds = share*float64(above), share*float64(short), 60*float64(longest)
	return p
}

// vertical is what is shown of a VerticalPodAutoscaler.
func vertical(row view.Row) *view.Object {
	number := func(f float64) *float64 { return &f }
	cpu := view.VerticalResource{
		Name: "cpu", Target: number(0.35), Lower: number(0.22), Upper: number(0.61), Uncapped: number(0.35), Requests: []float64{0.5},
		Percentiles: []view.Percentile{{Percent: 50, Value: 0.19}, {Percent: 90, Value: 0.305}, {Percent: 95, Value: 0.338}},
	}
	memory := view.VerticalResource{
		Name: "memory", Target: number(410 << 20), Lower: number(350 << 20), Upper: number(730 << 20), Uncapped: number(410 << 20),
		Requests: []float64{256 << 20}, Percentiles: []view.Percentile{{Percent: 50, Value: 300 << 20}, {Percent: 90, Value: 357 << 20}},
	}
	bound, width := 0.0, 0.01
	for range 28 {
		middle := bound + width/2
		cpu.Histogram = append(cpu.Histogram, view.Bar{From: bound, To: bound + width, Weight: bell(middle, 0.19, 0.09) * width})
		memory.Histogram = append(memory.Histogram, view.Bar{
			From: bound * 1.2e9, To: (bound + width) * 1.2e9, Weight: bell(middle*1.2, 0.315, 0.05) * width,
		})
		bound, width = bound+width, width*1.05
	}
	const summary = "Recommends cpu 350m and memory 410Mi for container main; the next pass changes 1 of 2 pods (the other is " +
		"not changed, as the PodDisruptionBudget gateway allows no disruption): gateway-6c8d9-abcde would be evicted, because main requests memory 256Mi, less than the lower bound of 350Mi."
	return &view.Object{Row: row, Summary: summary, Notes: []view.Note{}, Lines: []output.Line{}, Manifest: "kind: VerticalPodAutoscaler\n", Vertical: &view.Vertical{
		Mode: row.Mode, Containers: []view.VerticalContainer{{Name: "main", Samples: 9874, Resources: []view.VerticalResource{cpu, memory}}},
		Pods: []view.VerticalPod{
			{Name: "gateway-6c8d9-abcde", Requests: "cpu 500m, memory 256Mi", Says: []string{"to be changed: memory is below the lower bound"}},
			{Name: "gateway-6c8d9-fghij", Requests: "cpu 500m, memory 256Mi", Says: []string{
				"to be changed: memory is below the lower bound", "blocked: the PodDisruptionBudget gateway allows no disruption"}},
		},
		Updater: []string{"The updater's last pass was 21 s ago; the next is in 39 s."},
	}}
}

func bell(x, middle, deviation float64) float64 {
	d := (x - middle) / deviation
	return math.Exp(-d*d/2) / deviation / 2.5
}
