package recommender

import (
	"context"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/collect/kubelet/contention"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/cpucontention"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/recommend"
)

// watchContention asks once in an interval what containers did not get.
func (r *Recommender) watchContention(ctx context.Context) {
	ticker := time.NewTicker(r.config.Interval)
	defer ticker.Stop()
	failed := false
	for {
		shares, err := r.config.Contention(ctx)
		if err != nil && !failed && ctx.Err() == nil {
			r.log.Info("throttling and pressure of CPU are not seen everywhere", "why", err.Error())
		}
		failed = err != nil
		r.mu.Lock()
		r.contended = shares
		r.mu.Unlock()
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// addContention adds to the samples what their containers did not get.
func (r *Recommender) addContention(t *track, samples []recommend.Sample) {
	r.mu.Lock()
	contended := r.contended
	r.mu.Unlock()
	if len(contended) == 0 || len(samples) == 0 {
		return
	}
	names := map[string]string{}
	for _, pod := range r.pods.Pods(t.name) {
		names[pod.Whole.UID()] = pod.Name
	}
	for i := range samples {
		s := &samples[i]
		shares := contended[contention.Key{Namespace: t.name.Namespace, Pod: names[s.Pod], Container: s.Container}]
		s.Contention = cpucontention.Shares{Throttled: shares.Throttled, Pressure: shares.Pressure}
	}
}
