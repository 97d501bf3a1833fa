package backfill

import (
	"github.com/prometheus/client_golang/prometheus"

	plimsollseries "github.com/plimsoll-dev/plimsoll/internal/series"
)

// What became of a load that was asked for.
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
		Help: "Past loads of autoscalers that were asked of Prometheus, by what became of them.",
	}, []string{"result"})
	if err := plimsollseries.Register(registerer, &s); err != nil {
		return nil, err
	}
	for _, result := range []string{resultFilled, resultUnknown, resultLeftOut, resultFailed, resultGivenUp} {
		s.WithLabelValues(result)
	}
	return s, nil
}

// report counts and logs what came of reading a job's load.
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

// note logs a problem: the first of its kind for all to see, others in detail alone. There may be one with each object.
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
