package horizontal_test

import (
	"flag"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/behavior"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/history"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric/source"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/mode"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/projection"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/proposal"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/summary"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/trigger"
)

var (
	seeds     = flag.Int("seeds", 1000, "how many decisions are played of which the sentences are checked")
	firstSeed = flag.Uint64("first-seed", 1, "the seed of the first of them")
)

// said is a situation with its decision and the sentence about it.
type said struct {
	situation

	decision horizontal.Decision
	// after is the settled state.
	after    horizontal.State
	sentence summary.Sentence
}

func saidOf(s situation) *said {
	d, after := s.decide()
	of := &said{situation: s, decision: d.Clone()}
	of.after = horizontal.Settle(after, horizontal.Outcome{At: s.now, Began: s.now})
	of.sentence = summary.Of(summary.Input{Decision: &of.decision, State: &of.after, Pods: s.observation.Pods})
	return of
}

// spoken returns a random situation, and one in three of which the history decides.
func spoken(seed uint64) situation {
	random := rand.New(rand.NewPCG(seed, 0))
	m := maker{pick: func(_ string, low, high int64) int64 {
		if span := uint64(high) - uint64(low); span < math.MaxUint64 {
			return int64(uint64(low) + random.Uint64N(span+1))
		}
		return int64(random.Uint64())
	}}
	s := m.situation()
	s.observation.Trigger = trigger.Kind(m.pick("trigger", 0, 2))
	if m.chance("lowered lately", 3) {
		s.state.LoweringAt = s.now.Add(-m.duration("decided", 20*time.Second))
	}
	if s.policy.WorkloadAutoscaler != nil && m.pick("schedules", 0, 1) == 1 {
		m.extend(&s.policy)
		s.policy.WorkloadAutoscaler.Mode = mode.Active
	}
	if w := s.policy.WorkloadAutoscaler; w != nil && m.chance("not active", 3) {
		w.Mode = mode.Mode(m.pick("mode", 0, 2))
	}
	if m.chance("passing", 4) {
		s.state.Recommendations.AddPassing(s.now.Add(-m.duration("surge", 25*time.Second)), int32(m.pick("of surge", 1, 25)))
	}
	if m.chance("zero", 6) {
		m.aboutZero(&s)
	} else if m.pick("steady", 0, 2) == 0 {
		s.policy.Metrics = []source.Spec{queue()}
		s.observation.Readings = []metric.Reading{length(int32(m.pick("queue", 0, 25)))}
	}
	m.aboutSentences(&s)
	return s
}

// aboutZero makes it one of a WorkloadAutoscaler whose target may have no replicas.
func (m maker) aboutZero(s *situation) {
	s.policy.MinReplicas, s.policy.WorkloadAutoscaler = 0, &horizontal.WorkloadAutoscaler{}
	s.policy.WorkloadAutoscaler.Zero.CooldownPeriod = m.duration("cooldown", 5*time.Minute)
	s.observation.Target.SpecReplicas = int32(m.pick("about zero", 0, 4))
	s.policy.Metrics = []source.Spec{{
		Type: source.ExternalScaler, Name: "jobs", Identity: "1",
		Target: source.Target{Type: source.AverageValue, Milli: 1000},
	}}
	if m.pick("of itself", 0, 1) == 1 {
		s.policy.Metrics[0].Type, s.policy.Metrics[0].ActivationMilli = source.External, 1000*m.pick("activation", 0, 9)
	}
	s.observation.Readings = []metric.Reading{{
		Series: []int64{1000 * m.pick("jobs", 0, 4)}, Activity: metric.Activity(m.pick("activity", 0, 2)),
	}}
	if b := s.policy.Behavior; b != nil && m.pick("at once", 0, 1) == 1 {
		b.Down.Stabilization = 0
	}
	if m.pick("idle", 0, 1) == 1 {
		s.state.IdleSince = s.now.Add(-m.duration("idle for", 10*time.Minute))
	}
}

