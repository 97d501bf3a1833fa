package horizontal_test

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/fallback"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/forecast"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/history"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric/source"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/mode"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/projection"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/summary"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/surge"
)

// aboutSentences makes one in two of the situations one that has sentences of its own: pods that start, a metric with a
// fallback that cannot be read, or a count that a surge raised.
func (m maker) aboutSentences(s *situation) {
	switch m.pick("of its own", 0, 5) {
	case 0:
		m.aboutStarting(s)
	case 1:
		m.aboutFallback(s)
	case 2:
		current := max(1, s.observation.Target.SpecReplicas)
		s.state.Surges.Raised, s.state.Surges.Without = current, int32(m.pick("without the surge", 1, int64(current)))
		s.state.Count = history.Count{
			Replicas: current, IsKnown: true, ChangedAt: s.now.Add(-m.duration("raised", time.Minute)),
		}
	}
}

// aboutStarting has pods with the load of all, and others that start, of the same revision or not.
func (m maker) aboutStarting(s *situation) {
	s.policy.Metrics = []source.Spec{{
		Type: source.Resource, Name: source.CPU, Target: source.Target{Type: source.AverageValue, Milli: 1000},
	}}
	s.policy.CPUInitializationPeriod = 5 * time.Minute
	if w := s.policy.WorkloadAutoscaler; w != nil {
		w.Mode = mode.Active
	}
	counted, starting := int(m.pick("counted", 1, 6)), int(m.pick("starting", 1, 4))
	o := &s.observation
	o.Target.SpecReplicas = min(int32(counted+starting)-int32(m.pick("of a rollout", 0, 1)), s.policy.MaxReplicas)
	o.Pods, o.Readings = nil, []metric.Reading{{}}
	use := m.pick("use", 900, 2000)
	for i := range counted + starting {
		pod := metric.Pod{
			Name: fmt.Sprintf("web-%d", i), Revision: metric.RevisionOf("1"), Phase: metric.PhaseRunning, Ready: metric.ReadyTrue,
			StartTime: s.now.Add(-time.Hour), ReadyTransition: s.now.Add(-time.Hour),
		}
		sample := metric.Sample{Present: true, Milli: use, At: s.now, Window: 15 * time.Second}
		if i >= counted {
			pod.Ready, pod.StartTime = metric.ReadyFalse, s.now.Add(-time.Minute)
			pod.ReadyTransition, pod.Revision = pod.StartTime, metric.RevisionOf(strconv.FormatInt(m.pick("revision", 1, 2), 10))
			sample.Milli = 0
		}
		o.Pods, o.Readings[0].Samples = append(o.Pods, pod), append(o.Readings[0].Samples, sample)
	}
}

// aboutFallback has a metric whose fallback has begun.
func (m maker) aboutFallback(s *situation) {
	jobs := queue()
	jobs.Fallback = source.Fallback{
		FailureDuration: time.Minute, Replicas: int32(m.pick("of the fallback", 0, 9)),
		Policy: source.FallbackPolicy(m.pick("policy of the fallback", 0, 3)),
	}
	s.policy.Metrics, s.observation.Readings = []source.Spec{jobs}, []metric.Reading{broken()}
	if s.policy.WorkloadAutoscaler == nil {
		s.policy.WorkloadAutoscaler = &horizontal.WorkloadAutoscaler{}
	}
	s.state.Fallbacks = fallback.FailingSince(s.policy.Metrics, s.now.Add(-m.duration("failing", time.Hour)))
	s.state.Fallbacks[0].Active, s.state.Fallbacks[0].From = true, int32(m.pick("before the fallback", 0, 9))
}

// The numbers that a sentence names, with what they are of.
var (
	ofShared   = regexp.MustCompile(`is at .* on (\d+) (ready )?pods?, but would be at (?:less than )?(.*?) % on all (\d+);`)
	ofRollout  = regexp.MustCompile(`as (a new pod|new pods) of a rollout`)
	ofFallback = regexp.MustCompile(`before it there were (\d+)`)
	ofSurge    = regexp.MustCompile(`^Stays at (\d+) \(raised by a surge at ([0-9:]+), (\d+) without it\)`)
	ofSurgeAny = regexp.MustCompile(`raised by a surge`)
)

// checkNumbers: each number that a sentence names is what it says that it is. The result has the kinds of numbers that
// it names.
func checkNumbers(t *testing.T, of *said) (kinds []string) {
	t.Helper()
	text, d := of.sentence.Text, &of.decision
	if found := ofShared.FindStringSubmatch(text); found != nil {
		kinds = append(kinds, "shared")
		checkShared(t, of, found)
	}
	if ofRollout.MatchString(text) {
		kinds = append(kinds, "rollout")
		checkRollout(t, of)
	}
	if found := ofFallback.FindStringSubmatch(text); found != nil {
		kinds = append(kinds, "fallback")
		if before := fmt.Sprint(of.state.Fallbacks[0].From); found[1] != before || before == fmt.Sprint(d.Desired) {
			t.Errorf("before the fallback there were %s", before)
		}
	}
	if ofSurgeAny.MatchString(text) {
		kinds = append(kinds, "surge")
		s, found := &of.after.Surges, ofSurge.FindStringSubmatch(text)
		at := summary.Clock(of.after.Count.ChangedAt, d.At)
		want := []string{fmt.Sprint(d.Desired), at, fmt.Sprint(s.Without)}
		if s.Raised != d.Desired || s.Without >= s.Raised || fmt.Sprint(found[1:]) != fmt.Sprint(want) {
			t.Errorf("the surge raised it to %d at %s, and there would be %d without it", s.Raised, at, s.Without)
		}
	}
	return kinds
}

