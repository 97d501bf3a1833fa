package horizontal_test

import (
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/behavior"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/divergence"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/history"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric/source"
)

// noon is when the tests begin.
var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// remembered compares the history of states, without their buffers. An empty list equals a missing one.
var remembered = cmp.Options{cmpopts.IgnoreUnexported(horizontal.State{}), cmpopts.EquateEmpty()}

// queue returns an External metric whose average target is 1, so that the length of the queue is the proposal.
func queue() source.Spec {
	return source.Spec{
		Type: source.External, Name: "queue", SelectorText: "nil",
		Target: source.Target{Type: source.AverageValue, Milli: 1000},
	}
}

// length returns a queue's reading.
func length(n int32) metric.Reading { return metric.Reading{Series: []int64{int64(n) * 1000}} }

// broken returns the reading of a metric whose API does not respond.
func broken() metric.Reading { return metric.Reading{Error: "down"} }

// policy returns a policy with one queue as its metric, no tolerance and no behavior.
func policy(minReplicas, maxReplicas int32) horizontal.Policy {
	return horizontal.Policy{
		Namespace: "shop", MinReplicas: minReplicas, MaxReplicas: maxReplicas,
		Metrics:                 []source.Spec{queue()},
		DownscaleStabilization:  5 * time.Minute,
		CPUInitializationPeriod: 5 * time.Minute, InitialReadinessDelay: 30 * time.Second,
		Divergences: divergence.Default,
	}
}

// defaults returns the API server's defaults of an empty behavior, with the flag's window.
func defaults() *behavior.Behavior {
	const period = 15 * time.Second
	return &behavior.Behavior{
		Up: behavior.Rules{Policies: []behavior.RatePolicy{
			{Type: behavior.RatePods, Value: 4, Period: period},
			{Type: behavior.RatePercent, Value: 100, Period: period},
		}},
		Down: behavior.Rules{
			Stabilization: 5 * time.Minute,
			Policies:      []behavior.RatePolicy{{Type: behavior.RatePercent, Value: 100, Period: period}},
		},
	}
}

func pods(value int32, period time.Duration) behavior.RatePolicy {
	return behavior.RatePolicy{Type: behavior.RatePods, Value: value, Period: period}
}

func percent(value int32, period time.Duration) behavior.RatePolicy {
	return behavior.RatePolicy{Type: behavior.RatePercent, Value: value, Period: period}
}

// rates returns a behavior without windows.
func rates(up, down behavior.Rules) *behavior.Behavior {
	return &behavior.Behavior{Up: up, Down: down}
}

// unlimited permits any change.
func unlimited() behavior.Rules {
	return behavior.Rules{Policies: []behavior.RatePolicy{pods(1<<20, time.Second)}}
}

// see returns an observation of a target with current replicas and one reading for each metric.
func see(current int32, readings ...metric.Reading) horizontal.Observation {
	return horizontal.Observation{
		Target:   horizontal.Target{SpecReplicas: current, StatusReplicas: current},
		Readings: readings,
	}
}

// past is an entry of history.
type past struct {
	ago      time.Duration
	replicas int32
}

// remembering returns a state with these recommendations, oldest first.
func remembering(entries ...past) horizontal.State {
	var s horizontal.State
	for _, e := range entries {
		s.Recommendations.Add(noon.Add(-e.ago), e.replicas)
	}
	return s
}

// changes returns scale events, oldest first.
func changes(entries ...past) history.Changes {
	var c history.Changes
	for _, e := range entries {
		c = append(c, history.Change{Time: noon.Add(-e.ago), Replicas: e.replicas})
	}
	return c
}