// TestSentences plays random decisions, and checks of each sentence that the limits that it names are what makes the
// count, that the change that it announces comes, and that it shows nothing unknown as 0.
func TestSentences(t *testing.T) {
	named, numbers, announced, toZero := map[string]int{}, map[string]int{}, 0, 0
	for i := range *seeds {
		seed := *firstSeed + uint64(i)
		of := saidOf(spoken(seed))
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			checkForm(t, of)
			checkLimits(t, of)
			checkNext(t, of)
			checkKnown(t, of)
			checkPods(t, of)
			checkLoad(t, of)
			for _, kind := range checkNumbers(t, of) {
				numbers[kind]++
			}
			if t.Failed() {
				t.Logf("%s\nfrom %d to %d, %s, limits %v\nmetrics %+v\nstate before %+v", of.sentence.Text, of.decision.Current,
					of.decision.Desired, of.decision.Branch, of.sentence.Limits, of.decision.Metrics, of.state)
			}
		})
		for _, limit := range of.sentence.Limits {
			named[limit.Name()]++
		}
		if next := of.sentence.Next; next != nil {
			announced++
			if next.Most == 0 {
				toZero++
			}
		}
	}
	t.Logf("seeds from %d on; limits named: %v; %d changes announced, %d of them to 0", *firstSeed, named, announced,
		toZero)
	want := []string{"active_metric", "assumed_values", "cooldown", "fewer_pods", "inactive", "maintenance", "max_replicas",
		"min_replicas", "more_pods", "newer_samples", "paused", "scale_down_rate", "scale_up_rate", "stabilization",
		"sync_period", "tolerance", "unusable"}
	for _, name := range want {
		if named[name] == 0 && *seeds >= 10000 {
			t.Errorf("%s is never named: %v", name, slices.Sorted(maps.Keys(named)))
		}
	}
	t.Logf("numbers named: %v", numbers)
	if *seeds >= 1000 && len(numbers) < 4 {
		t.Errorf("of the numbers that sentences name, only these occur: %v", numbers)
	}
	if announced < *seeds/50 || toZero < *seeds/500 {
		t.Errorf("%d changes are announced, %d of them to 0", announced, toZero)
	}
}

func checkForm(t *testing.T, of *said) {
	t.Helper()
	text, d := of.sentence.Text, &of.decision
	if regexp.MustCompile(`(since [0-9:]+|maxReplicas), a part of which`).MatchString(text) {
		t.Error("it names a part of nothing")
	}
	for _, bad := range []string{"%!", "NaN", "Inf", "\n", "  ", "..", ": .", "; .", "until 0001", " -"} {
		if strings.Contains(text, bad) {
			t.Errorf("it has %q", bad)
		}
	}
	if !strings.HasSuffix(text, ".") || text[0] < 'A' || text[0] > 'Z' {
		t.Error("it is no sentence")
	}
	if count := regexp.MustCompile(fmt.Sprintf(`\b%d\b`, d.Desired)); !count.MatchString(text) {
		t.Errorf("it does not name the count %d", d.Desired)
	}
}

// checkNext plays the state on: the count stays until the change that is announced, and then changes to what was
// announced.
func checkNext(t *testing.T, of *said) {
	t.Helper()
	next, d := of.sentence.Next, &of.decision
	if next == nil {
		return
	}
	play := of.played()
	if d.Desired != d.Current && d.Zero.IsPossible && !isOneTotal(&play) {
		return
	}
	at := func(now time.Time) int32 {
		later := play.later(now)
		decided, state := later.decide()
		if decided.Desired == d.Desired {
			play.state = state
		}
		return decided.Desired
	}
	if first := play.later(of.now.Add(time.Millisecond)); !d.IsLoweringHeld {
		// Without a scale, a decision on an event or on new samples may see pods otherwise than a periodic one.
		if again, _ := first.decide(); again.Proposed != d.Proposed || again.Branch != d.Branch {
			return
		}
	}
	left := next.After.Sub(of.now)
	for _, part := range []int{1, 3, 5, 8} {
		if now := of.now.Add(left * time.Duration(part) / 10).Truncate(time.Millisecond); left > time.Second {
			if got := at(now); got != d.Desired {
				t.Errorf("at %s the count is %d, and was to stay at %d until %s", now, got, d.Desired, next.After)
				return
			}
		}
	}
	// The first decision after that time is made up to a sync period later.
	for _, part := range []int{0, 1, 3, 5, 8, 10} {
		late := time.Millisecond + time.Duration(part)*trigger.LoweringPeriod/10
		first := play.later(next.After.Add(late))
		first.state = play.state.Clone()
		if got, _ := first.decide(); got.Desired < next.Least || got.Desired > next.Most {
			t.Errorf("%s after %s the count is %d, announced was %d to %d", late, next.After, got.Desired, next.Least, next.Most)
		}
	}
}

