package simulate

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/plimsoll-dev/plimsoll/internal/simulate"
	"github.com/plimsoll-dev/plimsoll/internal/simulate/manifest"
)

const simulated = `
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: web}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}
  minReplicas: 2
  maxReplicas: 20
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  template:
    spec:
      containers:
      - {name: app, resources: {requests: {cpu: 200m}, limits: {cpu: 300m}}}
`

// simulateWith runs the command with a file's content as --hpa, and returns what it prints on standard output.
func simulateWith(t *testing.T, content string, args ...string) (string, error) {
	t.Helper()
	out, _, err := simulateNoted(t, content, args...)
	return out, err
}

// simulateNoted returns what is printed on standard error too.
func simulateNoted(t *testing.T, content string, args ...string) (out, notes string, err error) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "web.yaml")
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	var printed, noted bytes.Buffer
	cmd := Command()
	cmd.SetOut(&printed)
	cmd.SetErr(&noted)
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	cmd.SetArgs(append([]string{"--hpa", file}, args...))
	err = cmd.ExecuteContext(t.Context())
	return printed.String(), noted.String(), err
}

func TestSimulateText(t *testing.T) {
	out, err := simulateWith(t, simulated, "--load=step:10@0s,50@5m", "--for=10m")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"Deployment web: 200m requested, no more than 300m", "upstream   ", "plimsoll\n",
		"\nmetric  cpu is what requests use", "\ntime short of capacity", "\nworst minute", "\nrecovery from surges",
		"pods ready"} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is missing in\n%s", want, out)
		}
	}
	if !strings.HasPrefix(out, "assumed: a pod serves 4.46 requests/s at 100 % of its CPU request, so that the\n"+
		"        peak of 50 needs 70 % of maxReplicas 20; at 80 % the peak needs 14 pods;") ||
		strings.Contains(out, "latency") {
		t.Errorf("%s", out)
	}
	if out, err = simulateWith(t, simulated, "--load=step:10@0s,50@5m", "--for=10m", "--as=both", "--all"); err != nil ||
		!strings.Contains(out, "latency, 99th percentile") || !strings.Contains(out, "upstream   ") {
		t.Errorf("%v\n%s", err, out)
	}
}

const onRequests = `
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: web}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}
  minReplicas: 2
  maxReplicas: 20
  metrics:
  - {type: Pods, pods: {metric: {name: http_requests}, target: {type: AverageValue, averageValue: "100"}}}
`

// TestSimulateRequests: a unit of the load is a request a second. At 100 of them for each pod, 1500 are 15 pods, and are
// served by them.
func TestSimulateRequests(t *testing.T) {
	out, err := simulateWith(t, onRequests, "--load=step:100@0s,1500@5m", "--for=15m", "-o=json")
	if err != nil {
		t.Fatal(err)
	}
	var got played
	if err := json.Unmarshal([]byte(out), &got); err != nil || len(got.Runs) != 2 {
		t.Fatalf("%v, %s", err, out)
	}
	for _, run := range got.Runs {
		if n := len(run.Changes); n == 0 || run.Changes[n-1].To != 15 {
			t.Errorf("%s: %v, want 15 pods at last", run.Name, run.Changes)
		}
		if run.Score.LostPercent > 5 {
			t.Errorf("%s: %v %% of the requests are lost", run.Name, run.Score.LostPercent)
		}
	}
}

// TestSimulateMaxReplicas: the pods of settings that are compared are the same, so the one with fewer of them lacks.
func TestSimulateMaxReplicas(t *testing.T) {
	for name, content := range map[string]string{"cpu": simulated, "requests": onRequests} {
		out, err := simulateWith(t, content, "--load=step:100@0s,1500@5m", "--for=15m", "--as=plimsoll", "-o=json",
			"--set=spec.maxReplicas=6", "--set=spec.maxReplicas=60")
		var got played
		if err != nil || json.Unmarshal([]byte(out), &got) != nil || len(got.Runs) != 2 {
			t.Fatalf("%s: %v\n%s", name, err, out)
		}
		few, many := &got.Runs[0], &got.Runs[1]
		if few.Name != "maxReplicas=6" || few.Score.ShortPercent < 50 || many.Score.ShortPercent > 20 {
			t.Errorf("%s: %s is short for %v %% of the time, %s for %v %%", name, few.Name, few.Score.ShortPercent, many.Name,
				many.Score.ShortPercent)
		}
	}
}

