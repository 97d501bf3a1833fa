package recommender

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/collect/kubelet/contention"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/recommend"
)

// A container is contended from the first share on, and no longer below the second,
// so that the condition does not flap.
const (
	contendedFrom  = 0.25
	contendedUntil = 0.1
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
		s.Contention = recommend.Contention{Throttled: shares.Throttled, Pressure: shares.Pressure}
	}
}

// contention says which containers do not get the CPU that they want; empty if none.
// A container without samples in this pass keeps what was said.
func (t *track) contention(samples []recommend.Sample) string {
	highest := map[string]recommend.Contention{}
	for i := range samples {
		s, c := &samples[i], highest[samples[i].Container]
		c.Throttled, c.Pressure = max(c.Throttled, s.Contention.Throttled), max(c.Pressure, s.Contention.Pressure)
		highest[s.Container] = c
	}
	for container, c := range highest {
		t.throttled = mark(t.throttled, container, hysteresis(t.throttled[container], c.Throttled))
		t.pressed = mark(t.pressed, container, hysteresis(t.pressed[container], c.Pressure))
	}
	var parts []string
	for _, why := range []struct {
		containers map[string]bool
		words      string
	}{{t.throttled, "its limit stops it in many of its CFS periods"}, {t.pressed, "its tasks wait for a CPU for much of the time"}} {
		for container := range why.containers {
			parts = append(parts, fmt.Sprintf("container %s wants more CPU than it gets: %s", container, why.words))
		}
	}
	slices.Sort(parts)
	return strings.Join(parts, "; ")
}

func hysteresis(was bool, share float64) bool {
	if was {
		return share >= contendedUntil
	}
	return share >= contendedFrom
}

// mark keeps only those that are.
func mark(all map[string]bool, container string, is bool) map[string]bool {
	if !is {
		delete(all, container)
		return all
	}
	if all == nil {
		all = map[string]bool{}
	}
	all[container] = true
	return all
}