// played is the situation after the decision, with the load as it is.
func (of *said) played() situation {
	play, d := of.situation, &of.decision
	play.policy.Metrics = slices.Clone(play.policy.Metrics)
	if d.Desired != d.Current && !d.Zero.IsPossible {
		// The load stays: what is asked for does not depend on the count.
		play.policy.Metrics, play.policy.Tolerance = []source.Spec{queue()}, metric.Tolerance{}
		if w := play.policy.WorkloadAutoscaler; w != nil {
			play.policy.WorkloadAutoscaler = &horizontal.WorkloadAutoscaler{Schedules: w.Schedules}
			play.policy.MinReplicas = max(1, play.policy.MinReplicas)
		}
		play.observation.Readings = []metric.Reading{length(max(0, d.Proposed.Replicas))}
	}
	play.observation.Target.SpecReplicas = d.Desired
	if !d.IsLoweringHeld {
		play.observation.Trigger = trigger.Periodic
	}
	play.state = of.after
	return play
}

// isOneTotal reports whether the only metric asks for the same whatever the count is.
func isOneTotal(s *situation) bool {
	return len(s.policy.Metrics) == 1 && s.policy.Metrics[0].HasValueWithoutPods() &&
		s.policy.Metrics[0].Target.Type == source.AverageValue && s.policy.Tolerance == metric.Tolerance{}
}

// later is the same at another time: all that is observed is as old as it was.
func (s *situation) later(now time.Time) situation {
	later, by := *s, now.Sub(s.now)
	later.now = now
	shift := func(t *time.Time) {
		if !t.IsZero() {
			*t = t.Add(by)
		}
	}
	later.observation.Pods = slices.Clone(s.observation.Pods)
	for i := range later.observation.Pods {
		shift(&later.observation.Pods[i].StartTime)
		shift(&later.observation.Pods[i].ReadyTransition)
	}
	later.observation.Readings = slices.Clone(s.observation.Readings)
	for i := range later.observation.Readings {
		r := &later.observation.Readings[i]
		shift(&r.At)
		r.Samples, r.Recent = slices.Clone(r.Samples), slices.Clone(r.Recent)
		for pod := range r.Samples {
			shift(&r.Samples[pod].At)
		}
		for pod := range r.Recent {
			for k := range r.Recent[pod] {
				shift(&r.Recent[pod][k].At)
			}
		}
	}
	return later
}

// checkLimits decides again without the limits that are named. What a metric or the samples limit is remembered too: it
// is left out of what is asked for, and the windows, rates and bounds that come after are left out with it.
func checkLimits(t *testing.T, of *said) {
	t.Helper()
	limits, d := of.sentence.Limits, &of.decision
	if len(limits) == 0 {
		if d.Branch == horizontal.BranchMetrics && d.Desired != d.Current && d.Desired != d.Proposed.Replicas &&
			d.Mode() != mode.Paused {
			t.Errorf("no limit is named, and %d is asked for", d.Proposed.Replicas)
		}
		return
	}
	open, known := of.without(limits)
	if !known {
		return
	}
	got, _ := open.decide()
	was, is := d.ActiveDesired, got.ActiveDesired
	if isOfProposal(limits[0]) {
		was, is = max(0, d.Proposed.Replicas), max(0, got.Proposed.Replicas)
		if got.Branch != d.Branch {
			return
		}
	}
	if isOutOfRange := d.Branch == horizontal.BranchAboveMax || d.Branch == horizontal.BranchBelowMin; was == is &&
		!(isOutOfRange && got.Branch == horizontal.BranchMetrics) {
		t.Errorf("without %v it is still %d", limits, is)
	}
}

