package metric_test

import (
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/divergence"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric/source"
)

// ofGateway makes a metric that of a gateway's pods.
func ofGateway(spec source.Spec) source.Spec {
	spec.Type, spec.OtherPods, spec.Object = source.PodEndpoint, "service gateway", source.ObjectRef{}
	return spec
}

// TestOtherPodsAsObject: what other pods have in total is compared with the target as the value of an Object metric.
func TestOtherPodsAsObject(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		spec := averageOf(source.Object, rapid.Int64Range(1, 1000).Draw(t, "target"))
		if rapid.Bool().Draw(t, "is a value") {
			spec.Target.Type = source.Value
		}
		s := total(spec, rapid.IntRange(0, 5).Draw(t, "pods"), rapid.Int64Range(0, 5000).Draw(t, "value"))
		s.set = rapid.SampledFrom([]divergence.Set{divergence.None, divergence.Default}).Draw(t, "divergences")
		want := s.evaluate()
		s.spec = ofGateway(spec)
		got := s.evaluate()
		if got.Failure != nil && want.Failure != nil {
			return
		}
		if (got.Failure == nil) != (want.Failure == nil) || got.Replicas != want.Replicas ||
			got.Milli != want.Milli || got.Verdict != want.Verdict || got.Total != want.Total {
			t.Fatalf("%+v, want %+v", got, want)
		}
	})
}

// TestIncompleteTotal: where some pods have no value, the others' total raises the count and lowers nothing.
func TestIncompleteTotal(t *testing.T) {
	value, average := ofGateway(valueOf(source.Object, 100)), ofGateway(averageOf(source.Object, 100))
	active := average
	active.ActivationMilli = 500
	for name, tt := range map[string]struct {
		why      string
		scene    scene
		replicas int32
		fails    bool
	}{
		"above a value":          {"200 is at least twice the target", total(value, 2, 200), 4, false},
		"at a value":             {"it may be above, and is not below", total(value, 2, 100), 2, false},
		"below a value":          {"the rest may be anything", total(value, 2, 50), 0, true},
		"above an average":       {"at least 5 replicas bear 500", total(average, 2, 500), 5, false},
		"below an average":       {"the rest may be anything", total(average, 3, 200), 0, true},
		"wakes":                  {"there is work", total(average, 0, 100), 1, false},
		"nothing known at zero":  {"the rest may be work", total(average, 0, 0), 0, true},
		"below activation":       {"the rest may activate it", total(active, 4, 400), 0, true},
		"below activation alone": {"500 does not activate it, the rest may", total(active, 0, 500), 0, true},
		"above activation":       {"501 activates it", total(active, 0, 501), 6, false},
	} {
		tt.scene.reading.IsLeast = true
		if r := tt.scene.evaluate(); r.Failure != nil || r.Pending != tt.fails || r.Replicas != tt.replicas {
			t.Errorf("%s, and the rest is awaited: %+v, want %d replicas: %s", name, r, tt.replicas, tt.why)
		}
		tt.scene.reading.Incomplete = "1 of 2 pods has no value"
		r := tt.scene.evaluate()
		if r.Failure == nil == tt.fails || r.Replicas != tt.replicas {
			t.Errorf("%s: %+v, want %d replicas: %s", name, r, tt.replicas, tt.why)
		}
		const want = "unable to get pod endpoint metric rps of service gateway: unable to fetch metrics from the pods: " +
			"1 of 2 pods has no value"
		if r.Failure != nil && !strings.HasSuffix(r.Failure.Message, want) {
			t.Errorf("%s: %s", name, r.Failure.Message)
		}
	}
}

// TestPartOfAValueRaisesOnce: the last value of a silent pod stays the same, and must not multiply the count with each
// decision.
func TestPartOfAValueRaisesOnce(t *testing.T) {
	for name, tt := range map[string]struct {
		spec     source.Spec
		raised   time.Duration
		replicas int32
		pending  bool
	}{
		"not raised since":    {ofGateway(valueOf(source.Object, 100)), -time.Minute, 4, false},
		"raised since":        {ofGateway(valueOf(source.Object, 100)), time.Minute, 0, true},
		"raised, per replica": {ofGateway(averageOf(source.Object, 100)), time.Minute, 2, false},
	} {
		s := total(tt.spec, 2, 200)
		s.reading.IsLeast, s.reading.At = true, now
		s.raisedAt = now.Add(tt.raised)
		if r := s.evaluate(); r.Failure != nil || r.Replicas != tt.replicas || r.Pending != tt.pending {
			t.Errorf("%s: %+v", name, r)
		}
	}
}

// TestIncompleteLowersNothing: whatever the rest is, the proposal for all is not below that for a part, and a part
// alone never lowers the count.
func TestIncompleteLowersNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		spec := averageOf(source.Object, rapid.Int64Range(1, 1000).Draw(t, "target"))
		spec.Target.Type = rapid.SampledFrom([]source.TargetType{source.Value, source.AverageValue}).Draw(t, "type")
		pods, part := rapid.IntRange(0, 5).Draw(t, "pods"), rapid.Int64Range(0, 5000).Draw(t, "part")
		known := total(ofGateway(spec), pods, part)
		known.reading.IsLeast, known.reading.Incomplete = true, "a pod has no value"
		r := known.evaluate()
		if r.Failure != nil {
			return
		}
		whole := total(ofGateway(spec), pods, part+rapid.Int64Range(0, 5000).Draw(t, "rest")).evaluate()
		if r.Replicas < int32(pods) || r.Verdict == metric.Scaled && r.Replicas > whole.Replicas {
			t.Fatalf("%d of %d replicas, and %d with the rest", r.Replicas, pods, whole.Replicas)
		}
	})
}
