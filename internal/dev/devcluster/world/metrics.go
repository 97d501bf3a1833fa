package world

import (
	"context"
	"net/netip"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/dev/devcluster/podmetrics"
)

// metrics are those of the pod with an address; false if there is no such pod that serves metrics, or before its first
// step.
//
// The model counts in steps. A counter that is read between two of them has grown evenly over the last step until now:
// otherwise a rate between two readings would be wrong by a whole step.
func (w *World) metrics(address netip.Addr, now time.Time) (podmetrics.Values, bool) {
	w.mu.RLock()
	defer w.mu.RUnlock()
	p := w.byAddress[address]
	if p == nil || !w.at.After(p.seenAt) {
		return podmetrics.Values{}, false
	}
	used := p.sim.Stats()
	left := max(0, w.step-max(0, now.Sub(w.at))).Seconds()
	return podmetrics.Values{
		ServedTotal:  max(0, used.ServedTotal-used.ServedPerSecond*left),
		DroppedTotal: used.DroppedTotal,
		CPUSeconds:   max(0, used.CPUSeconds-used.CPUMilli/1000*left),
		QueueLength:  used.QueueLength,
		MemoryBytes:  used.MemoryBytes,
		Began:        startOf(p.object, ""),
	}, true
}

// ServeMetrics serves /metrics of the pods with AnnotationMetrics. The caller closes the server.
func (w *World) ServeMetrics(ctx context.Context) (*podmetrics.Server, error) {
	return podmetrics.Serve(ctx, podmetrics.Config{Append: func(page []byte, address netip.Addr) ([]byte, bool) {
		values, isFound := w.metrics(address, time.Now())
		if !isFound {
			return page, false
		}
		return podmetrics.AppendPage(page, values), true
	}})
}

// setAddress makes a pod found by its address, if it serves metrics.
func (w *state) setAddress(p *pod) {
	var address netip.Addr
	if p.object.Annotations[AnnotationMetrics] == "true" {
		// An address that cannot be read is none.
		address, _ = netip.ParseAddr(p.object.Status.PodIP)
	}
	if address == p.address {
		return
	}
	w.removeAddress(p)
	if p.address = address; address.IsValid() {
		w.byAddress[address] = p
	}
}

// removeAddress leaves an address that another pod has since got.
func (w *state) removeAddress(p *pod) {
	if w.byAddress[p.address] == p {
		delete(w.byAddress, p.address)
	}
}