// TestSimulateAnswers: where the scores do not answer the question the exit status is 1. What cannot be an answer is not
// played.
func TestSimulateAnswers(t *testing.T) {
	const load = "--load=step:100@0s,1500@5m"
	for name, c := range map[string]struct {
		args     []string
		want     string
		isPlayed bool
	}{
		"a target above what a pod serves": {[]string{"--pod-capacity=50"}, "metric http_requests never asks for more pods", false},
		"more than all maxReplicas":        {[]string{"--set=spec.maxReplicas=9", "--set=spec.maxReplicas=10"}, "15 of maxReplicas 10, 15 of maxReplicas 9", true},
		"twice the same":                   {[]string{"--set=spec.maxReplicas=20", "--set=spec.maxReplicas=20"}, "all 2 settings ask for the same", false},
		"a field that is not used": {[]string{"--set=spec.metrics[0].pods.metric.name=a", "--set=spec.metrics[0].pods.metric.name=b"},
			"--set: spec.metrics[0].pods.metric.name: the simulation does not use this field", false},
		"another target's name": {[]string{"--set=spec.scaleTargetRef.name=b"}, "spec.scaleTargetRef.name: the simulation does not use", false},
		"two capacities":        {[]string{"--pod-capacity=50", "--cpu-per-request=10m"}, "leave out one", false},
		"no capacity":           {[]string{"--pod-capacity=-1"}, "--pod-capacity: -1, want requests per second", false},
		"no memory":             {[]string{"--memory=base=-1Mi"}, "want an amount of memory", false},
		"no such memory":        {[]string{"--memory=cache=1Mi"}, "want base or request", false},
	} {
		out, err := simulateWith(t, onRequests, append([]string{load, "--for=10m", "--as=plimsoll"}, c.args...)...)
		if err == nil || !strings.Contains(err.Error(), c.want) || (out != "") != c.isPlayed {
			t.Errorf("%s: %v, want %q\n%s", name, err, c.want, out)
		}
	}
	// The value that it has already is none that is not used.
	if _, err := simulateWith(t, onRequests, load, "--for=10m", "--set=spec.maxReplicas=20"); err != nil {
		t.Error(err)
	}
}

// TestShortName: a setting is named by the ends of its paths, as long as they differ.
func TestShortName(t *testing.T) {
	up, down := manifest.Assignment{Path: "spec.behavior.scaleUp.window", Value: "5"},
		manifest.Assignment{Path: "spec.behavior.scaleDown.window", Value: "9"}
	for want, c := range map[string][]manifest.Assignment{
		"window=5": {up},
		"behavior.scaleUp.window=5 behavior.scaleDown.window=9": {up, down},
	} {
		if got := nameOf("", c, true, simulate.Plimsoll, false); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

const scheduled = `
apiVersion: plimsoll.dev/v1alpha1
kind: WorkloadAutoscaler
metadata: {name: web}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}
  maxReplicas: 20
  mode: Preview
  schedules:
  - {name: open, timeZone: Europe/Berlin, start: "2 9 * * *", durationSeconds: 120, minReplicas: 7}
`

// TestSimulateWorkloadAutoscaler: a WorkloadAutoscaler is played as an HPA is, by Plimsoll's loop. Its schedules go by
// the time at which the load begins.
func TestSimulateWorkloadAutoscaler(t *testing.T) {
	args := []string{"--load=step:10@0s", "--for=10m", "--start=2026-11-23T08:00:00Z"}
	out, err := simulateWith(t, scheduled, args...)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"plimsoll\n", "limits of plimsoll\n", "  2026-11-23T08:00:00Z  1 to 20\n",
		"  2026-11-23T08:02:00Z  7 to 20\n", "  2026-11-23T08:04:00Z  1 to 20\n", "plimsoll: limits"} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is missing in\n%s", want, out)
		}
	}
	if strings.Contains(out, "upstream") {
		t.Errorf("upstream's loop plays it:\n%s", out)
	}
	out, err = simulateWith(t, scheduled, append(args, "-o=json")...)
	if err != nil || !strings.Contains(out, `"limits"`) || !strings.Contains(out, `"minReplicas": 7`) {
		t.Errorf("%v\n%s", err, out)
	}
	for name, args := range map[string][]string{
		"another clock":   append(args, "--speed-up=2"),
		"upstream's loop": append(args, "--as=upstream"),
		"no time":         append(args, "--start=eight"),
		"a bad zone":      append(args, "--set=spec.schedules[0].timeZone=Mars/Phobos"),
		"a short one":     append(args, "--set=spec.schedules[0].durationSeconds=1"),
		"no such field":   append(args, "--set=spec.sunshine=1"),
	} {
		if out, err := simulateWith(t, scheduled, args...); err == nil {
			t.Errorf("%s is played:\n%s", name, out)
		}
	}
}

