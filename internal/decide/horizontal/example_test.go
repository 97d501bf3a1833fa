package horizontal_test

import (
	"fmt"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/divergence"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric/source"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/statusreport"
)

// The caller observes, decides, writes the scale, settles the result of the write, and reports. Here a queue of 7 with
// a target of 1 for each replica meets 2 replicas, which may double or become 4 at once.
func ExampleDecide() {
	policy := horizontal.Policy{
		MinReplicas: 1, MaxReplicas: 10,
		Metrics: []source.Spec{{
			Type: source.External, Name: "queue", SelectorText: "nil",
			Target: source.Target{Type: source.AverageValue, Milli: 1000},
		}},
		Tolerance:              metric.Tolerance{Up: 0.1, Down: 0.1},
		DownscaleStabilization: 5 * time.Minute,
		Divergences:            divergence.Default,
	}
	observation := horizontal.Observation{
		Target:   horizontal.Target{SpecReplicas: 2, StatusReplicas: 2},
		Readings: []metric.Reading{{Series: []int64{7000}}},
	}
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

	decision, state := horizontal.Decide(now, &policy, horizontal.State{}, &observation)
	fmt.Println("wished", decision.Proposed.Replicas, "desired", decision.Desired, "because", decision.Limited.Reason)

	outcome := horizontal.Outcome{At: now} // the write succeeded
	state = horizontal.Settle(state, outcome)
	fmt.Println("remembered recommendations:", state.Recommendations.Highs[0].Replicas)
	for _, event := range statusreport.Of(&decision, outcome).Events {
		fmt.Println(event.Reason+":", event.Message)
	}

	// Output:
	// wished 7 desired 4 because ScaleUpLimit
	// remembered recommendations: 7
	// SuccessfulRescale: New size: 4; reason: external metric queue(nil) above target
}
