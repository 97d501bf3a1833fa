// Package explainer explains one autoscaler, of a live cluster or of a saved step. It finds out which controller
// decides, and where that controller's history is, and reads the inputs of a decision with the permissions of the user
// who runs explain.
package explainer

import (
	"time"

	verticaldivergence "github.com/plimsoll-dev/plimsoll/internal/decide/vertical/divergence"
	"github.com/plimsoll-dev/plimsoll/internal/explain/historybounds"
	explainhorizontal "github.com/plimsoll-dev/plimsoll/internal/explain/horizontal"
	explainvertical "github.com/plimsoll-dev/plimsoll/internal/explain/vertical"
	"github.com/plimsoll-dev/plimsoll/internal/snapshot"
	snapshothorizontal "github.com/plimsoll-dev/plimsoll/internal/snapshot/horizontal"
	snapshotvertical "github.com/plimsoll-dev/plimsoll/internal/snapshot/vertical"
)

// Auto determines the controller that decides.
const Auto explainhorizontal.Controller = "auto"

// Options are the user's.
type Options struct {
	// Controller is the one that decides, or Auto.
	Controller explainhorizontal.Controller
	// Period is its time between two decisions on objects without a period of their own.
	Period time.Duration
}

// periodOf returns the time between two decisions on the step's object.
func (o Options) periodOf(step *snapshothorizontal.Step) time.Duration {
	return step.Autoscaler().SyncPeriod(o.Period)
}

// SavedHorizontal explains a step of a file. A step that Plimsoll's controller did not save has no state.
func (o Options) SavedHorizontal(step *snapshothorizontal.Step) (*explainhorizontal.Explanation, error) {
	controller := explainhorizontal.ControllerOf(step.Autoscaler())
	switch {
	case step.Autoscaler().IsWorkload():
	case o.Controller != Auto:
		controller = o.Controller
	case step.Snapshot.State != nil:
		controller = explainhorizontal.Plimsoll
	}
	if step.Snapshot.State != nil || step.Snapshot.History != nil {
		e, err := explainhorizontal.Explain(step, controller.Divergences(), o.periodOf(step))
		if e != nil {
			e.Controller = controller
		}
		return e, err
	}
	return o.withoutHistory(step, controller, nil, "the file has none")
}

// SavedVertical explains a step of a file.
func (o Options) SavedVertical(step *snapshotvertical.Step) (*explainvertical.Explanation, error) {
	return explainvertical.Explain(step, o.verticalDivergences(step))
}

// withoutHistory explains a step whose history cannot be read, with the reason.
func (o Options) withoutHistory(
	step *snapshothorizontal.Step, controller explainhorizontal.Controller, rescales []historybounds.Rescale, why string,
) (*explainhorizontal.Explanation, error) {
	known := &historybounds.Known{
		Autoscaler: step.Autoscaler(), Rescales: rescales, Period: o.periodOf(step), Divergences: controller.Divergences(),
	}
	options := step.Snapshot.Options.Flags()
	options.Divergences = known.Divergences
	policy := step.Policy(options)
	known.Policy = &policy
	if step.Scale != nil {
		known.Current = step.Scale.Spec.Replicas
	}
	e, err := explainhorizontal.WithoutHistory(step, known, why)
	if e != nil {
		e.Controller = controller
	}
	if e != nil && controller == explainhorizontal.Plimsoll && e.Decision.Failed > 0 {
		e.NoHistory += "; the controller reads CPU and memory from the nodes, so a metric that fails here may work there"
	}
	return e, err
}

// verticalDivergences returns those of the controller that decides: the recorded ones, or those that follow from the
// writer of the status.
func (o Options) verticalDivergences(step *snapshotvertical.Step) verticaldivergence.Set {
	if o.Controller == explainhorizontal.Upstream {
		return verticaldivergence.None
	}
	if text := step.Snapshot.Annotations[snapshot.DivergencesAnnotation]; text != "" {
		if set, err := verticaldivergence.Parse(text); err == nil {
			return set
		}
	}
	if explainvertical.IsPlimsolls(step.Object) || o.Controller == explainhorizontal.Plimsoll {
		return verticaldivergence.Default
	}
	return verticaldivergence.None
}
