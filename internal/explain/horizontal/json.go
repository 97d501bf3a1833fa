package horizontal

import (
	"io"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/behavior"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/projection"
	"github.com/plimsoll-dev/plimsoll/internal/output"
	snapshothorizontal "github.com/plimsoll-dev/plimsoll/internal/snapshot/horizontal"
)

// Output is an explanation in JSON and YAML.
type Output struct {
	DecisionOutput `json:",inline"`
	// Controller is the one that decides, empty if it is unknown.
	Controller   Controller `json:"controller"`
	KnowsHistory bool       `json:"knowsHistory"`
	NoHistory    string     `json:"noHistory,omitempty"`
	// Least and Most bound the next decision's count; absent if the scale cannot be read.
	Least *int32 `json:"minDesiredReplicas,omitempty"`
	Most  *int32 `json:"maxDesiredReplicas,omitempty"`
	// LimitedBy is the limit that binds, by its name in the controller's metrics; unknown if it depends on an unknown
	// history.
	LimitedBy    string   `json:"limitedBy"`
	RatePolicies []Policy `json:"ratePolicies,omitempty"`
	// Steps come after the next decision if the load stays.
	Steps []Step `json:"steps,omitempty"`
	Final bool   `json:"final"`
	// ScaleDown is the earliest scale-down.
	ScaleDown *ScaleDown `json:"scaleDown,omitempty"`
	// Older describes where the cluster's version of Kubernetes differs for an HPA.
	Older []string `json:"olderKubernetes,omitempty"`
}

// Policy is a rate policy and what it permits.
type Policy struct {
	Type          string `json:"type"`
	Value         int32  `json:"value"`
	PeriodSeconds int64  `json:"periodSeconds"`
	Direction     string `json:"direction"`
	Start         int32  `json:"replicasAtStart"`
	Permits       int32  `json:"permits"`
}

// Step is a future replica count.
type Step struct {
	Time     time.Time `json:"time"`
	Replicas int32     `json:"replicas"`
	Reason   string    `json:"reason"`
}

// ScaleDown is the earliest scale-down, and the recommendation that prevents an earlier
// one.
type ScaleDown struct {
	Time           time.Time                          `json:"time"`
	Recommendation *snapshothorizontal.Recommendation `json:"recommendation,omitempty"`
}

func (e *Explanation) output() Output {
	out := Output{
		DecisionOutput: e.Result.Output(), Controller: e.Controller, KnowsHistory: e.KnowsHistory, NoHistory: e.NoHistory,
		Least: e.known(e.Least), Most: e.known(e.Most), LimitedBy: e.Limit.Name(), Final: e.Projection.Settled,
		Older: e.Older,
	}
	out.Summary = e.Summary()
	if !e.IsCertain() {
		out.LimitedBy = "unknown"
	}
	for _, u := range e.Uses {
		policy := Policy{
			Type: "Pods", Value: u.Policy.Value, PeriodSeconds: int64(u.Policy.Period.Seconds()), Direction: "scaleDown",
			Start: u.Start, Permits: u.Permits,
		}
		if u.Policy.Type == behavior.RatePercent {
			policy.Type = "Percent"
		}
		if u.Up {
			policy.Direction = "scaleUp"
		}
		out.RatePolicies = append(out.RatePolicies, policy)
	}
	for _, s := range e.Projection.Steps {
		out.Steps = append(out.Steps, Step{Time: s.At, Replicas: s.Replicas, Reason: s.Limited.Reason.String()})
	}
	out.ScaleDown = scaleDownOf(e.Projection.Lower)
	if out.ScaleDown != nil && !e.KnowsHistory && !e.isLoweredByItself() {
		out.ScaleDown.Recommendation = nil
	}
	return out
}

func scaleDownOf(s *projection.Step) *ScaleDown {
	if s == nil {
		return nil
	}
	lower := &ScaleDown{Time: s.At}
	if s.DelayedBy != nil && s.DelayedBy.Stabilized.Reason != behavior.ReadyForNewScale {
		by := s.DelayedBy.Stabilized.By
		lower.Recommendation = &snapshothorizontal.Recommendation{Time: by.Time, Replicas: by.Replicas}
	}
	return lower
}

// WriteJSON writes the explanation as one line of JSON.
func (e *Explanation) WriteJSON(w io.Writer) error { return output.JSONLine(w, e.output()) }

// WriteYAML writes it as a YAML document.
func (e *Explanation) WriteYAML(w io.Writer) error { return output.YAML(w, e.output()) }