// checkShared compares with the samples: those of the pods that count, divided by all pods.
func checkShared(t *testing.T, of *said, found []string) {
	t.Helper()
	r := &of.decision.Metrics[of.decision.Winner().Index]
	used, ready, all := 0.0, 0, 0
	for i, g := range r.Groups {
		if g == metric.Ignored {
			continue
		}
		if all++; g == metric.Counted {
			used += float64(of.observation.Readings[of.decision.Winner().Index].Samples[i].Milli)
			if of.observation.Pods[i].Ready == metric.ReadyTrue {
				ready++
			}
		}
	}
	used -= float64(r.StartMilli + r.SharedMilli + r.MovedMilli)
	value, _ := strconv.ParseFloat(found[3], 64)
	target := &of.policy.Metrics[of.decision.Winner().Index].Target
	if want := 100 * used / float64(all) / float64(target.Milli); target.Type == source.AverageValue &&
		math.Abs(value-want) > 1 {
		t.Errorf("all pods would be at %.1f %%", want)
	}
	if found[1] != fmt.Sprint(r.Counts.Counted) || found[4] != fmt.Sprint(all) ||
		found[2] != "" && ready != r.Counts.Counted {
		t.Errorf("%d of %d pods count, %d of them ready", r.Counts.Counted, all, ready)
	}
}

// checkRollout: each pod that starts has another revision than a pod that counts and is older.
func checkRollout(t *testing.T, of *said) {
	t.Helper()
	r := &of.decision.Metrics[of.decision.Winner().Index]
	for i, g := range r.Groups {
		if g != metric.Unready {
			continue
		}
		pod, isNew := &of.observation.Pods[i], false
		for k, other := range r.Groups {
			is := &of.observation.Pods[k]
			isNew = isNew || other == metric.Counted && is.Revision != pod.Revision && is.StartTime.Before(pod.StartTime)
		}
		if !isNew {
			t.Errorf("%s is no new pod of a rollout", pod.Name)
		}
	}
}

// partOf is a percentage as a part of one; one without a percentage.
func partOf(percentage string) float64 {
	part, err := strconv.ParseFloat(percentage, 64)
	if err != nil {
		return 1
	}
	return part / 100
}

// TestForecastSentences plays forecasts over decisions on a queue, and checks that the numbers of their sentences fit
// to each other and to what the forecast asks for.
func TestForecastSentences(t *testing.T) {
	named := regexp.MustCompile(`the forecast asks for (\d+), (.*?)for (?:(\d+) % of )?the load of ([0-9.]+) pods ` +
		`that it expects within 3 min`)
	limits := map[string]int{}
	for seed := range uint64(*seeds) {
		s := spoken(seed)
		s.policy.Metrics, s.policy.WorkloadAutoscaler, s.policy.Surge = []source.Spec{queue()}, nil, surge.Settings{}
		s.state.LoweringAt = time.Time{}
		s.observation.Readings = []metric.Reading{length(int32(seed % 7))}
		of := saidOf(s)
		d := &of.decision
		isHeld := projection.BindingLimit(d) == projection.Stabilization && d.Desired == d.Current
		if !isHeld || d.Proposed.Replicas >= d.Current || d.Current > 1000 {
			continue // Beside another limit, the forecast would lead to another decision.
		}
		scale := []float64{0.7, 0.8, 0.9, 1, 1.15}[seed%5]
		expected := float64(d.Current) / scale * (0.8 + float64(seed%4)/10)
		asked := min(int32(math.Ceil(scale*expected-1e-9)), d.Current)
		d.Policy.Forecast.Mode = forecast.Active
		d.Forecast = forecast.Result{
			Reason: forecast.ReasonInUse, Replicas: asked, Scale: scale, Expected: expected, Horizon: 3 * time.Minute,
		}
		text := summary.Of(summary.Input{Decision: d, State: &of.after}).Text
		found := named.FindStringSubmatch(text)
		if found == nil {
			if strings.Contains(text, "the forecast asks for") {
				t.Errorf("seed %d: %s", seed, text)
			}
			continue
		}
		limits[found[2]]++
		part := partOf(found[3])
		pods, _ := strconv.ParseFloat(found[4], 64)
		isLess := float64(asked) < part*pods-0.01*pods
		switch {
		case found[1] != fmt.Sprint(asked):
			t.Errorf("seed %d: it asks for %d: %s", seed, asked, text)
		case isLess == (found[2] == ""):
			t.Errorf("seed %d: %v of %v pods: %s", seed, part, pods, text)
		case found[2] == "which is maxReplicas, " && asked < d.Bounds.MaxReplicas:
			t.Errorf("seed %d: maxReplicas is %d: %s", seed, d.Bounds.MaxReplicas, text)
		case strings.HasPrefix(text, "Stays at "+found[1]+": the forecast") != (asked == d.Current):
			t.Errorf("seed %d: it keeps %d of %d: %s", seed, asked, d.Current, text)
		}
	}
	if *seeds >= 1000 && len(limits) < 3 {
		t.Errorf("sentences: %v", limits)
	}
	t.Logf("sentences by what limits the forecast: %v", limits)
}
