package metricsapi

import (
	"errors"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/plimsoll-dev/plimsoll/internal/series"
)

// load records how long calls to one metrics API wait for a slot. The lock of its slots guards it.
type load struct {
	waiting prometheus.Gauge
	// slowWaits observes the waits of slow calls.
	waits, slowWaits prometheus.Observer

	log    logr.Logger
	api    string
	period time.Duration
	// isLate is true while calls wait longer than the period; lastLate is when one last did.
	isLate   bool
	lastLate time.Time
}

// loads holds the metrics of all APIs.
type loads struct {
	waiting *prometheus.GaugeVec
	waits   *prometheus.HistogramVec
}

func newLoads(registerer prometheus.Registerer) (*loads, error) {
	l := &loads{
		waiting: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "plimsoll_metrics_api_waiting_requests", Help: "Requests to a metrics API that wait for one of its slots.",
		}, []string{"api"}),
		waits: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "plimsoll_metrics_api_wait_seconds", Buckets: []float64{0.01, 0.1, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300},
			Help: "How long requests to a metrics API waited for a slot. Those that were slow the last time, which share a " +
				"quarter of the slots, have the label slow=\"true\".",
		}, []string{"api", "slow"}),
	}
	if registerer == nil {
		return l, nil
	}
	return l, errors.Join(series.Register(registerer, &l.waiting), series.Register(registerer, &l.waits))
}

func (l *loads) of(api string, cfg *Config) *load {
	return &load{
		waiting: l.waiting.WithLabelValues(api), waits: l.waits.WithLabelValues(api, "false"),
		slowWaits: l.waits.WithLabelValues(api, "true"),
		log:       cfg.Log, api: api, period: cfg.Period,
	}
}

// note records how long a call waited. Where calls wait longer than the period in which each object makes one, the API
// is too slow: objects are read, and decided, less often. This is logged when it begins and when it ends. Slow calls do
// not count: their waits result from their own limit.
func (l *load) note(now time.Time, waited time.Duration, isSlow bool) {
	if isSlow {
		l.slowWaits.Observe(waited.Seconds())
		return
	}
	l.waits.Observe(waited.Seconds())
	switch {
	case l.period == 0:
	case waited > l.period:
		if !l.isLate {
			l.log.Info("metrics API is too slow: its metrics are requested less often", "api", l.api,
				"syncPeriod", l.period.String(), "waited", waited.Round(time.Second).String())
		}
		l.isLate, l.lastLate = true, now
	case l.isLate && now.Sub(l.lastLate) > 2*l.period:
		l.isLate = false
		l.log.Info("metrics API is requested each sync period again", "api", l.api)
	}
}
