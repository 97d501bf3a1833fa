// Package horizontal converts between the API's objects and the values of the decision core, in both directions:
// autoscalers to Policy, pods and metrics answers to an Observation, and a decision's report back to status and events.
// It is pure: no client, no clock.
//
// HPAs and WorkloadAutoscalers have one form, Autoscaler, with an adapter for each (hpa.go, workload.go).
//
// Upstream's controller reads the same objects in pkg/controller/podautoscaler (horizontal.go, replica_calculator.go,
// metrics/client.go, v1.37.1).
package horizontal

import (
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/divergence"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/forecast"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/surge"
)

// Options are the flags that affect a decision.
type Options struct {
	// Tolerance is --horizontal-pod-autoscaler-tolerance.
	Tolerance float64
	// DownscaleStabilization, CPUInitializationPeriod and InitialReadinessDelay
	// are the flags of kube-controller-manager with these names.
	DownscaleStabilization  time.Duration
	CPUInitializationPeriod time.Duration
	InitialReadinessDelay   time.Duration
	// Surge are the flags of the surge window.
	Surge       surge.Settings
	Divergences divergence.Set
	// Forecast is the mode of forecasts for objects without one.
	Forecast forecast.Mode
}

// DefaultOptions returns the defaults of kube-controller-manager's flags, with Plimsoll's surge window and divergences.
func DefaultOptions() Options {
	return Options{
		Tolerance:               0.1,
		DownscaleStabilization:  5 * time.Minute,
		CPUInitializationPeriod: 5 * time.Minute,
		InitialReadinessDelay:   30 * time.Second,
		Surge:                   surge.Defaults(),
		Divergences:             divergence.Default,
		Forecast:                forecast.Preview,
	}
}
