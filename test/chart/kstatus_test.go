package chart

import (
	"encoding/json"
	"testing"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"

	plimsollv1alpha1 "github.com/plimsoll-dev/plimsoll/api/plimsoll/v1alpha1"
	"github.com/plimsoll-dev/plimsoll/internal/decide/condition"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/mode"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/statusreport"
)

// TestKstatus: what helm --wait and Flux make of a WorkloadAutoscaler by kstatus, which both use.
func TestKstatus(t *testing.T) {
	able := condition.Condition{Type: statusreport.AbleToScale, Status: condition.True, Reason: "ReadyForNewScale"}
	active := condition.Condition{Type: statusreport.ScalingActive, Status: condition.True, Reason: "ValidMetricFound"}
	not := func(c condition.Condition, reason string) condition.Condition {
		c.Status, c.Reason = condition.False, reason
		return c
	}
	for name, c := range map[string]struct {
		conditions []condition.Condition
		mode       mode.Mode
		// decided is the generation that was decided on; the object's is 2. Before the first decision it is the default.
		decided int64
		want    status.Status
	}{
		"new":            {decided: -1, want: status.InProgressStatus},
		"edited":         {[]condition.Condition{able, active}, mode.Active, 1, status.InProgressStatus},
		"fine":           {[]condition.Condition{able, active}, mode.Active, 2, status.CurrentStatus},
		"paused":         {[]condition.Condition{able, active}, mode.Paused, 2, status.CurrentStatus},
		"a preview":      {[]condition.Condition{able, active}, mode.Preview, 2, status.CurrentStatus},
		"switched off":   {[]condition.Condition{able, not(active, "ScalingDisabled")}, mode.Active, 2, status.CurrentStatus},
		"without values": {[]condition.Condition{able}, mode.Active, 2, status.InProgressStatus},
		"failing":        {[]condition.Condition{able, not(active, "FailedGetResourceMetric")}, mode.Active, 2, status.InProgressStatus},
		"without target": {[]condition.Condition{not(able, "FailedGetScale")}, mode.Active, 2, status.InProgressStatus},
		"beside another": {[]condition.Condition{not(able, statusreport.AnotherAutoscaler)}, mode.Active, 2, status.InProgressStatus},
		"invalid":        {[]condition.Condition{not(able, statusreport.InvalidSpec)}, mode.Active, 2, status.FailedStatus},
	} {
		object := plimsollv1alpha1.WorkloadAutoscaler{
			TypeMeta:   metav1.TypeMeta{APIVersion: plimsollv1alpha1.SchemeGroupVersion.String(), Kind: plimsollv1alpha1.Kind},
			ObjectMeta: metav1.ObjectMeta{Name: "web", Generation: 2},
			Status:     plimsollv1alpha1.WorkloadAutoscalerStatus{ObservedGeneration: ptr.To(c.decided)},
		}
		if len(c.conditions) > 0 {
			for _, shown := range append(statusreport.Overall(c.conditions, c.mode, "Stays at 3."), c.conditions...) {
				object.Status.Conditions = append(object.Status.Conditions, metav1.Condition{
					Type: shown.Type, Status: metav1.ConditionStatus(shown.Status), Reason: shown.Reason, Message: shown.Message,
				})
			}
		}
		got, err := status.Compute(asUnstructured(t, &object))
		if err != nil || got.Status != c.want {
			t.Errorf("%s: %+v, %v; want %s", name, got, err, c.want)
		}
	}
}

func asUnstructured(t *testing.T, object any) *unstructured.Unstructured {
	t.Helper()
	text, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	u := &unstructured.Unstructured{}
	if err := json.Unmarshal(text, u); err != nil {
		t.Fatal(err)
	}
	return u
}
