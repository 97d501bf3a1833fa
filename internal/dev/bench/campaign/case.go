package campaign

import (
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"

	plimsollv1alpha1 "github.com/plimsoll-dev/plimsoll/api/plimsoll/v1alpha1"
	"github.com/plimsoll-dev/plimsoll/internal/simulate/world"
)

// Case is a load, and the autoscaler, pods and nodes that it is played with.
type Case struct {
	Family string
	// Name is the family and the number of the case: spike/12. What is random about the case is made from it.
	Name string
	// Note is the difference of the case from others of its family.
	Note string
	// Load is the arrivals in each second, in pods at 100 % of their CPU request. While a case is built it is in pods at
	// the target.
	Load []float64
	// StepAt is the time of the first step of the load; 0 if it has none.
	StepAt time.Duration
	Autoscaler
	Pods
	Nodes
}

// Autoscaler is the HPA of a case.
type Autoscaler struct {
	Min, Max int32
	// TargetPercent is the target of CPU, and what the judge takes as what a pod shall serve.
	TargetPercent int32
	// Tolerance is nil where the default holds.
	Tolerance *Tolerance
	Behavior  *autoscalingv2.HorizontalPodAutoscalerBehavior
	// Metrics are all metrics; nil for CPU alone.
	Metrics []autoscalingv2.MetricSpec
	// Own is the WorkloadAutoscaler that Plimsoll plays beside upstream's HPA; nil if it plays the HPA.
	Own *Own
}

// Tolerance is that of scaling up and of scaling down, in parts of the target.
type Tolerance struct{ Up, Down float64 }

// Own has the settings of a WorkloadAutoscaler in place of those of its case's HPA.
type Own struct {
	Metrics []plimsollv1alpha1.MetricSpec
	// SyncPeriodSeconds is 0 where the controller's holds.
	SyncPeriodSeconds int32
}

// Pods are the pods of a case.
type Pods struct {
	RequestMilli float64
	// RequestsAtFull is the requests a second that a pod serves at 100 % of its CPU request; 0 for the default.
	RequestsAtFull         float64
	StartAfter, ReadyAfter time.Duration
	// StartupCPUMilli is used for Startup, from the start of the container.
	StartupCPUMilli              float64
	Startup                      time.Duration
	Imbalance, Noise, Burstiness float64
	// FixedMemory has pods use the same memory whatever their load is.
	FixedMemory bool
	Work        []world.Work
	// Rollouts are the times at which the replacement of all pods begins.
	Rollouts []time.Duration
	// Sidecars are other containers of each pod.
	Sidecars []world.Sidecar
}

// Nodes are the events on the nodes of a case.
type Nodes struct {
	Outages []world.Outage
	// ClockOffsets are how far the clocks of the groups of nodes are ahead.
	ClockOffsets []time.Duration
}

// newCase is a case of defaults, with what its randomness is made from.
func newCase(family string, i int) (*Case, random) {
	name := fmt.Sprintf("%s/%02d", family, i)
	h := fnv.New64a()
	_, _ = h.Write([]byte(name)) // a hash takes everything
	return &Case{
		Family: family, Name: name,
		Autoscaler: Autoscaler{Min: 1, Max: 60, TargetPercent: 60},
		Pods:       Pods{RequestMilli: 500, StartAfter: 2 * time.Second, ReadyAfter: 8 * time.Second, Burstiness: 1},
	}, random{rand.New(rand.NewPCG(h.Sum64(), 77))}
}

// random draws the parameters of a case.
type random struct{ *rand.Rand }

// between is spread evenly.
func (r random) between(least, most float64) float64 { return least + r.Float64()*(most-least) }

// scaled is spread evenly on a logarithmic scale.
func (r random) scaled(least, most float64) float64 { return least * math.Pow(most/least, r.Float64()) }

// of returns one of the values.
func (r random) of(values ...float64) float64 { return values[r.IntN(len(values))] }

// seconds returns one of the values, as a time.
func (r random) seconds(values ...float64) time.Duration {
	return time.Duration(r.of(values...) * float64(time.Second))
}
