package checkpoints

import (
	"sync"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	plimsollseries "github.com/plimsoll-dev/plimsoll/internal/series"
)

// The results of reading a checkpoint.
const (
	resultRestored   = "restored"
	resultForeign    = "foreign_uid"
	resultUnreadable = "unreadable"
	resultMisnamed   = "misnamed"
	resultEmpty      = "empty"
	resultTooMany    = "too_many"
	resultFuture     = "future"
	resultListFailed = "list_failed"
)

// The results of a write.
const (
	resultSuccess = "success"
	resultRefused = "refused"
	resultFailure = "failure"
)

// resultOversized is a result of both.
const resultOversized = "oversized"

type series struct{ reads, writes *prometheus.CounterVec }

func newSeries(registerer prometheus.Registerer) (*series, error) {
	counter := func(name, help string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{
			Namespace: "plimsoll", Subsystem: "autoscaler_checkpoint", Name: name, Help: help,
		}, []string{"result"})
	}
	s := &series{
		reads:  counter("reads_total", "AutoscalerCheckpoints read, by result."),
		writes: counter("writes_total", "Writes of AutoscalerCheckpoints, by result."),
	}
	if err := plimsollseries.Register(registerer, &s.reads); err != nil {
		return nil, err
	}
	if err := plimsollseries.Register(registerer, &s.writes); err != nil {
		return nil, err
	}
	for _, result := range []string{resultRestored, resultForeign, resultUnreadable, resultMisnamed, resultEmpty,
		resultTooMany, resultFuture, resultListFailed, resultOversized} {
		s.reads.WithLabelValues(result)
	}
	for _, result := range []string{resultSuccess, resultRefused, resultFailure, resultOversized} {
		s.writes.WithLabelValues(result)
	}
	return s, nil
}

func (s *series) read(result string)    { s.reads.WithLabelValues(result).Inc() }
func (s *series) written(result string) { s.writes.WithLabelValues(result).Inc() }

// problemLasts is the time without a recurrence after which a problem is logged again.
const problemLasts = 2 * savePeriod

// problems logs each problem once, and again only after problemLasts without it.
type problems struct {
	log logr.Logger

	// mu guards the following.
	mu sync.Mutex
	// last is the time of each kind's last occurrence.
	last map[string]time.Time
}

// note logs a problem if it is new. The number of kinds is small.
func (p *problems) note(kind string, err error, message string, keysAndValues ...any) {
	p.mu.Lock()
	now := time.Now()
	last, isKnown := p.last[kind]
	if p.last == nil {
		p.last = map[string]time.Time{}
	}
	p.last[kind] = now
	p.mu.Unlock()
	if isKnown && now.Sub(last) < problemLasts {
		return
	}
	if err != nil {
		keysAndValues = append(keysAndValues, "err", err)
	}
	p.log.Info(message, keysAndValues...)
}

// reasonOf returns the API server's reason of an error, or one for all others.
func reasonOf(err error) string {
	if reason := apierrors.ReasonForError(err); reason != metav1.StatusReasonUnknown {
		return string(reason)
	}
	return "failure"
}
