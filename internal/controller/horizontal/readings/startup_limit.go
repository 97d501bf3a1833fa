package readings

import (
	"errors"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/trigger"
)

// At the start no kubelet has been read twice, and each HPA would ask metrics.k8s.io at once. A few
// may. More would take the API server's capacity from all other requests.
const (
	EarlyBurst     = 50
	EarlyPerSecond = 20
)

// ErrTooEarly says that an HPA waits for the samples of its nodes.
var ErrTooEarly = errors.New("waiting for the second scrape of its kubelets")

// awaitsSamples reports whether an HPA whose nodes have not been read twice is to wait for that
// instead of asking metrics.k8s.io. It is decided as soon as the samples are there, and on the
// values of metrics.k8s.io when its sync period is over without them: after half a sync period at
// least, and one at most.
func (r *Reader) awaitsSamples(d *Decision) bool {
	if !r.Triggers {
		return false
	}
	isDue := d.Trigger == trigger.Periodic && d.Start.Sub(d.Record.lastComplete) >= r.SyncPeriod/2
	return !isDue && !r.Early.AllowN(d.Start, 1)
}
