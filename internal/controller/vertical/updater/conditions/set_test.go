package conditions

import (
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	vpav1 "github.com/plimsoll-dev/plimsoll/api/autoscaling/v1"
)

func TestSetKeepsTheOrder(t *testing.T) {
	status := &vpav1.VerticalPodAutoscalerStatus{Conditions: []vpav1.VerticalPodAutoscalerCondition{{Type: "A"},
		{Type: "Z"}}}
	first := vpav1.VerticalPodAutoscalerCondition{
		Type: "M", Status: "True", Reason: "R", LastTransitionTime: metav1.NewTime(time.Unix(1, 0)),
	}
	if !set(status, first) || set(status, first) {
		t.Error("a condition is not written once")
	}
	second := first
	second.Reason, second.LastTransitionTime = "Q", metav1.NewTime(time.Unix(2, 0))
	if !set(status, second) || status.Conditions[1].LastTransitionTime != first.LastTransitionTime {
		t.Error("a status that stays has another time")
	}
	if got := fmt.Sprint(status.Conditions[0].Type, status.Conditions[1].Type, status.Conditions[2].Type); got != "AMZ" {
		t.Error(got)
	}
}
