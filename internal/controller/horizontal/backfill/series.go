package backfill

import (
	"github.com/prometheus/client_golang/prometheus"

	plimsollseries "github.com/plimsoll-dev/plimsoll/internal/series"
)

// The results of reading an autoscaler's load.
const (
	resultFilled  = "filled"
	resultUnknown = "unknown"
	resultLeftOut = "left_out"
	resultFailed  = "failed"
	resultGivenUp = "given_up"
)

func newSeries(registerer prometheus.Registerer) (*prometheus.CounterVec, error) {
	s := prometheus.NewCounterVec(prometheus.CounterOpts{
		Namespace: "plimsoll", Subsystem: "autoscaler_history", Name: "prometheus_reads_total",
		Help: "Reads of past loads of autoscalers from Prometheus, by result.",
	}, []string{"result"})
	if err := plimsollseries.Register(registerer, &s); err != nil {
		return nil, err
	}
	for _, result := range []string{resultFilled, resultUnknown, resultLeftOut, resultFailed, resultGivenUp} {
		s.WithLabelValues(result)
	}
	return s, nil
}

func (f *Filler) report(j *job, result string, err error) {
	f.series.WithLabelValues(result).Inc()
	switch result {
	case resultFilled:
		f.mu.Lock()
		delete(f.noted, resultFailed)
		f.mu.Unlock()
		f.config.Log.V(1).Info("the past load of an autoscaler is read from Prometheus", "object", j.key.String())
	case resultFailed:
		f.note(result, j, err, "the past loads of autoscalers cannot be read from Prometheus, and are read again later")
	default:
		f.note(result, j, err, "the past load of an autoscaler is not known from Prometheus")
	}
}

// note logs a problem: the first of its kind at the default verbosity, others at V(1), because every object may have
// the same.
func (f *Filler) note(kind string, j *job, err error, message string) {
	f.mu.Lock()
	verbosity := 0
	if f.noted[kind] {
		verbosity = 1
	}
	f.noted[kind] = true
	f.mu.Unlock()
	f.config.Log.V(verbosity).Info(message, "object", j.key.String(), "err", err)
}
