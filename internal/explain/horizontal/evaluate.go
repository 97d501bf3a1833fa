package horizontal

import (
	"fmt"

	plimsollv1alpha1 "github.com/plimsoll-dev/plimsoll/api/plimsoll/v1alpha1"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/divergence"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/statusreport"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/summary"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/trigger"
	"github.com/plimsoll-dev/plimsoll/internal/observe"
	observehorizontal "github.com/plimsoll-dev/plimsoll/internal/observe/horizontal"
	snapshothorizontal "github.com/plimsoll-dev/plimsoll/internal/snapshot/horizontal"
)

// Result is the decision of one step and its consequences.
type Result struct {
	Step        *snapshothorizontal.Step
	Policy      horizontal.Policy
	Observation horizontal.Observation
	Decision    horizontal.Decision
	Report      statusreport.Report
	// Sentence is the decision in one sentence.
	Sentence summary.Sentence
	// Status has the fields of the object's status after the decision that both kinds have.
	Status observehorizontal.Status
	Events []observehorizontal.Event
	// FollowUp has the next time at which a decision on a WorkloadAutoscaler may change although the metrics do not.
	FollowUp horizontal.FollowUp
	// IsHistoryUnknown is set if the history before the step is unknown.
	IsHistoryUnknown bool

	// earlier is the decision of an HPA's last step, which its status does not have.
	earlier *plimsollv1alpha1.ScaleDecision
}

// Evaluate decides the step. It consumes the state of the last step; the step's own state or history replaces it. The
// scale write succeeds at the step's time.
func Evaluate(
	step *snapshothorizontal.Step, previous horizontal.State, set divergence.Set,
) (Result, horizontal.State, error) {
	options := step.Snapshot.Options.Flags()
	options.Divergences = set
	r := &Result{Step: step, Policy: step.Policy(options)}
	var err error
	if r.Observation, err = step.Observe(&r.Policy); err != nil {
		return *r, previous, err
	}
	now := step.Snapshot.Time
	decision, state := horizontal.Decide(now, &r.Policy, step.StateBefore(previous, set), &r.Observation)
	r.Decision = decision.Clone()
	r.FollowUp = r.Decision.FollowUp(&state, &r.Observation, nil)
	outcome := horizontal.Outcome{At: now, Began: now}
	if decision.Rescale {
		state = horizontal.Settle(state, outcome)
	}
	in := r.input()
	in.State = &state
	r.Sentence = summary.Of(in)
	r.Report = statusreport.Of(&decision, outcome)
	r.Status = observehorizontal.StatusAfter(step.Autoscaler(), &decision, &r.Report, now)
	r.Events = observehorizontal.Events(&r.Report)
	return *r, state, nil
}

// input returns the input of a summary, without the history.
func (r *Result) input() summary.Input {
	a := r.Step.Autoscaler()
	var unread summary.UnreadNodes
	if s := r.Step.Snapshot.Samples; s != nil && s.Unread != nil {
		unread = summary.UnreadNodes{Nodes: s.Unread.Nodes, Error: s.Unread.Message}
	}
	return summary.Input{
		Decision: &r.Decision, Pods: r.Observation.Pods, IsHistoryUnknown: r.IsHistoryUnknown,
		LimitedSince: a.LimitedSince(), SyncPeriod: a.SyncPeriod(trigger.LoweringPeriod), TargetKind: a.Target().Kind,
		OtherWriter: a.OtherWriter(), Elsewhere: r.elsewhere(), ShownDesired: a.Counts().DesiredReplicas,
		ShownForecast: a.ForecastReplicas(), Unread: unread,
	}
}

// elsewhere returns the metrics that only the controller reads, where it is not the controller's decision, with the
// failures that the status has.
func (r *Result) elsewhere() map[int]string {
	if !r.IsHistoryUnknown {
		return nil
	}
	a, all := r.Step.Autoscaler(), map[int]string{}
	for i := range r.Decision.Metrics {
		if a.IsOwn(i) && r.Decision.Metrics[i].Pending {
			all[i] = a.FailureOf(i)
		}
	}
	return all
}

// Evaluator decides the steps of a stream and carries each object's history
// from step to step.
type Evaluator struct {
	divergences divergence.Set
	states      map[observe.Key]carried
}

type carried struct {
	uid      string
	state    horizontal.State
	decision *plimsollv1alpha1.ScaleDecision
}

// NewEvaluator returns an Evaluator without history, like a controller that has just started.
func NewEvaluator(set divergence.Set) *Evaluator {
	return &Evaluator{divergences: set, states: map[observe.Key]carried{}}
}

// Next decides the next step.
func (e *Evaluator) Next(step *snapshothorizontal.Step) (Result, error) {
	key := snapshothorizontal.KeyOf(step)
	before, known := e.states[key]
	a := step.Autoscaler()
	if !known || before.uid != string(a.UID) && e.divergences.Has(divergence.HistoryByUID) {
		before = carried{state: observehorizontal.FirstState(a)}
	}
	result, state, err := Evaluate(step, before.state, e.divergences)
	if err != nil {
		return result, fmt.Errorf("%s %s: %w", key.Kind, key.NamespacedName, err)
	}
	result.earlier = before.decision
	e.states[key] = carried{uid: string(a.UID), state: state, decision: result.scaleDecision()}
	return result, nil
}
