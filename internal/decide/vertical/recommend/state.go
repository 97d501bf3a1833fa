package recommend

import (
	"cmp"
	"slices"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/divergence"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/usage"
)

// collectEvery is upstream's interval between two searches for aggregates without samples.
const collectEvery = time.Hour

// State is the history of one object between decisions. It belongs to the object's UID, and its aggregates to the
// workload's containers by name.
//
// Upstream has an aggregate for each set of labels, and merges those of an object for each decision. The pods of one
// workload give the same samples either way, and a merge is their sum: the numbers are the same except for the order in
// which floating-point weights are added if pods have different labels, as during a rollout. Upstream's own order is
// that of a Go map.
type State struct {
	// Containers are sorted by name.
	Containers []Container
	// Decided is the time of the last decision, Collected that of the last search for old aggregates, and Written that of
	// the last status write.
	Decided, Collected, Written vertical.Stamp
	// Absurd is when an implausible sample was last discarded.
	Absurd vertical.Stamp
	// Lost is when the loss of the history behind Floor was found.
	Lost  vertical.Stamp
	Floor []vertical.Recommendation
}

// Container has the state of all containers of that name.
type Container struct {
	Name  string
	Usage usage.Container
	// Present is set while a pod has one.
	Present bool
	// Damage is the problem of its checkpoint, until another is saved or none will be, and no floor applies.
	Damage string
}

// Restore records the checkpoint of a container. If it is damaged, it returns an error, a condition will report it, and
// the container starts without history.
func (s State) Restore(p *Policy, container string, saved usage.Checkpoint, now time.Time) (State, error) {
	s.Containers = slices.Clone(s.Containers)
	c := s.container(container)
	restored, err := usage.Restore(&p.Usage, saved, now)
	if err != nil {
		c.Damage = err.Error()
		return s, err
	}
	c.Usage, c.Damage = restored, ""
	return s, nil
}

// Damaged records a checkpoint that could not even be read.
func (s State) Damaged(container, why string) State {
	s.Containers = slices.Clone(s.Containers)
	s.container(container).Damage = why
	return s
}

// Checkpoint returns the checkpoint of the container; false if there is nothing to save.
func (s State) Checkpoint(p *Policy, container string, now time.Time) (saved usage.Checkpoint, ok bool) {
	i, found := s.find(container)
	if !found || !s.Containers[i].Usage.Exists() {
		return usage.Checkpoint{}, false
	}
	return s.Containers[i].Usage.Save(&p.Usage, now), true
}

// Changed lists the containers whose checkpoints have changed.
func (s State) Changed() []string {
	var names []string
	for i := range s.Containers {
		if c := &s.Containers[i]; c.Usage.Changed && c.Usage.Exists() {
			names = append(names, c.Name)
		}
	}
	return names
}

// Outcome is the outcome of a decision.
type Outcome struct {
	// At is when it was made.
	At time.Time
	// Written is set if the status was.
	Written bool
	// Saved are the containers whose checkpoints were.
	Saved []string
}

// Settle records the outcome of the decision, and drops aggregates that have had no samples for too long: after they
// were used for a recommendation, and saved, for the last time, as upstream does.
func Settle(p *Policy, s State, o Outcome) State {
	s.Containers = slices.Clone(s.Containers)
	if o.Written {
		s.Written = vertical.StampOf(o.At)
	}
	for i := range s.Containers {
		c, saved := &s.Containers[i], slices.Contains(o.Saved, s.Containers[i].Name)
		c.Usage.Changed = c.Usage.Changed && !saved
		if (saved || s.isForGood(c)) && !s.keepsFloor(o.At) {
			c.Damage = ""
		}
	}
	if !s.Collected.IsZero() && o.At.Sub(s.Collected.Time()) < collectEvery {
		return s
	}
	s.Collected = vertical.StampOf(o.At)
	now := o.At
	if p.Has(divergence.SampleTime) {
		now = s.newest(now)
	}
	for i := range s.Containers {
		c := &s.Containers[i]
		var own vertical.ContainerPolicy // without the divergence, use its own settings
		if p.Has(divergence.ResetOverrides) {
			own = vertical.PolicyOf(p.Containers, c.Name)
		}
		policy := c.Usage.ApplyOverrides(p.Usage, own)
		c.Usage.Expire(&policy, now, c.Present)
	}
	s.Containers = slices.DeleteFunc(s.Containers, func(c Container) bool {
		return !c.Present && c.Damage == "" && c.Usage.IsForgotten()
	})
	return s
}

// isForGood reports whether no checkpoint of the container will be saved: it is gone, or there are no checkpoints.
func (s *State) isForGood(c *Container) bool {
	return !c.Present && !c.Usage.Exists() || c.Damage == noCheckpoint && !s.Lost.IsZero()
}

// newest returns the time of the newest sample, but not after now, so that a fast clock, or a workload without pods,
// drops nothing.
func (s *State) newest(now time.Time) time.Time {
	var last vertical.Stamp
	for i := range s.Containers {
		last = max(last, s.Containers[i].Usage.Newest())
	}
	return min(last, vertical.StampOf(now)).Time()
}

func (s *State) find(name string) (i int, found bool) {
	return slices.BinarySearchFunc(s.Containers, name,
		func(c Container, name string) int { return cmp.Compare(c.Name, name) })
}

// container returns the container of that name, which it adds if needed. s.Containers must be the caller's own.
func (s *State) container(name string) *Container {
	i, found := s.find(name)
	if !found {
		s.Containers = slices.Insert(s.Containers, i, Container{Name: name})
	}
	return &s.Containers[i]
}
