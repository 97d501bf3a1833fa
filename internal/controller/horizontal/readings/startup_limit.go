package readings

import (
	"errors"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/trigger"
)

// At the start no kubelet has been read twice, and each HPA would request metrics.k8s.io at once. The limiter admits a
// few: more would take the API server's capacity from all other requests.
const (
	EarlyBurst     = 50
	EarlyPerSecond = 20
)

// ErrTooEarly is returned for an HPA that waits for the samples of its nodes.
var ErrTooEarly = errors.New("waiting for the second scrape of its kubelets")

// awaitsSamples reports whether an HPA waits for the second scrape of its nodes instead of requesting metrics.k8s.io.
// It is decided as soon as the samples arrive, or on the values of metrics.k8s.io after half a sync period to one sync
// period without them.
func (r *Reader) awaitsSamples(d *Decision) bool {
	if !r.Triggers {
		return false
	}
	isDue := d.Trigger == trigger.Periodic && d.Start.Sub(d.Record.lastComplete) >= r.SyncPeriod/2
	return !isDue && !r.Early.AllowN(d.Start, 1)
}
