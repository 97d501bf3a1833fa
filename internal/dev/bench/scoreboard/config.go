package scoreboard

import (
	"errors"
	"fmt"
	"slices"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	"k8s.io/utils/ptr"
)

// Samples is the age of the kubelets' samples.
type Samples string

// The ages of samples.
const (
	// Old samples are as kubelets give them: each container's is taken every 10 to 20 s.
	Old Samples = "old"
	// Fresh samples are taken at each request.
	Fresh Samples = "fresh"
)

// Config configures the scoreboard.
type Config struct {
	// Folder has traces, .csv or .csv.gz. Without it generated days are played, unless MadeUp or Drawn selects made-up
	// weeks.
	Folder        string
	MadeUp, Drawn bool
	// TargetPercent, MinReplicas and MaxReplicas are those of all sides, which have no behavior beside.
	TargetPercent, MinReplicas, MaxReplicas int32
	// Ready are the times until a new pod is ready, Samples the ages of samples: everything is played with each of both.
	Ready   []time.Duration
	Samples []Samples
	// Forecasts are the names of the sides beside upstream and Plimsoll; AllForecasts and NoForecasts stand alone.
	Forecasts []string
	// Seeds is the number of plays of each, FirstSeed the seed of the first.
	Seeds     int
	FirstSeed uint64
	// Start is the length of the beginning of each load that is left out; For truncates loads that long after it, 0 plays
	// them to their end. ScoreFrom is the length of the unscored beginning of a play.
	Start, For, ScoreFrom time.Duration
	// Say is called with the progress; it may be nil.
	Say func(format string, args ...any)
	// Done is called when a board is done, the last one of the results so far; it may be nil.
	Done func(r *Results) error
}

// Defaults are the settings of the tables in the documentation.
func Defaults() Config {
	return Config{
		TargetPercent: 70, MinReplicas: 2, MaxReplicas: 20, Seeds: 3, FirstSeed: 1, Forecasts: []string{NoForecasts},
		Ready: []time.Duration{12 * time.Second, time.Minute, 3 * time.Minute}, Samples: []Samples{Old, Fresh},
	}
}

// mostReady bounds the time to ready.
const mostReady = time.Hour

func (c *Config) validate() error {
	switch {
	case c.Seeds < 1:
		return fmt.Errorf("seeds: %d, want at least 1", c.Seeds)
	case c.TargetPercent < 1 || c.MinReplicas < 1 || c.MaxReplicas < c.MinReplicas:
		return fmt.Errorf("a target of %d %%, %d to %d replicas: want at least 1, and no more at least than at most",
			c.TargetPercent, c.MinReplicas, c.MaxReplicas)
	case len(c.Ready) == 0 || len(c.Samples) == 0:
		return errors.New("want at least one time to ready and one age of samples")
	case c.Start < 0 || c.For < 0 || c.ScoreFrom < 0:
		return errors.New("loads do not start before their beginning, and are neither played nor scored for a negative time")
	}
	return c.validateBoards()
}

func (c *Config) validateBoards() error {
	for i, ready := range c.Ready {
		if ready < 0 || ready > mostReady || slices.Contains(c.Ready[:i], ready) {
			return fmt.Errorf("ready after %v: want 0 to %v, each once", ready, mostReady)
		}
	}
	for i, s := range c.Samples {
		if s != Old && s != Fresh || slices.Contains(c.Samples[:i], s) {
			return fmt.Errorf("samples: %q, want %s or %s, each once", s, Old, Fresh)
		}
	}
	return nil
}

// autoscaler returns the HPA of a side.
func (c *Config) autoscaler(targetPercent int32) *autoscalingv2.HorizontalPodAutoscaler {
	return &autoscalingv2.HorizontalPodAutoscaler{Spec: autoscalingv2.HorizontalPodAutoscalerSpec{
		MinReplicas: ptr.To(c.MinReplicas), MaxReplicas: c.MaxReplicas,
		Metrics: []autoscalingv2.MetricSpec{{
			Type: autoscalingv2.ResourceMetricSourceType, Resource: &autoscalingv2.ResourceMetricSource{
				Name: "cpu",
				Target: autoscalingv2.MetricTarget{
					Type: autoscalingv2.UtilizationMetricType, AverageUtilization: ptr.To(targetPercent),
				},
			},
		}},
	}}
}
