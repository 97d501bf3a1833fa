package statusreport

import (
	"fmt"
	"strings"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/divergence"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric/source"
)

// Metrics are a decision's metrics as conditions, events and reasons name them. Results belong to Specs, index for
// index.
type Metrics struct {
	Specs       []source.Spec
	Results     []metric.Result
	Divergences divergence.Set
}

// Name names a metric.
func (m *Metrics) Name(i int) string { return m.Specs[i].Describe(m.Divergences) }

// WarnOfFailures adds a warning for each metric that could not be computed.
func (m *Metrics) WarnOfFailures(r *Report) {
	for i := range m.Results {
		if f := m.Results[i].Failure; f != nil {
			r.Warn(f.Reason, f.Message)
		}
	}
}

// FirstFailure is that of the first metric that could not be computed; nil if there is none.
func (m *Metrics) FirstFailure() *source.Failure {
	for i := range m.Results {
		if f := m.Results[i].Failure; f != nil {
			return f
		}
	}
	return nil
}

// ErrorText is the error of the reconciliation. It is empty where every metric could be computed.
func (m *Metrics) ErrorText() string {
	if f := m.FirstFailure(); f != nil {
		failed := 0
		for i := range m.Results {
			if m.Results[i].Failure != nil {
				failed++
			}
		}
		return fmt.Sprintf("invalid metrics (%d invalid out of %d), first error is: %s", failed, len(m.Results), f.Error)
	}
	if len(m.Results) == 0 {
		return "invalid metrics: the object names none"
	}
	return ""
}

// ValidMetricFound is the message of that reason: the metric that the replica count comes from and, as upstream does
// not say, those that it does not.
func (m *Metrics) ValidMetricFound(i int) string {
	message := "the HPA was able to successfully calculate a replica count from " + m.Name(i)
	if !m.Divergences.Has(divergence.AccurateMessages) {
		return message
	}
	var failed []string
	for i := range m.Results {
		if m.Results[i].Failure != nil {
			failed = append(failed, m.Name(i))
		}
	}
	if failed == nil {
		return message
	}
	return message + ", but not from " + strings.Join(failed, ", ")
}