// TestSimulateMode: what has another mode is played as Active, and the reader is told, once for each object.
func TestSimulateMode(t *testing.T) {
	args := []string{"--load=step:10@0s", "--for=5m", "--start=2026-11-23T08:00:00Z", "--set=spec.maxReplicas=9",
		"--set=spec.maxReplicas=8"}
	for mode, want := range map[string]string{
		"mode: Preview":                         "note: WorkloadAutoscaler web has mode Preview: it is played as Active\n",
		"mode: Paused\n  paused: {replicas: 3}": "note: WorkloadAutoscaler web has mode Paused: it is played as Active\n",
		"mode: Active":                          "",
	} {
		_, notes, err := simulateNoted(t, strings.Replace(scheduled, "mode: Preview", mode, 1), args...)
		if err != nil || strings.Count(notes, "mode") != strings.Count(want, "note") || !strings.Contains(notes, want) {
			t.Errorf("%s: %v, notes %q, want %q", mode, err, notes, want)
		}
	}
}

// TestSimulateTwoTargets: pods are the same in a comparison, so autoscalers of two workloads are not compared.
func TestSimulateTwoTargets(t *testing.T) {
	api := filepath.Join(t.TempDir(), "api.yaml")
	content := strings.ReplaceAll(strings.Replace(simulated, "cpu: 200m", "cpu: 2", 1), "name: web", "name: api")
	for name, content := range map[string]string{
		"nothing else differs": content, "maxReplicas too": strings.Replace(content, "Replicas: 20", "Replicas: 30", 1),
	} {
		if err := os.WriteFile(api, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := simulateWith(t, simulated, "--load=step:10@0s,50@5m", "--for=10m", "--hpa="+api)
		if want := "web upstream scales Deployment web, and api upstream scales Deployment api"; err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", name, err, want)
		}
	}
}

