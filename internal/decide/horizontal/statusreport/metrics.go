package statusreport

import (
	"fmt"
	"strings"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/divergence"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric/source"
)

func (d reported) name(i int) string { return d.Policy.Metrics[i].Describe(d.Policy.Divergences) }

// warnOfFailures adds a warning for each metric that could not be computed.
func (d reported) warnOfFailures(r *Report) {
	for i := range d.Metrics {
		if f := d.Metrics[i].Failure; f != nil {
			r.Warn(f.Reason, f.Message)
		}
	}
}

// firstFailure returns the failure of the first metric that could not be computed; nil if there is none.
func (d reported) firstFailure() *source.Failure {
	for i := range d.Metrics {
		if f := d.Metrics[i].Failure; f != nil {
			return f
		}
	}
	return nil
}

// errorText returns the error of the reconciliation; empty if every metric could be computed.
func (d reported) errorText() string {
	if f := d.firstFailure(); f != nil {
		failed := 0
		for i := range d.Metrics {
			if d.Metrics[i].Failure != nil {
				failed++
			}
		}
		return fmt.Sprintf("invalid metrics (%d invalid out of %d), first error is: %s", failed, len(d.Metrics), f.Error)
	}
	if len(d.Metrics) == 0 {
		return "invalid metrics: the object names none"
	}
	return ""
}

// validMetricFound returns the message of that reason: the metric that determines the replica count and, unlike
// upstream, those that failed.
func (d reported) validMetricFound(i int) string {
	message := "the HPA was able to successfully calculate a replica count from " + d.name(i)
	if !d.Policy.Divergences.Has(divergence.AccurateMessages) {
		return message
	}
	var failed []string
	for i := range d.Metrics {
		if d.Metrics[i].Failure != nil {
			failed = append(failed, d.name(i))
		}
	}
	if failed == nil {
		return message
	}
	return message + ", but not from " + strings.Join(failed, ", ")
}
