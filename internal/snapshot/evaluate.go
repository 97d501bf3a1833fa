package snapshot

import (
	"fmt"
	"slices"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	"k8s.io/apimachinery/pkg/types"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/behavior"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/divergence"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/history"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/report"
	observehorizontal "github.com/plimsoll-dev/plimsoll/internal/observe/horizontal"
)

// Result is the decision of one step and what comes of it.
type Result struct {
	Step        *Step
	Policy      horizontal.Policy
	Observation horizontal.Observation
	Decision    horizontal.Decision
	Report      report.Report
	Status      autoscalingv2.HorizontalPodAutoscalerStatus
	Events      []observehorizontal.Event
	// NameAllPods lets WriteText name all the pods that are set aside, not the first
	// few.
	NameAllPods bool
}

// Evaluate decides the step. The state of the step before is consumed; the
// step's own state or history takes its place. The scale write succeeds at the
// step's time.
func Evaluate(step *Step, previous horizontal.State, set divergence.Set) (Result, horizontal.State, error) {
	options := step.Snapshot.Options.flags()
	options.Divergences = set
	r := &Result{Step: step, Policy: observehorizontal.Policy(step.HPA, options)}
	var err error
	if r.Observation, err = step.observe(&r.Policy); err != nil {
		return *r, previous, err
	}
	now := step.Snapshot.Time
	decision, state := horizontal.Decide(now, &r.Policy, step.state(previous, set), &r.Observation)
	r.Decision = decision.Clone()
	outcome := horizontal.Outcome{At: now}
	if decision.Rescale {
		state = horizontal.Settle(state, outcome)
	}
	r.Report = decision.Report(outcome)
	r.Status = observehorizontal.Status(step.HPA, &decision, &r.Report, now)
	r.Events = observehorizontal.Events(&r.Report)
	return *r, state, nil
}

// state is what the step remembers of earlier ones.
func (s *Step) state(previous horizontal.State, set divergence.Set) horizontal.State {
	switch {
	case s.Snapshot.State != nil:
		return s.Snapshot.State.Clone()
	case s.Snapshot.History != nil:
		return s.Snapshot.History.state(set)
	default:
		return previous
	}
}

func (h *History) state(set divergence.Set) horizontal.State {
	state := horizontal.State{Version: horizontal.StateVersion}
	recommendations := slices.Clone(h.Recommendations)
	slices.SortStableFunc(recommendations, func(a, b Recommendation) int { return a.Time.Compare(b.Time) })
	for _, r := range recommendations {
		behavior.Remember(&state.Recommendations, set, history.Recommendation{Time: r.Time, Replicas: r.Replicas}, time.Time{})
	}
	for _, e := range h.ScaleEvents {
		if e.Change > 0 {
			state.ScaleUps = append(state.ScaleUps, history.Change{Time: e.Time, Replicas: e.Change})
			if e.Time.After(state.LastScaleUp) {
				state.LastScaleUp = e.Time
			}
		} else {
			state.ScaleDowns = append(state.ScaleDowns, history.Change{Time: e.Time, Replicas: -e.Change})
		}
	}
	return state
}

// Evaluator decides the steps of a stream and carries each object's history
// from step to step.
type Evaluator struct {
	divergences divergence.Set
	states      map[types.NamespacedName]carried
}

type carried struct {
	uid   types.UID
	state horizontal.State
}

// NewEvaluator has no history yet, as a controller that has just started.
func NewEvaluator(set divergence.Set) *Evaluator {
	return &Evaluator{divergences: set, states: map[types.NamespacedName]carried{}}
}

// Next decides the next step.
func (e *Evaluator) Next(step *Step) (Result, error) {
	key := types.NamespacedName{Namespace: step.HPA.Namespace, Name: step.HPA.Name}
	before, known := e.states[key]
	if !known || before.uid != step.HPA.UID && e.divergences.Has(divergence.HistoryByUID) {
		before.state = observehorizontal.FirstState(step.HPA)
	}
	result, state, err := Evaluate(step, before.state, e.divergences)
	if err != nil {
		return result, fmt.Errorf("HorizontalPodAutoscaler %s: %w", key, err)
	}
	e.states[key] = carried{uid: step.HPA.UID, state: state}
	return result, nil
}