func isOfProposal(limit projection.Limit) bool {
	switch limit {
	case projection.Tolerance, projection.AssumedValues, projection.FewerPods, projection.MorePods, projection.NoReadyPods,
		projection.NewerSamples, projection.Unusable:
		return true
	}
	return false
}

// without returns the situation without the limits; false if one of them cannot be taken away.
func (of *said) without(limits []projection.Limit) (s situation, known bool) {
	s = of.situation
	s.state = s.state.Clone()
	if !slices.Contains(limits, projection.SyncPeriod) {
		s.state.LoweringAt = time.Time{} // of how often it is decided, not of what
	}
	for _, limit := range limits {
		if !s.drop(limit, &of.decision) {
			return s, false
		}
	}
	return s, true
}

// drop takes a limit away; false if that cannot be.
func (s *situation) drop(limit projection.Limit, d *horizontal.Decision) bool {
	switch limit {
	case projection.Stabilization:
		s.withoutWindows()
	case projection.ScaleUpRate, projection.ScaleDownRate:
		return s.withoutRates(d)
	case projection.FirstReplica:
		s.withoutWindows()
		return s.withoutRates(d)
	case projection.MinReplicas:
		s.policy.MinReplicas = 0
		return s.policy.WorkloadAutoscaler == nil || d.Proposed.Replicas > 0 // or the cooldown takes its place
	case projection.MaxReplicas:
		s.policy.MaxReplicas = math.MaxInt32
	case projection.Tolerance:
		s.policy.Tolerance = metric.Tolerance{}
	case projection.AssumedValues, projection.FewerPods, projection.MorePods, projection.NoReadyPods:
		return s.asTotal(d)
	case projection.SyncPeriod:
		s.state.LoweringAt = time.Time{}
	case projection.NewerSamples:
		s.state.Count, s.observation.Trigger, s.observation.NewerAwaited = history.Count{}, trigger.Periodic, false
		return d.Proposed.Source != proposal.None && d.Failed+d.Pending == 0
	default:
		return false
	}
	return true
}

func (s *situation) withoutWindows() {
	s.state.Recommendations = history.Recommendations{}
	s.state.Recommendations.Add(s.now.Add(-1000*time.Hour), 1)
}

func (s *situation) withoutRates(d *horizontal.Decision) bool {
	if s.policy.Behavior == nil && d.Stabilized.Reason != behavior.ReadyForNewScale {
		return false // with a behavior, which alone can have no rate, a window raises no count
	}
	free := []behavior.RatePolicy{{Type: behavior.RatePods, Value: math.MaxInt32, Period: time.Second}}
	b := behavior.Behavior{Down: behavior.Rules{Stabilization: s.policy.DownscaleStabilization}}
	if s.policy.Behavior != nil {
		b = *s.policy.Behavior
	}
	b.Up.Policies, b.Down.Policies, b.Up.Select, b.Down.Select = free, free, behavior.SelectMax, behavior.SelectMax
	s.policy.Behavior = &b
	s.state.ScaleUps, s.state.ScaleDowns = nil, nil
	return true
}

