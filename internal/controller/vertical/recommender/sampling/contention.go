package sampling

import (
	"context"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/types"

	"github.com/plimsoll-dev/plimsoll/internal/collect/kubelet/contention"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/cpucontention"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/recommend"
	"github.com/plimsoll-dev/plimsoll/internal/kube/podindex"
	"github.com/plimsoll-dev/plimsoll/internal/observe"
)

// Contention reads the throttling and pressure of CPU since the last call. The error is about the nodes that it cannot
// read, beside the values of the others.
type Contention = func(ctx context.Context) (contention.Seen, error)

// contended has the last values of Contention.
type contended struct {
	read Contention
	pods *podindex.Index
	log  logr.Logger

	mu   sync.Mutex
	seen contention.Seen // guarded by mu
}

func (c *contended) run(ctx context.Context, interval time.Duration) {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	failed := false
	for {
		seen, err := c.read(ctx)
		if err != nil && !failed && ctx.Err() == nil {
			c.log.Info("CPU throttling and pressure unavailable on some nodes", "err", err.Error())
		}
		failed = err != nil
		c.mu.Lock()
		c.seen = seen
		c.mu.Unlock()
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// addTo adds the throttling and pressure to the samples of an object's pods. IsKnown of a sample is false without a
// value.
func (c *contended) addTo(samples []recommend.Sample, name types.NamespacedName) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.seen) == 0 || len(samples) == 0 {
		return
	}
	pods := map[string]*observe.Pod{}
	for _, pod := range c.pods.Pods(observe.VPA(name)) {
		pods[pod.Whole.UID()] = pod
	}
	for i := range samples {
		one := &samples[i]
		pod := pods[one.Pod]
		if pod == nil {
			continue
		}
		key := contention.Key{Namespace: name.Namespace, Pod: pod.Name, Container: one.Container}
		shares, ok := c.seen.Of(pod.Node(), key)
		one.Contention = cpucontention.Shares{Throttled: shares.Throttled, Pressure: shares.Pressure, IsKnown: ok}
	}
}
