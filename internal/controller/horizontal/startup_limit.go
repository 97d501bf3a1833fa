package horizontal

import "errors"

// At the start no kubelet has been read twice, and each object would ask metrics.k8s.io
// at once. A few may, more would keep the API server from everything else.
const (
	earlyBurst     = 50
	earlyPerSecond = 20
)

// errTooEarly says that an object waits for the samples of its nodes.
var errTooEarly = errors.New("its kubelets' second samples are awaited")

// awaitsSamples reports whether an object whose nodes have not been read twice is to
// wait for that instead of asking metrics.k8s.io. It is decided as soon as the samples
// are there, and on what metrics.k8s.io says when its sync period is over without
// them: after half a sync period at least, and one at most.
func (c *Controller) awaitsSamples(p *pass) bool {
	if !c.config.Triggers || c.config.Shadow {
		return false
	}
	isTurn := p.asks && p.start.Sub(p.track.lastComplete) >= c.config.SyncPeriod/2
	return !isTurn && !c.early.AllowN(p.start, 1)
}
