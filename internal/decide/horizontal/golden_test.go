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

	"github.com/plimsoll-dev/plimsoll/internal/decide/condition"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/behavior"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/divergence"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric/source"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/proposal"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/statusreport"
)

var update = flag.Bool("update", false, "write what the scenarios print into testdata")

// TestScenarios plays the files in testdata. A file is a sequence of blocks,
// each of them sentences (#), commands, a line of dashes and what must be
// printed. State goes from block to block.
//
//	policy min=1 max=10 tolerance=0.1 window=5m divergences=none
//	                            a new object; all but min and max may be left out; further:
//	                            tolerance=0.2/0.1 (up/down), init=5m and delay=30s, the start-up delays of CPU;
//	                            surge or surge=10s, a surge window, and of it steep=8 margin=1.5 least=50 ready=15s
//	                            wla, a WorkloadAutoscaler, and of it mode=Paused paused=3 cooldown=5m initial=10m
//	                            created=-1h
//	change min=1 mode=Preview   another policy for the same object, which keeps its metrics and its history
//	schedule NAME duration=1h min=5 max=8 ramp=30m 0 13 * * *
//	                            a schedule of a WorkloadAutoscaler, its start in UTC
//	metric cpu utilization=20   TYPE or NAME, and its target: see metricOf
//	up, down window=1m select=Min pods=4/60s percent=10/60s
//	                            the rules of one direction; the other has the API server's defaults
//	past recommended=4@-2m,5@-1m up=4@-10s down=1@-30s
//	                            history; without it the first decision stores the current count
//	decide at=15s current=3 existing=4 write=conflict scaled-to-zero both
//	                            one decision, or several: at=0s,15s; without current= the count is
//	                            that of the last one; both also shows upstream's result, whose count
//	                            and history are separate since the policy; further: status, sets
//	                            ScaledToZero as in the side's last decision; trigger=event;
//	                            scale=WORD, selector=missing|invalid|ambiguous, an error of the target
//	  are ready*3 pending       the pods, see podOf; without it all of current are ready
//	  requests 900 1000*2 -     the pods' requests in milli-units, see requestOf; without it 1000 each
//	  cpu 515*2 -               a metric's values in milli-units, in the pods' order or its series;
//	                            "-" for no sample, "down" for an API error; see sampleOf
//	  surge cpu 900,850,90/0.2s a metric's last single intervals, the newest first; see recentOf
//	  earlier cpu 500@-10s*2    the pods' usage up to the last moment at which all are known; see sampleOf
//	expect proposed=5 usage=50%/30% the expected values of the decision before, see expect;
//	                            -update does not change them
//	upstream TestFunc/case      upstream's case with the same situation
//
// In the picture = is a replica that stays, + a new one and - one that is removed.
//
// The files in testdata/upstream have upstream's cases; test/oracle checks that
// none is missing. There a policy has no divergences and the start-up delays of
// upstream's tests, 2m and 10s, unless it sets others, and each block has an
// expectation.
func TestScenarios(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scenarios: %v", err)
	}
	upstream, err := filepath.Glob("testdata/upstream/*.txt")
	if err != nil || len(upstream) == 0 {
		t.Fatalf("none of upstream's cases: %v", err)
	}
	for _, file := range slices.Concat(files, upstream) {
		name, _ := strings.CutPrefix(strings.TrimSuffix(filepath.ToSlash(file), ".txt"), "testdata/")
		t.Run(name, func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			played := play(&stage{t: t, upstream: slices.Contains(upstream, file)}, string(text))
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

// play returns the text with the current results of its commands.
func play(s *stage, text string) string {
	var out strings.Builder
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	for len(lines) > 0 {
		end := slices.Index(lines, "----")
		if end < 0 {
			s.t.Fatalf("no ---- after %q", lines[0])
		}
		for _, line := range lines[:end+1] {
			fmt.Fprintln(&out, line)
		}
		out.WriteString(s.play(lines[:end]))
		// The earlier result ends at the next empty line.
		lines = lines[end+1:]
		if next := slices.Index(lines, ""); next >= 0 {
			lines = lines[next:]
			continue
		}
		break
	}
	return out.String()
}

// stage is the state of a scenario that is being played.
type stage struct {
	t *testing.T
	// upstream is set if the file is one of upstream's cases.
	upstream bool
	// without turns a divergence off; quiet skips the checks of expectations.
	without divergence.Set
	quiet   bool
	policy  horizontal.Policy
	// With upstream's rules, the history and the count are separate.
	ours, theirs side
	// now is the time of the decision, created the time at which the object was created.
	now     time.Time
	created time.Time
	headed  bool
	block   scene
}

// side has the history and the count of one of the two that decide.
type side struct {
	state   horizontal.State
	current int32
	// shown are the conditions in the status.
	shown map[string]bool
}

// scene is a block that is being played.
type scene struct {
	// title is the line that messages name the block by.
	title string
	// seen is the last decision, and ours the one with the policy's divergences if both are made; nil before the first
	// decision.
	seen, ours *seen
	expected   bool
}

func (s *stage) play(lines []string) string {
	var out strings.Builder
	s.block = scene{}
	for i := 0; i < len(lines); i++ {
		words := strings.Fields(lines[i])
		if len(words) == 0 || words[0] == "#" {
			continue
		}
		if s.block.title == "" {
			s.block.title = lines[i]
		}
		if words[0] == "decide" {
			details := i + 1
			for i+1 < len(lines) && strings.HasPrefix(lines[i+1], "  ") {
				i++
			}
			s.decide(&out, arguments(words[1:]), lines[details:i+1])
			continue
		}
		s.command(&out, words)
	}
	if s.upstream && !s.block.expected {
		s.t.Errorf("%s: nothing is expected", s.block.title)
	}
	return out.String()
}

func (s *stage) command(out *strings.Builder, words []string) {
	switch words[0] {
	case "upstream":
		if !s.upstream || len(words) < 2 {
			s.t.Errorf("%v: the name of a case, and only in testdata/upstream", words)
		}
	case "policy":
		s.newPolicy(arguments(words[1:]))
	case "change":
		s.change(arguments(words[1:]))
	case "schedule":
		w := s.policy.WorkloadAutoscaler
		w.Schedules = append(w.Schedules, s.scheduleOf(words[1:]))
	case "metric":
		s.policy.Metrics = append(s.policy.Metrics, s.metricOf(words[1], arguments(words[2:])))
		fmt.Fprintln(out, s.policy.Metrics[len(s.policy.Metrics)-1].Describe(s.policy.Divergences))
	case "up", "down":
		s.rules(words[0], words[1:])
	case "past":
		s.past(arguments(words[1:]))
	case "expect":
		s.expect(words[1:])
	default:
		s.t.Fatalf("what is %q?", words)
	}
}

func (s *stage) decide(out *strings.Builder, args map[string]string, details []string) {
	if !s.headed {
		out.WriteString(header)
		s.headed = true
	}
	if args["at"] == "" {
		args["at"] = "0s"
	}
	for at := range strings.SplitSeq(args["at"], ",") {
		s.now = noon.Add(s.period(at))
		if text, given := args["current"]; given {
			s.ours.current, s.theirs.current = s.count(text), s.count(text)
		}
		upstream := s.policy
		upstream.Divergences = divergence.None
		s.block.seen, s.block.ours = s.decideAs(&upstream, &s.theirs, args, details),
			s.decideAs(&s.policy, &s.ours, args, details)
		if _, both := args["both"]; both {
			out.WriteString(draw("upstream", s.block.seen))
			out.WriteString(draw("Plimsoll", s.block.ours))
			continue
		}
		s.block.seen = s.block.ours
		out.WriteString(draw("", s.block.ours))
	}
}

// decideAs makes the decision of one side and applies it.
func (s *stage) decideAs(p *horizontal.Policy, of *side, args map[string]string, details []string) *seen {
	o, outcome := s.observation(of.current, args, details), horizontal.Outcome{At: s.now, Error: args["write"]}
	if _, isOwn := args["status"]; isOwn {
		o.ScaledToZero = of.shown[statusreport.ScaledToZero]
	}
	if p.WorkloadAutoscaler != nil {
		o.CreatedAt, o.ScaledToZero = s.created, o.ScaledToZero || of.shown[statusreport.ScaledToZero]
		o.Shown = horizontal.Shown{
			ScheduleActive: of.shown[statusreport.ScheduleActive], FallbackActive: of.shown[statusreport.FallbackActive],
		}
	}
	var d horizontal.Decision
	d, of.state = horizontal.Decide(s.now, p, of.state, &o)
	next := d.FollowUp(&of.state, &o, nil)
	of.state = horizontal.Settle(of.state, outcome)
	if d.Rescale && outcome.Error == "" {
		of.current = d.Desired
	}
	seen := &seen{decision: d.Clone(), report: statusreport.Of(&d, outcome), next: next, specs: p.Metrics}
	for _, c := range seen.report.Conditions {
		if of.shown == nil {
			of.shown = map[string]bool{}
		}
		of.shown[c.Type] = c.Status == condition.True
	}
	return seen
}

const header = "    time  current             usage/target    proposed  stabilized  limited  desired  why\n"

// draw prints one decision as a line, and a picture of the count below it.
func draw(who string, of *seen) string {
	d := &of.decision
	proposed, held, limited := "-", "-", "-"
	if d.Proposed.Source != proposal.None {
		proposed = strconv.Itoa(int(d.Proposed.Replicas))
	}
	if d.Branch == horizontal.BranchMetrics {
		held, limited = strconv.Itoa(int(d.Stabilized.Replicas)), strconv.Itoa(int(d.Limited.Replicas))
	}
	at := fmt.Sprintf("%gs", d.At.Sub(noon).Seconds())
	line := fmt.Sprintf("%8s %8d  %24s  %10s  %10s  %7s  %7d  %s", at, d.Current, usage(d, of.specs), proposed, held,
		limited, d.Desired, why(of))
	drawn := strings.TrimRight(line, " ") + "\n"
	if below := strings.TrimRight(fmt.Sprintf("%8s  %s", who, picture(d)), " "); below != "" {
		drawn += below + "\n"
	}
	return drawn
}

func usage(d *horizontal.Decision, specs []source.Spec) string {
	var all []string
	for i, m := range d.Metrics {
		target := specs[i].Target
		switch {
		case m.Failure != nil:
			all = append(all, "failed")
		case target.Type == source.Utilization:
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

// why returns the unusual conditions of the report, the rules that limited the metrics, and the reason of the change.
func why(of *seen) string {
	routine := []string{"SucceededGetScale", "ReadyForNewScale", "SucceededRescale", "ValidMetricFound",
		"DesiredWithinRange", "NotScaledToZero"}
	var all []string
	d, r := &of.decision, &of.report
	for _, c := range r.Conditions {
		untrue := c.Reason == "ReadyForNewScale" && d.Proposed.Replicas != d.Current
		if untrue || !slices.Contains(routine, c.Reason) {
			all = append(all, c.Reason)
		}
	}
	if d.Stabilized.Reason != behavior.ReadyForNewScale && !slices.Contains(all, d.Stabilized.Reason.String()) {
		all = append(all, d.Stabilized.Reason.String())
	}
	for _, m := range d.Metrics {
		if m.Verdict > metric.Scaled {
			all = append(all, m.Verdict.String())
		}
	}
	if d.Limited.IsDoublingHeld {
		all = append(all, "no answer is newer than the last scale-up")
	}
	if r.Reason != "" {
		all = append(all, r.Reason)
	}
	return strings.Join(all, "; ")
}

// picture draws the count with a sign for each replica, or for several if there are many.
func picture(d *horizontal.Decision) string {
	unit := max(1, (max(d.Current, d.Desired)+59)/60)
	signs := func(n int32, sign string) string { return strings.Repeat(sign, int((n+unit-1)/unit)) }
	stay := min(d.Current, d.Desired)
	return signs(max(0, stay), "=") + signs(max(0, d.Desired-stay), "+") + signs(max(0, d.Current-stay), "-")
}
