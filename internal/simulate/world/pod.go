package world

import (
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/simulate/meter"
	"github.com/plimsoll-dev/plimsoll/internal/workloadmodel"
)

// Pod is one of the workload's.
type Pod struct {
	Name string
	// Number is how many pods there were before it, Group whose kubelet is asked about it
	// together with others.
	Number, Group int
	// Created is when it was asked for; Placed, Running and Ready are when it was or will
	// be given a node, run and be ready. They mean something once IsPlaced.
	Created, Placed, Running, Ready time.Duration
	IsPlaced, IsRunning, IsReady    bool
	// Deleting says that it is to go, since DeletedAt.
	Deleting  bool
	DeletedAt time.Duration
	// drainedAt is since when nothing has waited in it; it means something once isDrained.
	drainedAt time.Duration
	isDrained bool
	// ClockOffset is how far the clock of its node is ahead.
	ClockOffset time.Duration
	// Containers are there once it runs, the one that serves first. Page is what the pod itself has answered.
	Containers []Container
	Page       meter.Meter

	node *node
	// model is the model of the container that serves.
	model *workloadmodel.Pod
}

// Stats returns the counters of the container that serves; false before it runs.
func (p *Pod) Stats() (workloadmodel.PodStats, bool) {
	if p.model == nil {
		return workloadmodel.PodStats{}, false
	}
	return p.model.Stats(), true
}

// SetProfile changes how a pod that runs behaves.
func (p *Pod) SetProfile(profile workloadmodel.Profile) {
	if p.model != nil {
		p.model.SetProfile(profile)
	}
}

// goesBefore is the order in which a ReplicaSet deletes pods, as far as it matters
// here: those that do not run, then those that are not ready, then the newest.
func (p *Pod) goesBefore(q *Pod) bool {
	if p.IsRunning != q.IsRunning {
		return !p.IsRunning
	}
	if p.IsReady != q.IsReady {
		return !p.IsReady
	}
	return p.Number > q.Number
}

// drain notes that nothing waits any more in a pod that is to go.
func (p *Pod) drain(now time.Duration) {
	if !p.isDrained && (p.model == nil || p.model.Stats().QueueLength <= 0) {
		p.isDrained, p.drainedAt = true, now
	}
}

// goesAt is when a pod that is to go is gone, as far as is known now. The kubelet runs its hook, then tells
// its program to stop, which finishes what waits and exits; what is left when the grace period is over is
// killed. A pod that does not run has nothing to stop.
func (p *Pod) goesAt(c *Config) time.Duration {
	switch {
	case p.model == nil:
		return p.DeletedAt
	case !p.isDrained:
		return p.DeletedAt + c.Grace
	}
	return min(p.DeletedAt+c.Grace, max(p.DeletedAt+c.PreStop, p.drainedAt)+c.StopAfter)
}
