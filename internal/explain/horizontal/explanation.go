package horizontal

import (
	"fmt"
	"strings"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/behavior"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/divergence"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/projection"
	"github.com/plimsoll-dev/plimsoll/internal/explain/historybounds"
	observehorizontal "github.com/plimsoll-dev/plimsoll/internal/observe/horizontal"
	snapshothorizontal "github.com/plimsoll-dev/plimsoll/internal/snapshot/horizontal"
)

// Explanation has the reasons of the next decision, and the changes after it.
type Explanation struct {
	Forecast
	// Controller is the one that decides on the object, as far as the API shows it.
	Controller Controller
	// KnowsHistory is set if the controller's own history was available.
	KnowsHistory bool
	// NoHistory is why it was not.
	NoHistory string
	// Period is the longest time between two decisions on the object.
	Period time.Duration
	Limit  projection.Limit
	// Uses has the used parts of the rate policies; none without the history.
	Uses       []behavior.Use
	Projection projection.Projection
	// Older describes where the cluster's version of Kubernetes differs for an HPA.
	Older []string
}

// Controller is the program that decides on an HPA.
type Controller string

// The controllers.
const (
	Plimsoll Controller = "plimsoll"
	Upstream Controller = "kube-controller-manager"
	// Undecided is an unknown controller: the status of the HPA has no writer in managedFields.
	Undecided Controller = ""
)

// ControllerOf returns the controller that decides on the object: for an HPA the one that wrote its status last. Only
// Plimsoll decides on WorkloadAutoscalers.
func ControllerOf(a observehorizontal.Autoscaler) Controller {
	switch by, _ := lastWriter(a); {
	case a.IsWorkload():
		return Plimsoll
	case by == "":
		return Undecided
	case by == string(Plimsoll), strings.HasPrefix(by, string(Plimsoll)+"/"):
		return Plimsoll
	}
	return Upstream
}

// NotExposed returns a text if another controller decides on the HPA, whose history cannot be read.
func NotExposed(a observehorizontal.Autoscaler) string {
	by, at := lastWriter(a)
	if by == "" {
		return string(Upstream) + " does not expose it"
	}
	return fmt.Sprintf("%s, which wrote the status at %s, does not expose it", by, at.UTC().Format(time.RFC3339))
}

// lastWriter returns the field manager that wrote the object's status last, and when; empty if none has.
func lastWriter(a observehorizontal.Autoscaler) (by string, at time.Time) {
	for i := range a.ManagedFields {
		f := &a.ManagedFields[i]
		if f.Subresource == "status" && f.Time != nil && !f.Time.Time.Before(at) {
			by, at = f.Manager, f.Time.Time
		}
	}
	return by, at
}

// Divergences returns those of the controller.
func (c Controller) Divergences() divergence.Set {
	if c == Plimsoll {
		return divergence.Default
	}
	return divergence.None
}

// Explain explains a step with a known state, saved by the controller.
func Explain(step *snapshothorizontal.Step, set divergence.Set, period time.Duration) (*Explanation, error) {
	result, after, err := Evaluate(step, horizontal.State{}, set)
	if err != nil {
		return nil, err
	}
	desired := result.Decision.Desired
	e := &Explanation{
		Forecast: Forecast{Result: result, Least: desired, Most: desired}, Period: period, KnowsHistory: true,
	}
	if step.Snapshot.State != nil {
		e.project(*step.Snapshot.State, after)
	} else {
		e.project(horizontal.State{}, after)
	}
	return e, nil
}

// WithoutHistory explains a step with the bounds of its history; why is the reason why its own is unknown.
func WithoutHistory(step *snapshothorizontal.Step, known *historybounds.Known, why string) (*Explanation, error) {
	forecast, err := ForecastOf(step, known)
	if err != nil {
		return nil, err
	}
	e := &Explanation{Forecast: forecast, Period: known.Period, NoHistory: why}
	// The fullest history shows how long the count may stay. Do not print its assumptions as facts.
	bounds := historybounds.Bounds(known, step.Snapshot.Time)
	before := bounds[min(1, len(bounds)-1)]
	_, after, err := Evaluate(step, before.Clone(), known.Divergences)
	if err != nil {
		return nil, err
	}
	e.project(before, after)
	return e, nil
}

// project sets the changes that follow from the decision and the states around it.
func (e *Explanation) project(before, after horizontal.State) {
	d := &e.Decision
	if e.Step.Autoscaler().IsWorkload() {
		// Only Plimsoll decides on these.
		e.Controller = Plimsoll
	}
	e.Limit = projection.BindingLimit(d)
	if e.KnowsHistory {
		e.Uses = projection.Uses(&e.Policy, &before, d)
	}
	e.Projection = projection.Project(&e.Policy, &after, d, e.Period)
}
