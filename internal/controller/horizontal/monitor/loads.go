package monitor

import (
	"math"
	"sync"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/behavior"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric"
	"github.com/plimsoll-dev/plimsoll/internal/loadhistory"
)

// Loads records what the load of an object was, and what its decisions made of it. Its zero value is empty.
type Loads struct {
	// mu guards what follows.
	mu      sync.Mutex
	history loadhistory.History
	// hasNew says that something was recorded, other than merged.
	hasNew bool
	// ready is how many pods were ready when they were last read.
	ready int32
}

// Add records a decision on an observation. One for which the scale could not be read says nothing.
func (r *Loads) Add(o *horizontal.Observation, d *horizontal.Decision) {
	if d.Branch == horizontal.BranchNoScale {
		return
	}
	p := loadhistory.Point{Load: math.NaN(), Wanted: d.Desired, Limit: limitOf(d)}
	if d.Load.IsKnown {
		p.Load, p.PerPodMilli = d.Load.Pods, float32(d.Load.PerPodMilli)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(o.Pods) > 0 || o.Target.StatusReplicas == 0 {
		r.ready = ready(o.Pods)
	}
	// A decision that needs no metrics reads no pods.
	p.Ready = r.ready
	r.history.Add(d.At, p)
	r.hasNew = true
}

// HasNew reports whether there is more than what was merged.
func (r *Loads) HasNew() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.hasNew
}

// Since is when the oldest point begins.
func (r *Loads) Since() (at time.Time, isAny bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.history.First()
}

// Reset forgets what was recorded: it was another object's.
func (r *Loads) Reset() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.history, r.hasNew = loadhistory.History{}, false
}

// Encode is the history as package loadhistory encodes it; nil if there is none.
func (r *Loads) Encode() ([]byte, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, isAny := r.history.First(); !isAny {
		return nil, nil
	}
	return r.history.AppendBinary(nil)
}

// Merge puts an encoded history before what was recorded since.
func (r *Loads) Merge(encoded []byte) error {
	var earlier loadhistory.History
	if err := earlier.UnmarshalBinary(encoded); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.history.Merge(&earlier)
	return nil
}

func ready(pods []metric.Pod) (n int32) {
	for i := range pods {
		if p := &pods[i]; p.Ready == metric.ReadyTrue && p.Phase == metric.PhaseRunning && !p.Deleting {
			n++
		}
	}
	return n
}

// limitOf is what limited the count last.
func limitOf(d *horizontal.Decision) loadhistory.Limit {
	switch d.Branch {
	case horizontal.BranchFailed:
		return loadhistory.MetricsFailed
	case horizontal.BranchPaused:
		return loadhistory.Paused
	case horizontal.BranchAboveMax:
		return loadhistory.TooManyReplicas
	case horizontal.BranchBelowMin:
		return loadhistory.TooFewReplicas
	case horizontal.BranchMetrics:
		return limitOfMetrics(d)
	}
	return loadhistory.None
}

func limitOfMetrics(d *horizontal.Decision) loadhistory.Limit {
	switch d.Limited.Reason {
	case behavior.TooFewReplicas:
		return loadhistory.TooFewReplicas
	case behavior.TooManyReplicas:
		return loadhistory.TooManyReplicas
	case behavior.ScaleUpLimit:
		return loadhistory.ScaleUpLimit
	case behavior.ScaleDownLimit:
		return loadhistory.ScaleDownLimit
	}
	switch d.Stabilized.Reason {
	case behavior.ScaleUpStabilized:
		return loadhistory.ScaleUpStabilized
	case behavior.ScaleDownStabilized:
		return loadhistory.ScaleDownStabilized
	}
	return loadhistory.None
}
