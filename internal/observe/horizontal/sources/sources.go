// Package sources has the specs of the metrics that Plimsoll reads itself, as comparable values: equal ones can share
// an answer.
package sources

import (
	"errors"
	"fmt"
	"hash/fnv"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	plimsollv1alpha1 "github.com/plimsoll-dev/plimsoll/api/plimsoll/v1alpha1"
)

// Spec is the spec of one metric of a WorkloadAutoscaler. All of it is nil for a metric from a metrics API or from
// kubelets, and for an invalid one.
type Spec struct {
	PodEndpoint *PodEndpoint
	Prometheus  *Prometheus
	// ExternalScaler is set for metrics of type ExternalScaler and of type Scaler.
	ExternalScaler *ExternalScaler
}

// Name returns the name of a metric that Plimsoll reads itself, in messages and in status; empty for others.
func Name(m *plimsollv1alpha1.MetricSpec) string {
	switch {
	case m.PodEndpoint != nil:
		return m.PodEndpoint.Metric.Name
	case m.Prometheus != nil:
		return shorten(m.Prometheus.Query)
	case m.ExternalScaler != nil && m.ExternalScaler.MetricName != "":
		return m.ExternalScaler.MetricName
	case m.ExternalScaler != nil:
		return m.ExternalScaler.ScalerAddress
	case m.Scaler != nil && m.Scaler.MetricName != "":
		return m.Scaler.MetricName
	case m.Scaler != nil:
		return m.Scaler.Type
	default:
		return ""
	}
}

// shorten returns a query in one line, short enough for a column of kubectl.
func shorten(query string) string {
	const most, ellipsis = 64, "..."
	line := strings.Join(strings.Fields(query), " ")
	if len(line) <= most {
		return line
	}
	end := most - len(ellipsis)
	for !utf8.RuneStart(line[end]) {
		end--
	}
	return line[:end] + ellipsis
}

// identity returns a short name for the values: equal only for equal values.
func identity(values ...string) string {
	hash := fnv.New64a()
	for _, value := range values {
		hash.Write(strconv.AppendQuote(nil, value))
	}
	return strconv.FormatUint(hash.Sum64(), 16)
}

var (
	errRange    = errors.New("out of range")
	errAbsent   = errors.New("missing")
	errSelector = errors.New("metric.selector")
)

// secondsOf returns a number of seconds of a spec. The API server checks its range; objects from files have not passed
// it.
func secondsOf(field string, seconds *int32, otherwise, most int32) (time.Duration, error) {
	n := otherwise
	if seconds != nil {
		n = *seconds
	}
	if n < 1 || n > most {
		return 0, fmt.Errorf("%s: %d: %w: 1 to %d", field, n, errRange, most)
	}
	return time.Duration(n) * time.Second, nil
}

func isNullZero(values plimsollv1alpha1.NullValues) (bool, error) {
	switch values {
	case "", plimsollv1alpha1.NullValuesFail:
		return false, nil
	case plimsollv1alpha1.NullValuesZero:
		return true, nil
	}
	return false, fmt.Errorf("nullValues: %q is neither Fail nor Zero", values)
}
