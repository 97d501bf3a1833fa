package horizontal_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/plimsoll-dev/plimsoll/internal/decide/divergence"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric"
)

var update = flag.Bool("update", false, "write what the scenarios print into testdata")

// TestScenarios plays the files in testdata. A file is a sequence of blocks,
// each of them sentences (#), commands, a line of dashes and what must be
// printed. State goes from block to block.
//
//	policy min=1 max=10 tolerance=0.1 window=5m divergences=none
//	                            a new object; all but min and max may be left out
//	metric cpu utilization=20   TYPE or NAME, and its target: see metricOf
//	up, down window=1m select=Min pods=4/60s percent=10/60s
//	                            the rules of one direction; the other one keeps the API server's defaults
//	decide at=15s current=3 existing=4 write=conflict scaled-to-zero both
//	                            one decision, or several: at=0s,15s; without current= the count is
//	                            what the last one made it; both shows upstream's outcome too
//	  are ready*3 pending       what the pods are, see podOf; without it all of current are ready
//	  cpu 515*2 -               a metric's values in milli-units, in the pods' order or its series;
//	                            "-" for no sample, "down" for an API error
//
// In the picture = is a replica that stays, + one that comes and - one that goes.
func TestScenarios(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scenarios: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			played := play(t, string(text))
			if *update {
				if err := os.WriteFile(file, []byte(played), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if diff := cmp.Diff(string(text), played); diff != "" {
				t.Errorf("%s: (-file +played); -update writes it\n%s", file, diff)
			}
		})
	}
}

// play returns the text with what its commands print now.
func play(t *testing.T, text string) string {
	var out strings.Builder
	s := &stage{t: t}
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	for len(lines) > 0 {
		end := slices.Index(lines, "----")
		if end < 0 {
			t.Fatalf("no ---- after %q", lines[0])
		}
		for _, line := range lines[:end+1] {
			fmt.Fprintln(&out, line)
		}
		out.WriteString(s.block(lines[:end]))
		// What was printed before goes on to the next empty line.
		lines = lines[end+1:]
		if next := slices.Index(lines, ""); next >= 0 {
			lines = lines[next:]
			continue
		}
		break
	}
	return out.String()
}

// stage is a scenario while it is played.
type stage struct {
	t       *testing.T
	policy  horizontal.Policy
	state   horizontal.State
	current int32
	headed  bool
}

func (s *stage) block(lines []string) string {
	var out strings.Builder
	for i := 0; i < len(lines); i++ {
		words := strings.Fields(lines[i])
		if len(words) == 0 || words[0] == "#" {
			continue
		}
		args := arguments(words[1:])
		switch words[0] {
		case "policy":
			s.newPolicy(args)
		case "metric":
			s.policy.Metrics = append(s.policy.Metrics, s.metricOf(words[1], arguments(words[2:])))
			fmt.Fprintln(&out, s.policy.Metrics[len(s.policy.Metrics)-1].Describe(s.policy.Divergences))
		case "up", "down":
			s.rules(words[0], words[1:])
		case "decide":
			details := i + 1
			for i+1 < len(lines) && strings.HasPrefix(lines[i+1], "  ") {
				i++
			}
			s.decide(&out, args, lines[details:i+1])
		default:
			s.t.Fatalf("what is %q?", lines[i])
		}
	}
	return out.String()
}

// arguments are key=value, or a key alone.
func arguments(words []string) map[string]string {
	args := map[string]string{}
	for _, w := range words {
		key, value, _ := strings.Cut(w, "=")
		args[key] = value
	}
	return args
}

func (s *stage) newPolicy(args map[string]string) {
	s.policy, s.state, s.headed = policy(1, 10), horizontal.State{}, false
	s.policy.Metrics = nil
	s.policy.Tolerance = metric.Tolerance{Up: 0.1, Down: 0.1}
	for key, value := range args {
		switch key {
		case "min":
			s.policy.MinReplicas = s.count(value)
		case "max":
			s.policy.MaxReplicas = s.count(value)
		case "window":
			s.policy.DownscaleStabilization = s.period(value)
		case "tolerance":
			x, err := strconv.ParseFloat(value, 64)
			s.must(err)
			s.policy.Tolerance = metric.Tolerance{Up: x, Down: x}
		case "divergences":
			set, err := divergence.Parse(value)
			s.must(err)
			s.policy.Divergences = set
		default:
			s.t.Fatalf("policy has no %s", key)
		}
	}
}

// metricOf reads a metric: cpu and memory are resources, app/cpu one of a
// container, object, external and pods are what they say.
func (s *stage) metricOf(name string, args map[string]string) metric.Spec {
	spec := metric.Spec{Type: metric.Resource, Name: name, SelectorText: "nil"}
	container, resource, found := strings.Cut(name, "/")
	switch {
	case found:
		spec.Type, spec.Name, spec.Container = metric.ContainerResource, resource, container
	case name == "object":
		spec.Type, spec.Object = metric.Object, metric.ObjectRef{Kind: "Service", Name: "web"}
	case name == "external":
		spec.Type = metric.External
	case name == "pods":
		spec.Type = metric.Pods
	}
	for key, value := range args {
		n, err := strconv.ParseInt(value, 10, 64)
		s.must(err)
		switch key {
		case "utilization":
			spec.Target = metric.Target{Type: metric.Utilization, Percent: int32(n)}
		case "average":
			spec.Target = metric.Target{Type: metric.AverageValue, Milli: n}
		case "value":
			spec.Target = metric.Target{Type: metric.Value, Milli: n}
		}
	}
	return spec
}

