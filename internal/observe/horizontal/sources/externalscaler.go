package sources

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"time"

	plimsollv1alpha1 "github.com/plimsoll-dev/plimsoll/api/plimsoll/v1alpha1"
)

// ExternalScaler is a metric of a server of KEDA's gRPC protocol.
type ExternalScaler struct {
	// Address is a host and a port.
	Address string
	// IsTLS reports that the connection is encrypted.
	IsTLS    bool
	TLS      TLS
	Metadata Metadata
	// MetricName selects one of the scaler's metrics; empty for the only one.
	MetricName string
	// HasTarget is true if the spec has the value of a target, so that the scaler's own does not count.
	HasTarget bool
	Interval  time.Duration
	// Timeout bounds the requests of one poll.
	Timeout time.Duration
	// IsPushed is true if the scaler may push its activity.
	IsPushed bool
	// FromPlimsollScalers is true for a metric of type Scaler: the server is plimsoll-scalers, and there is no Address.
	FromPlimsollScalers bool
}

// externalScalerTimeout is the Timeout of a metric of type ExternalScaler.
const externalScalerTimeout = 3 * time.Second

// ExternalScalerOf converts the metric's source.
func ExternalScalerOf(m *plimsollv1alpha1.ExternalScalerMetricSource) (ExternalScaler, error) {
	const longestInterval = 300
	switch m.Delivery {
	case "", plimsollv1alpha1.PollDelivery, plimsollv1alpha1.PushDelivery:
	default:
		return ExternalScaler{}, fmt.Errorf("delivery: %q is neither Poll nor Push", m.Delivery)
	}
	switch m.Transport {
	case "", plimsollv1alpha1.PlaintextTransport, plimsollv1alpha1.TLSTransport:
	default:
		return ExternalScaler{}, fmt.Errorf("transport: %q is neither Plaintext nor TLS", m.Transport)
	}
	isTLS, tls := m.Transport == plimsollv1alpha1.TLSTransport, TLSOf(m.TLSConfig)
	if !isTLS && tls != (TLS{}) {
		return ExternalScaler{}, errors.New("tlsConfig: may be set only where transport is TLS")
	}
	if m.ScalerAddress == "" {
		return ExternalScaler{}, fmt.Errorf("scalerAddress: %w", errAbsent)
	}
	interval, err := secondsOf("intervalSeconds", m.IntervalSeconds, plimsollv1alpha1.DefaultIntervalSeconds,
		longestInterval)
	if err != nil {
		return ExternalScaler{}, err
	}
	return ExternalScaler{
		Address: m.ScalerAddress, IsTLS: isTLS, TLS: tls,
		Metadata: metadataOf(m), MetricName: m.MetricName, HasTarget: m.Target.HasValue(), Interval: interval,
		IsPushed: m.Delivery != plimsollv1alpha1.PollDelivery, Timeout: externalScalerTimeout,
	}, nil
}

// identity identifies the measured value, without the settings of reading it.
func (e *ExternalScaler) identity() string {
	if e.FromPlimsollScalers {
		return identity("Scaler", e.Metadata.text, e.MetricName)
	}
	return identity("ExternalScaler", e.Address, e.Metadata.text, e.MetricName)
}

// Metadata is a scaler's metadata. It is comparable.
type Metadata struct {
	// text is JSON, in which the keys are sorted.
	text string
}

// metadataOf returns the metadata that KEDA's operator sends: with the address.
func metadataOf(m *plimsollv1alpha1.ExternalScalerMetricSource) Metadata {
	metadata := map[string]string{}
	maps.Copy(metadata, m.ScalerMetadata)
	metadata["scalerAddress"] = m.ScalerAddress
	return newMetadata(metadata)
}

func newMetadata(metadata map[string]string) Metadata { return Metadata{text: encode(metadata)} }

func encode(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic("strings are JSON: " + err.Error())
	}
	return string(text)
}

// Map returns the metadata in the scaler's form.
func (m Metadata) Map() map[string]string {
	metadata := map[string]string{}
	if m.text == "" {
		return metadata
	}
	if err := json.Unmarshal([]byte(m.text), &metadata); err != nil {
		panic("metadata is JSON: " + err.Error())
	}
	return metadata
}
