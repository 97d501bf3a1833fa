package sources

import (
	"fmt"

	plimsollv1alpha1 "github.com/plimsoll-dev/plimsoll/api/plimsoll/v1alpha1"
)

// The keys of the metadata for plimsoll-scalers (scalers/internal/job). It reads the object itself, so the request only
// says which metric is meant, and what the controller knows of it.
const (
	metricKey = "metric"
	scalerKey = "scaler"
)

// scalerText is the part of a metric that says what plimsoll-scalers reads. Its JSON is that of the API.
type scalerText struct {
	Type              string                                           `json:"type"`
	Metadata          map[string]string                                `json:"metadata,omitempty"`
	AuthenticationRef *plimsollv1alpha1.TriggerAuthenticationReference `json:"authenticationRef,omitempty"`
}

// ScalerOf converts the source of the metric with this name.
func ScalerOf(name string, m *plimsollv1alpha1.ScalerMetricSource) (ExternalScaler, error) {
	const longestInterval, longestTimeout = 300, 30
	if m.Type == "" {
		return ExternalScaler{}, fmt.Errorf("type: %w", errAbsent)
	}
	interval, err := secondsOf("intervalSeconds", m.IntervalSeconds, plimsollv1alpha1.DefaultScalerIntervalSeconds,
		longestInterval)
	if err != nil {
		return ExternalScaler{}, err
	}
	timeout, err := secondsOf("timeoutSeconds", m.TimeoutSeconds, plimsollv1alpha1.DefaultScalerTimeoutSeconds,
		longestTimeout)
	if err != nil {
		return ExternalScaler{}, err
	}
	return ExternalScaler{
		FromPlimsollScalers: true, MetricName: m.MetricName, HasTarget: m.Target.HasValue(), Interval: interval,
		Timeout: timeout,
		Metadata: newMetadata(map[string]string{metricKey: name, scalerKey: encode(scalerText{
			Type: m.Type, Metadata: m.Metadata, AuthenticationRef: m.AuthenticationRef,
		})}),
	}, nil
}