func (s *stage) rules(direction string, words []string) {
	if s.policy.Behavior == nil {
		s.policy.Behavior = defaults()
	}
	rules := &s.policy.Behavior.Up
	if direction == "down" {
		rules = &s.policy.Behavior.Down
	}
	given := false
	for _, w := range words {
		key, value, _ := strings.Cut(w, "=")
		switch key {
		case "window":
			rules.Stabilization = s.period(value)
			continue
		case "select":
			rules.Select = map[string]horizontal.Select{
				"Max": horizontal.SelectMax, "Min": horizontal.SelectMin, "Disabled": horizontal.SelectDisabled,
			}[value]
			continue
		}
		if !given {
			rules.Policies, given = nil, true
		}
		amount, period, _ := strings.Cut(value, "/")
		rate := pods(s.count(amount), s.period(period))
		if key == "percent" {
			rate.Type = horizontal.RatePercent
		}
		rules.Policies = append(rules.Policies, rate)
	}
}

func (s *stage) decide(out *strings.Builder, args map[string]string, details []string) {
	if !s.headed {
		out.WriteString(header)
		s.headed = true
	}
	for at := range strings.SplitSeq(args["at"], ",") {
		if text, given := args["current"]; given {
			s.current = s.count(text)
		}
		now, o := noon.Add(s.period(at)), s.observation(args, details)
		outcome := horizontal.Outcome{At: now, Error: args["write"]}
		_, both := args["both"]
		if both {
			theirs := s.policy
			theirs.Divergences = divergence.None
			d, _ := horizontal.Decide(now, &theirs, s.state.Clone(), &o)
			out.WriteString(s.draw("upstream", &d, outcome))
		}
		var d horizontal.Decision
		d, s.state = horizontal.Decide(now, &s.policy, s.state, &o)
		who := ""
		if both {
			who = "Plimsoll"
		}
		out.WriteString(s.draw(who, &d, outcome))
		s.state = horizontal.Settle(s.state, outcome)
		if d.Rescale && outcome.Error == "" {
			s.current = d.Desired
		}
	}
}

// observation builds what is seen. Pods a, b, … started an hour before noon and
// were ready at once unless they are young; their requests are 1000m of
// everything.
func (s *stage) observation(args map[string]string, details []string) horizontal.Observation {
	o := see(s.current)
	if text, given := args["existing"]; given {
		o.Target.StatusReplicas = s.count(text)
	}
	_, o.ScaledToZero = args["scaled-to-zero"]
	if text, given := args["selector"]; given {
		o.Target.Selector = horizontal.Selector{
			Problem: map[string]horizontal.SelectorProblem{"missing": horizontal.SelectorMissing, "ambiguous": horizontal.SelectorAmbiguous}[text],
			Message: "pods are controlled by more than one HPA",
		}
	}
	o.Target.Error = args["scale"]

	values := map[string][]string{}
	kinds := repeat("ready*" + strconv.Itoa(int(s.current)))
	for _, line := range details {
		words := strings.Fields(line)
		if words[0] == "are" {
			kinds = repeat(words[1:]...)
			continue
		}
		values[words[0]] = repeat(words[1:]...)
	}
	var requests []metric.Request
	for i, kind := range kinds {
		p, r := podOf(kind)
		p.Name = "web-" + strconv.Itoa(i)
		o.Pods, requests = append(o.Pods, p), append(requests, r)
	}
	for i := range s.policy.Metrics {
		spec := &s.policy.Metrics[i]
		o.Readings = append(o.Readings, s.reading(spec, values[key(spec)], requests))
	}
	return o
}

// key is what the details of a step call the metric.
func key(spec *metric.Spec) string {
	if spec.Type == metric.ContainerResource {
		return spec.Container + "/" + spec.Name
	}
	return spec.Name
}

// repeat writes x*3 as x x x.
func repeat(words ...string) []string {
	var all []string
	for _, w := range words {
		word, times, found := strings.Cut(w, "*")
		n, err := strconv.Atoi(times)
		if !found || err != nil {
			n = 1
		}
		all = append(all, slices.Repeat([]string{word}, n)...)
	}
	return all
}

