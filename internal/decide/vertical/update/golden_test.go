package update_test

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

	"github.com/plimsoll-dev/plimsoll/internal/decide/condition"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/bounds"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/conflict"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/disruption"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/divergence"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/priority"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/reason"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/resize"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/update"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/update/report"
)

// webHPA is the horizontal autoscaler of conflicts.
var webHPA = conflict.Name{Kind: "HorizontalPodAutoscaler", Name: "web"}

var rewrite = flag.Bool("update", false, "write what the scenarios print into testdata")

// epoch is the start of the scenarios.
var epoch = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// TestScenarios plays the files in testdata. A file is a sequence of blocks, each of them sentences (#), commands, a
// line of dashes and the expected output. Blocks continue the state of the last one until the next policy.
//
//	policy mode=Recreate min=2 tolerance=0.5 divergences=default
//	                       a new object; further: lifetime=12h, threshold=0.1, skip-budget, higher=cpu or
//	                       lower=memory (an eviction requirement), boost=1m
//	workload configured=4  the desired number of pods; further: job, unknown, node=2000/4096 (its CPU in milli and
//	                       its memory in MiB), others=500/0 (the requests of other pods on it), conflict=cpu
//	recommend 500/200      target of CPU in milli and memory in MiB, "-" for none; further: lower=400/100
//	                       upper=600/300
//	pod web-1 100/200      its requests; further: pending, waiting (for a node), unready, age=1h, oom=2m/1m (ran for,
//	                       ended ago), resize=Deferred, gen=2, crashing, by=ReplicaSet/b, limits=200/400,
//	                       spec=200/400, boosted=50/200, restart, admitted, resized=1m, since=1m (of resize),
//	                       used=50/90 (its usage; unknown without); *3 after the name makes several, gone removes it
//	restarted              a new process: without a state, and with the condition of the last pass
//	pass at=1m             one pass; further: web-1=disallowed (or infeasible, failed): the API server's response
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
			played := play(&stage{t: t}, string(text))
			if *rewrite {
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
func play(s *stage, text string) string {
	var out strings.Builder
	for i, block := range strings.Split(strings.TrimSpace(text), "\n\n") {
		if i > 0 {
			out.WriteByte('\n')
		}
		said, _, found := strings.Cut(block+"\n", "----\n")
		if !found {
			s.t.Fatalf("no ---- in %q", block)
		}
		out.WriteString(said + "----\n")
		for line := range strings.Lines(said) {
			if fields := strings.Fields(line); len(fields) > 0 && fields[0] != "#" {
				s.command(&out, fields)
			}
		}
	}
	return out.String()
}

// stage has one object with its workload.
type stage struct {
	t      *testing.T
	policy update.Policy
	state  update.State
	seen   update.Observation
	// said is the reason in the last condition.
	said string
}

func (s *stage) command(out *strings.Builder, fields []string) {
	options := map[string]string{}
	for _, field := range fields[1:] {
		name, value, _ := strings.Cut(field, "=")
		options[name] = value
	}
	switch fields[0] {
	case "policy":
		s.newPolicy(options)
	case "workload":
		s.workload(options)
	case "recommend":
		s.recommend(fields[1], options)
	case "pod":
		s.pod(fields[1], fields[2:], options)
	case "restarted":
		s.state = update.State{}
		s.seen.Past = disruption.Past{Updating: s.said == report.Updating, Open: s.said == reason.CircuitOpen.String()}
	case "pass":
		s.pass(out, options)
	default:
		s.t.Fatalf("unknown command %q", fields)
	}
}

func (s *stage) newPolicy(o map[string]string) {
	s.state, s.seen, s.said = update.State{}, update.Observation{}, ""
	s.policy = update.Policy{
		MinReplicas: 2, Tolerance: 0.5, MinChange: 0.1, Lifetime: 12 * time.Hour, AfterOOM: 10 * time.Minute,
	}
	for m := vertical.ModeOff; m <= vertical.ModeInPlace; m++ {
		if m.String() == o["mode"] {
			s.policy.Mode = m
		}
	}
	set, err := divergence.Parse(o["divergences"])
	s.check(err)
	s.policy.Divergences = set
	s.number(o, "min", func(n float64) { s.policy.MinReplicas = int(n) })
	s.number(o, "tolerance", func(n float64) { s.policy.Tolerance = n })
	s.number(o, "threshold", func(n float64) { s.policy.MinChange = n })
	if text, ok := o["max-allowed"]; ok {
		s.policy.Containers = []vertical.ContainerPolicy{
			{Container: vertical.AllContainers, Controlled: vertical.Controls(), MaxAllowed: s.amounts(text)},
		}
	}
	if text, ok := o["lifetime"]; ok {
		s.policy.Lifetime = s.duration(text)
	}
	if text, ok := o["boost"]; ok {
		s.policy.HasBoost, s.policy.Boost = true, &vertical.Boost{Factor: 2, Duration: s.duration(text)}
	}
	_, s.policy.SkipBudget = o["skip-budget"]
	for name, direction := range map[string]priority.Direction{"higher": priority.Higher, "lower": priority.Lower} {
		for r := range vertical.Resource(vertical.Resources) {
			if o[name] == r.String() {
				s.policy.Requirements = append(s.policy.Requirements,
					priority.Requirement{Resources: []vertical.Resource{r}, Direction: direction})
			}
		}
	}
}

func (s *stage) workload(o map[string]string) {
	w := &s.seen.Workload
	w.Target, w.Creators = disruption.Replicas{}, map[string]disruption.Replicas{}
	s.number(o, "configured", func(n float64) { w.Target.Configured = int(n) })
	_, w.Target.AsFound = o["job"]
	_, w.Target.Unknown = o["unknown"]
	w.Creators["ReplicaSet/a"], w.Creators["ReplicaSet/b"] = w.Target, w.Target
	if text, ok := o["node"]; ok {
		node := resize.Node{Known: true, Linux: true, Resizes: true, Allocatable: s.amounts(text), Others: s.amounts("0/0")}
		if others, ok := o["others"]; ok {
			node.Others = s.amounts(others)
		}
		s.seen.Cluster.Nodes = map[string]resize.Node{"node": node}
	}
	if text, ok := o["min"]; ok {
		s.seen.Ranges = &bounds.Ranges{Container: bounds.Range{Min: s.amounts(text)}}
	}
	if text, ok := o["conflict"]; ok {
		r := vertical.CPU
		if text == "memory" {
			r = vertical.Memory
		}
		s.seen.Conflicts = []conflict.Conflict{{Container: "app", Resource: r, Horizontal: webHPA}}
	}
}

func (s *stage) recommend(target string, o map[string]string) {
	rec := vertical.Recommendation{Container: "app", Target: s.amounts(target)}
	rec.Lower, rec.Upper = rec.Target, rec.Target
	if text, ok := o["lower"]; ok {
		rec.Lower = s.amounts(text)
	}
	if text, ok := o["upper"]; ok {
		rec.Upper = s.amounts(text)
	}
	s.seen.Recommended = []vertical.Recommendation{rec}
}

func (s *stage) pod(name string, fields []string, o map[string]string) {
	name, count, several := strings.Cut(name, "*")
	if several {
		n, err := strconv.Atoi(count)
		s.check(err)
		for i := range n {
			s.pod(fmt.Sprintf("%s%d", name, i+1), fields, o)
		}
		return
	}
	at := slices.IndexFunc(s.seen.Pods, func(p vertical.Pod) bool { return p.Name == name })
	if at >= 0 {
		s.seen.Pods = slices.Delete(s.seen.Pods, at, at+1)
	}
	if _, gone := o["gone"]; gone {
		return
	}
	pod := vertical.Pod{
		UID: name, Namespace: "shop", Name: name, Creator: "ReplicaSet/a", Node: "node", Generation: 1, Ready: true,
		Created: epoch.Add(-24 * time.Hour), Started: epoch.Add(-24 * time.Hour), ReadySince: epoch.Add(-24 * time.Hour),
		QoS: vertical.Burstable,
	}
	c := vertical.PodContainer{Name: "app", Requests: s.amounts(fields[0])}
	c.Spec.Requests = c.Requests
	if s.seen.Cluster.Used == nil {
		s.seen.Cluster.Used = map[string]map[string]vertical.Amounts{}
	}
	delete(s.seen.Cluster.Used, pod.UID)
	if text, ok := o["used"]; ok {
		s.seen.Cluster.Used[pod.UID] = map[string]vertical.Amounts{c.Name: s.amounts(text)}
	}
	for name, value := range o {
		s.podOption(&pod, &c, name, value)
	}
	if c.Spec.Limits == (vertical.Amounts{}) {
		c.Spec.Limits = c.Limits
	}
	pod.Containers = []vertical.PodContainer{c}
	s.seen.Pods = append(s.seen.Pods, pod)
}

func (s *stage) podOption(pod *vertical.Pod, c *vertical.PodContainer, name, value string) {
	switch name {
	case "pending":
		pod.Pending, pod.Ready = true, false
	case "waiting":
		pod.Pending, pod.Ready, pod.Node = true, false, ""
	case "unready":
		pod.Ready = false
	case "age":
		pod.Created = epoch.Add(-s.duration(value))
		pod.Started, pod.ReadySince = pod.Created, pod.Created
	case "resize":
		for status := vertical.ResizeNone; status <= vertical.ResizeUnknown; status++ {
			if status.String() == value {
				pod.Resize = status
			}
		}
	case "gen":
		s.number(map[string]string{name: value}, name, func(n float64) { pod.Generation = int64(n) })
	case "about":
		s.number(map[string]string{name: value}, name, func(n float64) { pod.ResizeGeneration = int64(n) })
	case "by":
		pod.Creator = value
	case "admitted":
		pod.Admitted = true
	case "resized":
		pod.Resized = epoch.Add(-s.duration(value))
	case "since":
		pod.ResizeSince = epoch.Add(-s.duration(value))
	default:
		s.containerOption(c, name, value)
		pod.Ready = pod.Ready && !c.Waiting
	}
}

func (s *stage) containerOption(c *vertical.PodContainer, name, value string) {
	switch name {
	case "oom":
		ran, ago, _ := strings.Cut(value, "/")
		c.Crashed.Finished = epoch.Add(-s.duration(ago))
		c.Crashed.Started, c.Crashed.OutOfMemory, c.Crashed.Failed = c.Crashed.Finished.Add(-s.duration(ran)), true, true
	case "crashing":
		c.Waiting, c.Crashed.Failed, c.Crashed.Finished = true, true, epoch.Add(s.duration(value))
	case "limits":
		c.Limits = s.amounts(value)
	case "spec":
		c.Spec.Requests = s.amounts(value)
	case "boosted":
		c.Boosted = &vertical.Resized{Requests: s.amounts(value)}
	case "restart":
		c.Restarts[vertical.Memory] = true
	}
}

var outcomes = map[string]update.Outcome{
	"disallowed": update.Disallowed, "infeasible": update.Infeasible, "failed": update.Failed,
}

func (s *stage) pass(out *strings.Builder, o map[string]string) {
	now := epoch.Add(s.duration(o["at"]))
	var d update.Decision
	d, s.state = update.Decide(now, &s.policy, s.state, &s.seen)
	fmt.Fprintf(out, "at %s\n", o["at"])
	act := func(a update.Action) update.Result {
		outcome := outcomes[o[a.Pod.Name]]
		fmt.Fprintf(out, "  %-7s %s, %s%s%s\n", a.Kind, a.Pod.Name, a.Reason, targetText(a), outcomeText(outcome))
		return update.Result{Outcome: outcome, At: now}
	}
	d.EndBoosts(&s.state, act)
	d.Play(&s.state, &resize.Claims{}, act)
	held := map[string][]string{}
	var order []string
	for i := range d.Pods {
		v := &d.Pods[i]
		if v.BlockedBy == reason.None {
			continue
		}
		why := v.BlockedBy.String()
		if v.Reason != reason.None {
			why = v.Reason.String() + ", but " + why
		}
		if held[why] == nil {
			order = append(order, why)
		}
		held[why] = append(held[why], v.Pod.Name)
	}
	for _, why := range order {
		fmt.Fprintf(out, "  keep    %s, %s\n", strings.Join(held[why], " "), why)
	}
	if c, ok := report.Of(&d); ok {
		s.said = c.Reason
		isTrue := c.Status == condition.True
		fmt.Fprintf(out, "  UpdateBlocked=%t %s: %s\n", isTrue, c.Reason, c.Message)
	}
}

func outcomeText(o update.Outcome) string {
	for word, outcome := range outcomes {
		if outcome == o {
			return ": " + word
		}
	}
	return ""
}

func targetText(a update.Action) string {
	var text strings.Builder
	for _, target := range a.Targets {
		fmt.Fprintf(&text, ", requests %s", amountsText(target.Requests))
		if !target.Limits.IsEmpty() {
			fmt.Fprintf(&text, " limits %s", amountsText(target.Limits))
		}
	}
	return text.String()
}

func amountsText(a vertical.Amounts) string {
	text := [vertical.Resources]string{"-", "-"}
	if n, ok := a.Get(vertical.CPU); ok {
		text[0] = fmt.Sprint(n)
	}
	if n, ok := a.Get(vertical.Memory); ok {
		text[1] = fmt.Sprint(n >> 20)
	}
	return strings.Join(text[:], "/")
}

// amounts reads "100/200": CPU in milli, memory in MiB, "-" for none.
func (s *stage) amounts(text string) vertical.Amounts {
	var amounts vertical.Amounts
	cpu, memory, _ := strings.Cut(text, "/")
	for r, word := range []string{cpu, memory} {
		if word == "-" {
			continue
		}
		n, err := strconv.ParseInt(word, 10, 64)
		s.check(err)
		if r == 1 {
			n <<= 20
		}
		amounts = amounts.With(vertical.Resource(r), vertical.Amount(n))
	}
	return amounts
}

func (s *stage) number(o map[string]string, name string, set func(float64)) {
	if text, ok := o[name]; ok {
		n, err := strconv.ParseFloat(text, 64)
		s.check(err)
		set(n)
	}
}

func (s *stage) duration(text string) time.Duration {
	d, err := time.ParseDuration(text)
	s.check(err)
	return d
}

func (s *stage) check(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}
