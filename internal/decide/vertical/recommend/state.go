package recommend

import (
	"cmp"
	"slices"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/divergence"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/usage"
)

// collectEvery is how often aggregates without samples are looked for: upstream's
// interval.
const collectEvery = time.Hour

// State is the history of one object between decisions. It belongs to the
// object's UID, and its aggregates to the workload's containers by name.
//
// Upstream has an aggregate for each set of labels, and merges those of an object
// for each decision. The pods of one workload give the same samples either way,
// and a merge is their sum: the numbers are the same but for the order in which
// floating-point weights are added where pods have different labels, as during a
// rollout. Upstream's own order is that of a Go map.
type State struct {
	// Containers are sorted by name.
	Containers []Container
	// Decided is when the last decision was, Collected when old aggregates were last
	// looked for, and Written when the status was.
	Decided, Collected, Written vertical.Stamp
	// Absurd is when a sample was last discarded that no node could have produced.
	Absurd vertical.Stamp
	// Lost is when history was found to be lost that Floor was recommended by.
	Lost  vertical.Stamp
	Floor []vertical.Recommendation
}

// Container is what is remembered of all containers of that name.
type Container struct {
	Name  string
	Usage usage.Container
	// Present is set while a pod has one.
	Present bool
	// Damage is what is wrong with its checkpoint, until another is saved or none will be, and no floor is kept.
	Damage string
}

// Restore records the checkpoint of a container. If it is damaged, the error says
// so, and so will a condition; the container begins anew.
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

// Damaged notes a checkpoint that could not even be read.
func (s State) Damaged(container, why string) State {
	s.Containers = slices.Clone(s.Containers)
	s.container(container).Damage = why
	return s
}

// Checkpoint returns what is to be kept of the container, and whether that is anything.
func (s State) Checkpoint(p *Policy, container string, now time.Time) (saved usage.Checkpoint, ok bool) {
	i, found := s.find(container)
	if !found || !s.Containers[i].Usage.Exists() {
		return usage.Checkpoint{}, false
	}
	return s.Containers[i].Usage.Save(&p.Usage, now), true
}

// Changed lists the containers whose checkpoint would have something new.
func (s State) Changed() []string {
	var names []string
	for i := range s.Containers {
		if c := &s.Containers[i]; c.Usage.Changed && c.Usage.Exists() {
			names = append(names, c.Name)
		}
	}
	return names
}

// Outcome is what became of a decision.
type Outcome struct {
	// At is when it was made.
	At time.Time
	// Written is set if the status was.
	Written bool
	// Saved are the containers whose checkpoints were.
	Saved []string
}

// Settle notes what became of the decision, and forgets aggregates that have had
// no samples for too long: after they were recommended by, and saved, for the last
// time, as upstream does.
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
		var own vertical.ContainerPolicy // without the divergence, what it has already is meant
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

// isForGood: of what is gone no checkpoint is ever saved, nor is any where there are none.
func (s *State) isForGood(c *Container) bool {
	return !c.Present && !c.Usage.Exists() || c.Damage == noCheckpoint && !s.Lost.IsZero()
}

// newest returns when any last sample was, not after now: a clock ahead, or a workload without pods, drops nothing.
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

// container returns the one of that name, made if there is none. s.Containers must be the caller's own.
func (s *State) container(name string) *Container {
	i, found := s.find(name)
	if !found {
		s.Containers = slices.Insert(s.Containers, i, Container{Name: name})
	}
	return &s.Containers[i]
}