func podOf(kind string) (metric.Pod, metric.Request) {
	started := noon.Add(-time.Hour)
	p := metric.Pod{Phase: metric.PhaseRunning, Ready: metric.ReadyTrue, StartTime: started, ReadyTransition: started.Add(time.Second)}
	r := metric.Request{Milli: 1000}
	switch kind {
	case "pending":
		p.Phase, p.Ready = metric.PhasePending, metric.ReadyFalse
	case "unready":
		p.Ready = metric.ReadyFalse
	case "young":
		p.StartTime, p.ReadyTransition = noon.Add(-20*time.Second), noon.Add(-10*time.Second)
	case "deleting":
		p.Deleting = true
	case "failed":
		p.Phase = metric.PhaseFailed
	case "succeeded":
		p.Phase, p.Ready = metric.PhaseSucceeded, metric.ReadyFalse
	case "job":
		p.Phase, p.Ready = metric.PhaseSucceeded, metric.ReadyFalse
		r = metric.Request{Missing: metric.ContainerWithoutRequest, Container: "job"}
	case "other":
		r = metric.Request{Missing: metric.ContainerNotFound, Container: "app"}
	}
	return p, r
}

func (s *stage) reading(spec *metric.Spec, values []string, requests []metric.Request) metric.Reading {
	if slices.Contains(values, "down") {
		return broken()
	}
	var r metric.Reading
	total := spec.Type == metric.Object || spec.Type == metric.External
	for _, v := range values {
		if v == "-" {
			r.Samples = append(r.Samples, metric.Sample{})
			continue
		}
		n, err := strconv.ParseInt(v, 10, 64)
		s.must(err)
		if total {
			r.Series = append(r.Series, n)
		} else {
			r.Samples = append(r.Samples, metric.Sample{Present: true, Milli: n, At: noon, Window: 30 * time.Second})
		}
	}
	if !total {
		r.Requests = requests
	}
	return r
}

const header = "    time  current             usage/target        wish  stabilized  limited  desired  why\n"

// draw prints one decision as a line, and a picture of the count below it.
func (s *stage) draw(who string, d *horizontal.Decision, outcome horizontal.Outcome) string {
	wish, held, limited := "-", "-", "-"
	if d.Wish.Source != horizontal.SourceNone {
		wish = strconv.Itoa(int(d.Wish.Replicas))
	}
	if d.Branch == horizontal.BranchMetrics {
		held, limited = strconv.Itoa(int(d.Stabilized.Replicas)), strconv.Itoa(int(d.Limited.Replicas))
	}
	at := fmt.Sprintf("%gs", d.At.Sub(noon).Seconds())
	line := fmt.Sprintf("%8s %8d  %24s  %10s  %10s  %7s  %7d  %s", at, d.Current, usage(d, s.policy.Metrics), wish, held, limited, d.Desired, why(d, outcome))
	drawn := strings.TrimRight(line, " ") + "\n"
	if below := strings.TrimRight(fmt.Sprintf("%8s  %s", who, picture(d)), " "); below != "" {
		drawn += below + "\n"
	}
	return drawn
}

func usage(d *horizontal.Decision, specs []metric.Spec) string {
	var all []string
	for i, m := range d.Metrics {
		target := specs[i].Target
		switch {
		case m.Failure != nil:
			all = append(all, "failed")
		case target.Type == metric.Utilization:
			all = append(all, fmt.Sprintf("%d%%/%d%%", m.Percent, target.Percent))
		default:
			all = append(all, fmt.Sprintf("%dm/%dm", m.Milli, target.Milli))
		}
	}
	if all == nil {
		return "-"
	}
	return strings.Join(all, " ")
}

// why is what the report says: the conditions that are no routine, what held
// the metrics, and the reason of the change.
func why(d *horizontal.Decision, outcome horizontal.Outcome) string {
	routine := []string{"SucceededGetScale", "ReadyForNewScale", "SucceededRescale", "ValidMetricFound", "DesiredWithinRange", "NotScaledToZero"}
	var all []string
	r := d.Report(outcome)
	for _, c := range r.Conditions {
		untrue := c.Reason == "ReadyForNewScale" && d.Wish.Replicas != d.Current
		if untrue || !slices.Contains(routine, c.Reason) {
			all = append(all, c.Reason)
		}
	}
	if d.Stabilized.Reason != horizontal.ReadyForNewScale && !slices.Contains(all, d.Stabilized.Reason.String()) {
		all = append(all, d.Stabilized.Reason.String())
	}
	for _, m := range d.Metrics {
		if m.Verdict > metric.Scaled {
			all = append(all, m.Verdict.String())
		}
	}
	if r.Reason != "" {
		all = append(all, r.Reason)
	}
	return strings.Join(all, "; ")
}

// picture is the count, one sign for each replica or, of many, for several.
func picture(d *horizontal.Decision) string {
	unit := max(1, (max(d.Current, d.Desired)+59)/60)
	signs := func(n int32, sign string) string { return strings.Repeat(sign, int((n+unit-1)/unit)) }
	stay := min(d.Current, d.Desired)
	return signs(max(0, stay), "=") + signs(max(0, d.Desired-stay), "+") + signs(max(0, d.Current-stay), "-")
}

func (s *stage) count(text string) int32 {
	n, err := strconv.ParseInt(text, 10, 32)
	s.must(err)
	return int32(n)
}

func (s *stage) period(text string) time.Duration {
	d, err := time.ParseDuration(text)
	s.must(err)
	return d
}

func (s *stage) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}
