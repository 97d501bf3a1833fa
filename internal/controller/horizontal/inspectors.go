package horizontal

import (
	"slices"
	"sync"
	"sync/atomic"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/observe"
	observehorizontal "github.com/plimsoll-dev/plimsoll/internal/observe/horizontal"
	snapshothorizontal "github.com/plimsoll-dev/plimsoll/internal/snapshot/horizontal"
)

// Inspector receives a decision and all its inputs, from which plimsoll evaluate decides the same. Both are valid until
// the inspector returns. The worker waits for it, so it takes no time and makes no calls.
type Inspector func(step *snapshothorizontal.Step, d *horizontal.Decision)

// inspectors has those of all HPAs. An HPA without one costs nothing.
type inspectors struct {
	options observehorizontal.Options
	// looksForConflicts is set if observations include conflicts with vertical autoscalers.
	looksForConflicts bool
	// count is the number of inspectors. It saves the lock while there are none.
	count atomic.Int32

	// mu guards the following.
	mu    sync.Mutex
	byHPA map[observe.Key][]*Inspector
}

func newInspectors(cfg *Config) *inspectors {
	return &inspectors{
		options: cfg.Options, looksForConflicts: cfg.Conflict != nil, byHPA: map[observe.Key][]*Inspector{},
	}
}

func (s *inspectors) add(key observe.Key, inspector Inspector) (stop func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	added := &inspector
	s.byHPA[key] = append(s.byHPA[key], added)
	s.count.Add(1)
	return func() { s.remove(key, added) }
}

func (s *inspectors) remove(key observe.Key, added *Inspector) {
	s.mu.Lock()
	defer s.mu.Unlock()
	left := slices.DeleteFunc(slices.Clone(s.byHPA[key]), func(i *Inspector) bool { return i == added })
	if len(left) == len(s.byHPA[key]) {
		return
	}
	s.count.Add(-1)
	if s.byHPA[key] = left; len(left) == 0 {
		delete(s.byHPA, key)
	}
}

// of returns a copy: inspectors may be added and removed meanwhile.
func (s *inspectors) of(key observe.Key) []*Inspector {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.byHPA[key])
}

// prepare copies the inputs for the inspectors of a decision, before Decide consumes the state; nil without inspectors.
func (s *inspectors) prepare(p *pass) *snapshothorizontal.Step {
	if s.count.Load() == 0 || len(s.of(p.autoscaler.Key())) == 0 {
		return nil
	}
	step := snapshothorizontal.Of(&snapshothorizontal.Live{
		Autoscaler: p.autoscaler, Scale: p.scale.Target.Scale, Pods: observe.APIPods(p.pods), Options: s.options,
		State:       &p.record.state,
		Observation: &p.observation, LooksForConflicts: s.looksForConflicts,
	})
	p.result.AddTo(step, &p.metrics)
	for i := range p.observation.Readings {
		if p.observation.Readings[i].Pending {
			step.Snapshot.Awaited = append(step.Snapshot.Awaited, i)
		}
	}
	return step
}

func (s *inspectors) send(p *pass, step *snapshothorizontal.Step, d *horizontal.Decision) {
	if step == nil {
		return
	}
	step.Snapshot.Time = d.At
	for _, inspector := range s.of(p.autoscaler.Key()) {
		(*inspector)(step, d)
	}
}
