package horizontal_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric/source"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/proposal"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/statusreport"
)

// seen is a decision and its report.
type seen struct {
	decision horizontal.Decision
	report   statusreport.Report
	next     horizontal.FollowUp
	specs    []source.Spec
}

// expect compares the last decision with the scenario's expectation, which may omit values; "-" is an empty value;
// commas separate several metrics.
//
//	desired=5 rescale=yes      the decision
//	shown=5                    the desired count in status, "-" if status keeps its count
//	proposed=7 stabilized=7 limited=5
//	                           the way there
//	usage=50%/30% milli=500    each metric against its target, and its average or value
//	failed=FailedGetPodsMetric the reasons of the metrics that failed
//	counted=2 unready=1 missing=1 ignored=1 unsampled=984
//	                           what became of the pods
//	ScalingLimited=True/TooManyReplicas
//	                           a condition, by its type
//	turned=AbleToScale         the conditions that transition with this decision, whatever they were
//	events=SuccessfulRescale   the reasons of the events
//	active=5                   what would be desired in mode Active
//	bounds=2..8                min and max with the schedules
//	next=CooldownEnd@300s      when to decide again, and why
//	proposals=Metric:3,Schedule:5
//	                           what each source asks for
//	says TEXT                  TEXT, which may have spaces, stands in a condition, event or error
//
// After a decision that shows both, it is upstream's that is meant, and with the
// name Plimsoll before the rest the other one.
func (s *stage) expect(words []string) {
	if s.block.seen == nil {
		s.t.Fatalf("%s: expect %v before any decision", s.block.title, words)
	}
	s.block.expected = true
	if s.quiet {
		return
	}
	got := s.block.seen
	if len(words) > 0 && words[0] == "Plimsoll" {
		got, words = s.block.ours, words[1:]
	}
	if len(words) == 0 {
		s.t.Fatalf("%s: expects nothing", s.block.title)
	}
	for _, complaint := range got.unmet(words) {
		s.t.Errorf("%s: %s", s.block.title, complaint)
	}
}

// unmet lists the parts of the expectation that are not met.
func (g *seen) unmet(words []string) []string {
	if words[0] == "says" {
		if text := strings.Join(words[1:], " "); text == "" || !strings.Contains(g.says(), text) {
			return []string{fmt.Sprintf("expected the text %q, got\n%s", text, g.says())}
		}
		return nil
	}
	var all []string
	for _, w := range words {
		key, want, given := strings.Cut(w, "=")
		value, known := g.value(key)
		switch {
		case !known || !given:
			all = append(all, fmt.Sprintf("expect has no %q", w))
		case value != want:
			all = append(all, fmt.Sprintf("expected %s=%s, got %s", key, want, value))
		}
	}
	return all
}

// value returns the decision's value for the key.
func (g *seen) value(key string) (value string, known bool) {
	d := &g.decision
	switch key {
	case "desired":
		return decimal(d.Desired), true
	case "active":
		return decimal(d.ActiveDesired), true
	case "bounds":
		return fmt.Sprintf("%d..%d", d.Bounds.MinReplicas, d.Bounds.MaxReplicas), true
	case "next":
		return onlyIf(!g.next.DecideAt.IsZero(),
			fmt.Sprintf("%s@%gs", g.next.Reason, g.next.DecideAt.Sub(noon).Seconds())), true
	case "proposals":
		var all []string
		for _, p := range d.Proposals(nil) {
			all = append(all, fmt.Sprintf("%s:%d", p.Source, p.Replicas))
		}
		return list(all), true
	case "rescale":
		return map[bool]string{true: "yes", false: "no"}[d.Rescale], true
	case "shown":
		if g.report.DesiredReplicas == nil {
			return list(nil), true
		}
		return decimal(*g.report.DesiredReplicas), true
	case "proposed":
		return onlyIf(d.Proposed.Source != proposal.None, decimal(d.Proposed.Replicas)), true
	case "stabilized":
		return onlyIf(d.Branch == horizontal.BranchMetrics, decimal(d.Stabilized.Replicas)), true
	case "limited":
		return onlyIf(d.Branch == horizontal.BranchMetrics, decimal(d.Limited.Replicas)), true
	case "usage":
		return strings.ReplaceAll(usage(d, g.specs), " ", ","), true
	case "turned", "events", statusreport.AbleToScale, statusreport.ScalingActive, statusreport.ScalingLimited,
		statusreport.ScaledToZero, statusreport.ScheduleActive, statusreport.FallbackActive:
		return g.reported(key), true
	}
	return g.ofMetrics(key)
}

