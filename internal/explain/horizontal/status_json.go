package horizontal

import (
	"bytes"
	"encoding/json"

	autoscalingv2 "k8s.io/api/autoscaling/v2"

	plimsollv1alpha1 "github.com/plimsoll-dev/plimsoll/api/plimsoll/v1alpha1"
	observehorizontal "github.com/plimsoll-dev/plimsoll/internal/observe/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/observe/horizontal/workloadstatus"
)

// StatusOutput is the status of the object after the decision, in the form of its kind.
type StatusOutput struct {
	// HorizontalPodAutoscalerStatus is that of an HPA.
	autoscalingv2.HorizontalPodAutoscalerStatus

	// LastScaleDecision is the decision in the form of KEP-6107, which HPAs do not have yet.
	LastScaleDecision *plimsollv1alpha1.ScaleDecision `json:"lastScaleDecision,omitempty"`

	// workload is the status of a WorkloadAutoscaler; nil for an HPA.
	workload *plimsollv1alpha1.WorkloadAutoscalerStatus
}

// ofHPA is a StatusOutput without its method.
type ofHPA StatusOutput

var _ json.Marshaler = StatusOutput{}

// MarshalJSON implements json.Marshaler.
func (s StatusOutput) MarshalJSON() ([]byte, error) {
	var status any = ofHPA(s)
	if s.workload != nil {
		status = s.workload
	}
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(status)
	return text.Bytes(), err
}

func (r *Result) statusOutput() StatusOutput {
	a := r.Step.Autoscaler()
	if a.IsWorkload() {
		status := workloadstatus.Of(a, &workloadstatus.Decided{
			Status: &r.Status, Policy: &r.Policy, Decision: &r.Decision, Next: r.FollowUp,
		})
		return StatusOutput{workload: &status}
	}
	return StatusOutput{
		HorizontalPodAutoscalerStatus: observehorizontal.StatusOfHPA(a.HPA, &r.Status),
		LastScaleDecision:             r.scaleDecision(),
	}
}

// scaleDecision returns the decision on an HPA in the form of KEP-6107, with the time of an earlier step whose decision
// means the same.
func (r *Result) scaleDecision() *plimsollv1alpha1.ScaleDecision {
	return workloadstatus.DecisionOf(&r.Decision, r.Step.Autoscaler().Generation, r.earlier)
}
