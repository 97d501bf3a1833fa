// Package demo runs Plimsoll against a real control plane under a load that steps
// up tenfold and falls back. It shows what happens, and checks that the replica
// counts are the computed ones.
package demo

import (
	"errors"
	"math"
	"time"
)

// The workloads of the demo. Of the first, a request costs 5 milli-core-seconds, a pod
// requests 100 milli-cores and the target is half of that, so one replica
// stands for 10 requests per second. 57 requests per second are 5.7 replicas'
// worth: 6 is the only count whose utilization is within the tolerance of 10 %,
// so the surge has one right answer whatever the way there. The second workload has
// the same load, and a target of 10 requests per second by its pods' own counters.
const (
	costMilli        = 5
	requestMilli     = 100
	targetPercent    = 50
	targetRequests   = 10
	baseLoad         = 5.7
	peakLoad         = 10 * baseLoad
	minReplicas      = 1
	maxReplicas      = 20
	shortestSeconds  = 120
	demoNamespace    = "shop"
	demoWorkload     = "web"
	requestsWorkload = "api"
)

// Plan is the course of the demo's load.
type Plan struct {
	// Total is the duration of the demo from its first computed metric.
	Total time.Duration
	// Rise and Fall are when the load increases and falls back.
	Rise, Fall time.Duration
	// Stabilization is the scale-down window of the demo's behavior.
	Stabilization time.Duration
}

// NewPlan cuts the time into a calm start, a surge and a calm end.
func NewPlan(total time.Duration) (Plan, error) {
	if total < shortestSeconds*time.Second {
		return Plan{}, errors.New("the demo needs at least 120 seconds to scale up and down: set DEMO_SECONDS=120 or more")
	}
	return Plan{
		Total:         total,
		Rise:          total / 12,
		Fall:          total / 2,
		Stabilization: (total / 12).Truncate(time.Second),
	}, nil
}

// Load is the offered load at a time of the plan, in requests per second.
func (p Plan) Load(elapsed time.Duration) float64 {
	if elapsed >= p.Rise && elapsed < p.Fall {
		return peakLoad
	}
	return baseLoad
}

// Computed is the count by the documented formula under a load, for either workload: desired = ceil(current *
// value/target), where current times value is the cost of the whole load (Kubernetes documentation, "Horizontal Pod
// Autoscaling", algorithm details).
func Computed(load float64) int32 {
	replicas := int32(math.Ceil(load * costMilli / (requestMilli * targetPercent / 100)))
	return min(maxReplicas, max(minReplicas, replicas))
}