// reported returns the report's value for the key.
func (g *seen) reported(key string) string {
	var turned, reasons []string
	condition := "-"
	for _, c := range g.report.Conditions {
		if c.Transitioned {
			turned = append(turned, c.Type)
		}
		if c.Type == key {
			condition = string(c.Status) + "/" + c.Reason
		}
	}
	for _, e := range g.report.Events {
		reasons = append(reasons, e.Reason)
	}
	switch key {
	case "turned":
		return list(turned)
	case "events":
		return list(reasons)
	default:
		return condition
	}
}

// ofMetrics returns the value for the key of each metric.
func (g *seen) ofMetrics(key string) (value string, known bool) {
	if !slices.Contains([]string{"milli", "counted", "unready", "missing", "ignored", "unsampled", "failed"}, key) {
		return "", false
	}
	var all []string
	for i := range g.decision.Metrics {
		m := &g.decision.Metrics[i]
		switch key {
		case "milli":
			all = append(all, strconv.FormatInt(m.Milli, 10))
		case "counted":
			all = append(all, strconv.Itoa(m.Counts.Counted))
		case "unready":
			all = append(all, strconv.Itoa(m.Counts.Unready))
		case "missing":
			all = append(all, strconv.Itoa(m.Counts.Missing))
		case "unsampled":
			all = append(all, strconv.Itoa(m.Counts.Unsampled))
		case "ignored":
			all = append(all, strconv.Itoa(m.Counts.Ignored))
		case "failed":
			if m.Failure != nil {
				all = append(all, m.Failure.Reason)
			}
		}
	}
	return list(all), true
}

// says returns all texts of the report.
func (g *seen) says() string {
	lines := []string{g.report.Error}
	for _, c := range g.report.Conditions {
		lines = append(lines, c.Message)
	}
	for _, e := range g.report.Events {
		lines = append(lines, e.Message)
	}
	return strings.Join(lines, "\n")
}

func decimal(n int32) string { return strconv.Itoa(int(n)) }

func onlyIf(there bool, text string) string {
	if !there {
		return "-"
	}
	return text
}

func list(all []string) string { return onlyIf(len(all) > 0, strings.Join(all, ",")) }

// TestExpectNotices: an expectation that is not met is reported.
func TestExpectNotices(t *testing.T) {
	p, o := policy(1, 3), see(2, length(5))
	d, _ := horizontal.Decide(noon, &p, horizontal.State{}, &o)
	s := seen{decision: d, report: statusreport.Of(&d, horizontal.Outcome{At: noon}), specs: p.Metrics}
	for _, text := range []string{
		"desired=3 rescale=yes shown=3 proposed=5 stabilized=5 limited=3 usage=2500m/1000m milli=2500",
		"counted=0 unready=0 missing=0 ignored=0 failed=- turned=- events=SuccessfulRescale",
		"AbleToScale=True/SucceededRescale ScalingLimited=True/TooManyReplicas",
		"says able to update the target scale to 3",
	} {
		words := strings.Fields(text)
		if got := s.unmet(words); len(got) > 0 {
			t.Errorf("%v", got)
		}
		if words[0] == "says" {
			words = append(words, "0")
		} else {
			for i := range words {
				words[i] += "0"
			}
		}
		if got := s.unmet(words); len(got) != len(words) && words[0] != "says" || len(got) == 0 {
			t.Errorf("%v: only %d are noticed: %v", words, len(got), got)
		}
	}
	if got := s.unmet([]string{"proposal=5", "proposed"}); len(got) != 2 {
		t.Errorf("keys without a meaning: %v", got)
	}
}
