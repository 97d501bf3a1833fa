package sampling

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/plimsoll-dev/plimsoll/internal/collect/kubelet/contention"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/cpucontention"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/recommend"
)

// watchContention asks once in an interval what containers did not get.
func (s *Sampler) watchContention(ctx context.Context) {
	ticker := time.NewTicker(s.config.Interval)
	defer ticker.Stop()
	failed := false
	for {
		shares, err := s.config.Contention(ctx)
		if err != nil && !failed && ctx.Err() == nil {
			s.log.Info("throttling and pressure of CPU are not seen everywhere", "why", err.Error())
		}
		failed = err != nil
		s.mu.Lock()
		s.contended = shares
		s.mu.Unlock()
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// addContention adds to the samples what their containers did not get. The caller
// holds mu.
func (s *Sampler) addContention(name types.NamespacedName, samples []recommend.Sample) {
	if len(s.contended) == 0 || len(samples) == 0 {
		return
	}
	names := map[string]string{}
	for _, pod := range s.config.Pods.Pods(name) {
		names[pod.Whole.UID()] = pod.Name
	}
	for i := range samples {
		one := &samples[i]
		shares := s.contended[contention.Key{Namespace: name.Namespace, Pod: names[one.Pod], Container: one.Container}]
		one.Contention = cpucontention.Shares{Throttled: shares.Throttled, Pressure: shares.Pressure}
	}
}
