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

// Inspector receives a decision: with all that it is made of, for plimsoll evaluate to decide
// alike, and with the decision, which is good until the inspector returns. The worker waits for
// it, so it takes no time and makes no calls.
type Inspector func(step *snapshothorizontal.Step, d *horizontal.Decision)

// inspectors are those of all HPAs. An HPA without one costs nothing.
type inspectors struct {
	options observehorizontal.Options
	// looksForConflicts says that observations have conflicts with vertical autoscalers.
	looksForConflicts bool
	// count is how many there are.
	count atomic.Int32

	// mu guards what follows.
	mu    sync.Mutex
	byHPA map[observe.Key][]*Inspector
}

func newInspectors(cfg *Config) *inspectors {
	return &inspectors{
		options: cfg.Options, looksForConflicts: cfg.Conflict != nil, byHPA: map[observe.Key][]*Inspector{},
	}
}

// add has an inspector receive each decision on an HPA until it is stopped.
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

// of is a copy: inspectors come and go meanwhile.
func (s *inspectors) of(key observe.Key) []*Inspector {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.byHPA[key])
}

// prepare makes what the inspectors of the decision will receive, before the state goes into it;
// nil if there are none.
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

// send hands the decision to its inspectors.
func (s *inspectors) send(p *pass, step *snapshothorizontal.Step, d *horizontal.Decision) {
	if step == nil {
		return
	}
	step.Snapshot.Time = d.At
	for _, inspector := range s.of(p.autoscaler.Key()) {
		(*inspector)(step, d)
	}
}