// asTotal has the metric that is limited by pods as one value of the same ratio, and as many ready pods as replicas.
func (s *situation) asTotal(d *horizontal.Decision) bool {
	const whole = 1e9
	limit, i := projection.Binding(d)
	for k := range d.Metrics {
		r := &d.Metrics[k]
		isKeeping := r.Verdict == metric.WithinTolerance || r.Verdict == metric.DirectionKept
		if limit == projection.Tolerance && isKeeping && r.Ratio > d.Metrics[i].Ratio && d.Tolerance.Within(r.Ratio) {
			i = k
		}
	}
	r := &d.Metrics[i]
	if !(r.Ratio >= 0 && r.Ratio < 1e6) || d.Current < 1 || d.Current > 1000 {
		return false
	}
	// Other metrics cannot use other pods.
	s.policy.Metrics = []source.Spec{{
		Type: source.External, Name: "instead", Target: source.Target{Type: source.Value, Milli: whole},
	}}
	s.observation.Readings = []metric.Reading{{Series: []int64{int64(math.Floor(r.Ratio * whole))}}}
	s.observation.Pods = nil
	for range d.Current {
		s.observation.Pods = append(s.observation.Pods, metric.Pod{Phase: metric.PhaseRunning, Ready: metric.ReadyTrue})
	}
	return true
}

// checkPods: of pods whose use counts although they are not ready, a sentence says that they are not, or that some are
// still starting.
func checkPods(t *testing.T, of *said) {
	t.Helper()
	d, winner := &of.decision, of.decision.Winner()
	if d.Branch != horizontal.BranchMetrics || winner.Source != proposal.Metric || d.Metrics[winner.Index].Failure != nil {
		return
	}
	n := 0
	for i, g := range d.Metrics[winner.Index].Groups {
		if g == metric.Counted && of.observation.Pods[i].Ready != metric.ReadyTrue {
			n++
		}
	}
	text := of.sentence.Text
	if n > 0 && d.Current > 0 && !strings.Contains(text, "ready") && !strings.Contains(text, "still starting") {
		t.Errorf("%d pods that count are not ready", n)
	}
}

// checkLoad: a sentence promises that more pods take the load only where all metrics above their targets are CPU or
// divided by the number of pods.
func checkLoad(t *testing.T, of *said) {
	t.Helper()
	if !regexp.MustCompile(`load (than|that) (1 pod|\d+ pods)`).MatchString(of.sentence.Text) {
		return
	}
	for i := range of.decision.Metrics {
		r, spec := &of.decision.Metrics[i], &of.policy.Metrics[i]
		isDivided := spec.Target.Type == source.AverageValue && (spec.IsRate || !spec.IsPerPod())
		if r.Failure == nil && r.Ratio > 1 && spec.Name != source.CPU && !isDivided {
			t.Errorf("a pod's %s of type %s may stay as it is", spec.Name, spec.Type)
		}
	}
}

// zeroIn finds a 0 that is a number of its own, and no part of a time or of a decimal.
var zeroIn = regexp.MustCompile(`(^|[ (])0( |$|[;,)%]|\.( |$))`)

// checkKnown: a sentence has a 0 only where a count or a value is known to be 0.
func checkKnown(t *testing.T, of *said) {
	t.Helper()
	d := &of.decision
	if !zeroIn.MatchString(of.sentence.Text) {
		return
	}
	known := []int32{d.Current, d.Desired, d.ActiveDesired, d.Bounds.MinReplicas}
	if d.Proposed.Source != proposal.None {
		known = append(known, d.Proposed.Replicas)
	}
	if d.Stabilized.Reason != behavior.ReadyForNewScale {
		known = append(known, d.Stabilized.By.Replicas)
	}
	for i := range d.Metrics {
		f := &of.policy.Metrics[i].Fallback
		known = append(known, f.Replicas, f.ReplicasAt(d.Current))
		if r := &d.Metrics[i]; r.Failure == nil && !r.Pending {
			known = append(known, r.Replicas, int32(math.Round(100*min(r.Ratio, 100))), of.policy.Metrics[i].Target.Percent)
		}
	}
	if d.Branch == horizontal.BranchNoScale || !slices.Contains(known, 0) {
		t.Error("it shows an unknown value as 0")
	}
}