// aDay has a row for each hour of the day of the 23rd of November 2026 in UTC; its values are the hours.
func aDay(t *testing.T) string {
	t.Helper()
	var rows strings.Builder
	begin := time.Date(2026, 11, 23, 0, 0, 0, 0, time.UTC)
	for hour := range 24 {
		fmt.Fprintf(&rows, "%d,%d\n", begin.Add(time.Duration(hour)*time.Hour).Unix(), hour)
	}
	file := filepath.Join(t.TempDir(), "day.csv")
	if err := os.WriteFile(file, []byte(rows.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// TestSimulateStart: a trace begins where --start says, with the load of then before, and the peak of what is played asks
// for 70 % of maxReplicas.
func TestSimulateStart(t *testing.T) {
	day := "--load=" + aDay(t)
	for name, args := range map[string][]string{
		"by date":                 {"--start=2026-11-23T08:00:00Z", "--for=2h"},
		"by date in another zone": {"--start=2026-11-23T09:00:00+01:00", "--for=2h"},
		"after the first row":     {"--start=8h", "--for=2h"},
	} {
		out, err := simulateWith(t, simulated, append(args, day, "--as=plimsoll", "-o=json")...)
		var got struct{ PodCapacity float64 }
		if err != nil || json.Unmarshal([]byte(out), &got) != nil {
			t.Fatalf("%s: %v\n%s", name, err, out)
		}
		// The largest value of the two hours is 9: of 20 replicas 14 serve it at the target of 80 %.
		if want := 9 / (14 * 0.8); math.Abs(got.PodCapacity-want) > 1e-9 {
			t.Errorf("%s: a pod serves %v, want %v\n%s", name, got.PodCapacity, want, out)
		}
	}
	out, err := simulateWith(t, simulated, day, "--start=8h30m", "--for=1h", "--as=plimsoll")
	if err != nil || !strings.Contains(strings.Join(strings.Fields(out), " "), "peak 9 requests/s,") {
		t.Errorf("%v\n%s", err, out)
	}
	for want, args := range map[string][]string{
		"is before its beginning":                           {day, "--start=2026-11-22T23:59:59Z"},
		"from 2026-11-23T00:00:00Z to 2026-11-24T00:00:00Z": {day, "--start=2026-11-24T00:00:00Z"},
		"is after its end: it lasts 24h0m0s":                {day, "--start=24h"},
		"-1s is before its beginning":                       {day, "--start=-1s"},
		"never above 0 in the 1h0m0s that are played":       {day, "--start=0s", "--for=1h"},
		`--start: "eight", want a date`:                     {day, "--start=eight"},
		"-1h0m0s is before its beginning":                   {"--load=generated:shop", "--start=-1h"},
	} {
		if _, err := simulateWith(t, simulated, args...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, want %q", args, err, want)
		}
	}
}

// TestSimulateExamples: the documentation's WorkloadAutoscalers can be played, with metrics that Plimsoll reads itself too.
// A scaler's own target is not known here.
func TestSimulateExamples(t *testing.T) {
	const ownTarget = "has the target that its scaler names"
	var examples []string
	for _, page := range []string{"workloadautoscaler.md", "recipes.md"} {
		text, err := os.ReadFile("../../../../docs/" + page)
		if err != nil {
			t.Fatal(err)
		}
		examples = append(examples, strings.Split(string(text), "```yaml\n")[1:]...)
	}
	played := 0
	for _, example := range examples {
		example, _, _ = strings.Cut(example, "```")
		if strings.Contains(example, "kind: VerticalPodAutoscaler") {
			continue
		}
		out, err := simulateWith(t, example, "--load=step:10@0s,50@3m", "--for=5m")
		kind := "externalScaler"
		if strings.Contains(example, "type: Scaler") {
			kind = "scaler"
		}
		isOwnTarget := strings.Contains(example, kind+":") && !strings.Contains(example, "target:")
		switch {
		case isOwnTarget && (err == nil || !strings.Contains(err.Error(), ownTarget)):
			t.Errorf("%v\n%s%s", err, out, example)
		case isOwnTarget:
			out, err = simulateWith(t, example, "--load=step:10@0s,50@3m", "--for=5m",
				"--set=spec.metrics[0]."+kind+".target={type: AverageValue, averageValue: 20}")
		}
		if err != nil || !strings.Contains(out, "pod-hours") {
			t.Errorf("%v\n%s%s", err, out, example)
		}
		played++
	}
	if played < 11 {
		t.Errorf("only %d examples were found", played)
	}
}

// TestSimulateOwnMetrics: what is wrong with a metric that Plimsoll reads itself is said with its field.
func TestSimulateOwnMetrics(t *testing.T) {
	const own = `
apiVersion: plimsoll.dev/v1alpha1
kind: WorkloadAutoscaler
metadata: {name: web}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}
  maxReplicas: 20
  metrics:
  - name: hits
    type: PodEndpoint
    podEndpoint: {port: 80, metric: {name: hits}, valueType: Rate, target: {type: AverageValue, averageValue: 30}}
`
	for set, want := range map[string]string{
		"spec.maxReplicas=9": "",
		"spec.metrics[0].podEndpoint.target={type: Value, value: 300}":                "1 pod can serve at most",
		"spec.metrics[0].podEndpoint.metric.name=http-requests":                       "metric.name",
		"spec.metrics[0].podEndpoint.port=0":                                          "port",
		"spec.metrics[0].podEndpoint.valueType=Counter":                               `supported values: "Gauge", "Rate"`,
		"spec.metrics[0].podEndpoint.target={type: AverageValue}":                     "averageValue: Required value: must be set where type is AverageValue",
		"spec.metrics[0].podEndpoint.target={type: Value, value: 1, averageValue: 1}": "averageValue: Forbidden: may be set only where type is AverageValue",
		"spec.metrics[0].podEndpoint.taget=1":                                         "taget",
		"spec.metrics[0].type=Pods":                                                   "spec.metrics[0].pods: Required value: must be set where type is Pods",
		"spec.metrics[0].type=Prometheus":                                             "spec.metrics[0].prometheus: Required value: must be set where type is Prometheus",
	} {
		out, err := simulateWith(t, own, "--load=step:10@0s", "--for=1m", "--set="+set)
		if (want == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q\n%s", set, err, want, out)
		}
	}
}

// TestSimulateCompares: a field that is set twice is two settings, and the two differ.
func TestSimulateCompares(t *testing.T) {
	out, err := simulateWith(t, simulated, "--load=step:10@0s,50@5m", "--for=10m", "--as=plimsoll", "-o=csv",
		"--pod-capacity=3",
		"--set=spec.maxReplicas=5", "--set=spec.maxReplicas=30", "--set=spec.minReplicas=3")
	if err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(strings.NewReader(out)).ReadAll()
	if err != nil || len(rows) != 3 {
		t.Fatalf("%v, %v", rows, err)
	}
	if rows[1][0] != "maxReplicas=5 minReplicas=3" || rows[2][0] != "maxReplicas=30 minReplicas=3" ||
		rows[1][2] == rows[2][2] {
		t.Errorf("%v", rows)
	}
}

// TestSimulateFits: with one to five settings, each under both loops, no line is wider than 80 columns.
func TestSimulateFits(t *testing.T) {
	args := []string{"--load=step:10@0s,50@5m", "--for=6m", "--pod-capacity=4"}
	for most := range 5 {
		args = append(args, fmt.Sprintf("--set=spec.behavior.scaleUp.stabilizationWindowSeconds=%d", 60*most))
		for _, rows := range [][]string{nil, {"--all"}} {
			out, err := simulateWith(t, simulated, append(args, rows...)...)
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.Count(out, ": pods ready"); got != 2*(most+1) {
				t.Errorf("%d runs of %d settings", got, most+1)
			}
			for line := range strings.Lines(out) {
				if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > 80 {
					t.Errorf("%d settings, %s: %d columns: %s", most+1, rows, n, line)
				}
			}
		}
	}
}

func TestSimulateJSONAndPlot(t *testing.T) {
	picture := filepath.Join(t.TempDir(), "web.svg")
	out, err := simulateWith(t, simulated, "--load=poisson:mean=5,burstiness=2", "--for=5m", "-o=json", "--plot="+picture,
		"--seed=7", "--nodes=3")
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		Seed       uint64
		Burstiness float64
		Runs       []struct{ Name string }
	}
	if err := json.Unmarshal([]byte(out), &got); err != nil || got.Seed != 7 || got.Burstiness != 2 || len(got.Runs) != 2 {
		t.Errorf("%+v, %v", got, err)
	}
	if content, err := os.ReadFile(picture); err != nil || !bytes.Contains(content, []byte("<svg")) {
		t.Errorf("no picture: %v", err)
	}
}

func TestSimulateErrors(t *testing.T) {
	const load = "--load=poisson:5"
	noRequest := strings.Replace(simulated, "requests: {cpu: 200m}, ", "", 1)
	for name, test := range map[string]struct {
		content, want string
		args          []string
	}{
		"no load":          {simulated, "--load: name a trace", nil},
		"no such trace":    {simulated, `load "nowhere.csv": no such file`, []string{"--load=nowhere.csv"}},
		"a bad shape":      {simulated, "RATE@TIME", []string{"--load=step:5"}},
		"an unknown side":  {simulated, `--as: "keda"`, []string{load, "--as=keda"}},
		"an unknown form":  {simulated, "--output", []string{load, "-o=xml"}},
		"an unknown plot":  {simulated, "--plot", []string{load, "--plot=a.gif"}},
		"an unknown field": {simulated, "maxReplica", []string{load, "--set=spec.maxReplica=3"}},
		"no field":         {simulated, "--set", []string{load, "--set=maxReplicas"}},
		"no autoscaler": {"{apiVersion: v1, kind: Service, metadata: {name: a}}", "there is no HorizontalPodAutoscaler",
			[]string{load}},
		"no request": {noRequest, "requests no CPU", []string{load}},
		"another target": {strings.Replace(simulated, "Deployment, name: web", "Deployment, name: other", 1),
			"there is no Deployment other", []string{load, "--workload="}},
		"backwards":  {simulated, "--speed-up", []string{load, "--speed-up=-1"}},
		"a long lag": {simulated, "lag", []string{load, "--metric-lag=20s"}},
	} {
		t.Run(name, func(t *testing.T) {
			args := test.args
			if name == "another target" {
				file := filepath.Join(t.TempDir(), "workload.yaml")
				if err := os.WriteFile(file, []byte(simulated), 0o600); err != nil {
					t.Fatal(err)
				}
				args = []string{load, "--workload=" + file}
			}
			_, err := simulateWith(t, test.content, args...)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
}

// TestProgress: nothing is said of what is soon over, and then a line now and then.
func TestProgress(t *testing.T) {
	var out bytes.Buffer
	began := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	p := progress{out: &out, every: 5 * time.Second, end: "\n", began: began}
	for second := range 21 {
		p.print(began.Add(time.Duration(second)*time.Second), float64(second)/20)
	}
	if got, want := out.String(), "simulating: 10 %\nsimulating: 35 %\nsimulating: 60 %\nsimulating: 85 %\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
