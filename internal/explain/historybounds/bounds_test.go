package historybounds

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/divergence"
	observehorizontal "github.com/plimsoll-dev/plimsoll/internal/observe/horizontal"
)

var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

func event(reason, message string, after time.Duration) corev1.Event {
	return corev1.Event{Reason: reason, Message: message, LastTimestamp: metav1.NewTime(noon.Add(after))}
}

func TestRescales(t *testing.T) {
	got := Rescales([]corev1.Event{
		event("SuccessfulRescale", "New size: 7; reason: cpu resource utilization (percentage of request) above target",
			time.Minute),
		event("SuccessfulRescale", "New size: 3; reason: All metrics below target", 0),
		event("FailedRescale", "New size: 9; reason: ; error: no", 2*time.Minute),
		event("SuccessfulRescale", "another program's text", 3*time.Minute),
		event("SuccessfulRescale", "New size: 99999999999; reason: too much", 4*time.Minute),
		{Reason: "SuccessfulRescale", Message: "New size: 4; reason: x",
			EventTime: metav1.NewMicroTime(noon.Add(5 * time.Minute))},
	})
	want := []Rescale{{At: noon, To: 3}, {At: noon.Add(time.Minute), To: 7, IsWanted: true},
		{At: noon.Add(5 * time.Minute), To: 4}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// object returns an HPA whose last decision had this count.
func object(desired int32, able, limited string) *autoscalingv2.HorizontalPodAutoscaler {
	return &autoscalingv2.HorizontalPodAutoscaler{
		Spec: autoscalingv2.HorizontalPodAutoscalerSpec{MaxReplicas: 10},
		Status: autoscalingv2.HorizontalPodAutoscalerStatus{
			DesiredReplicas: desired,
			Conditions: []autoscalingv2.HorizontalPodAutoscalerCondition{
				{Type: autoscalingv2.ScalingActive, Reason: "ValidMetricFound"},
				{Type: autoscalingv2.AbleToScale, Reason: able},
				{Type: autoscalingv2.ScalingLimited, Reason: limited},
			},
		},
	}
}

// TestBounds checks the entries that are certainly in a window, and those that may be.
func TestBounds(t *testing.T) {
	const period = 15 * time.Second
	for why, c := range map[string]struct {
		known Known
		// sure and unsure are the largest recommendations of the last five minutes.
		sure, unsure int32
		histories    int
	}{
		"a decision without any limit recommended what it came to": {
			Known{Autoscaler: observehorizontal.HPA(object(4, "ReadyForNewScale", "DesiredWithinRange")), Current: 4}, 4, 4, 2,
		},
		"one that was held may have been held for the last time": {
			Known{Autoscaler: observehorizontal.HPA(object(4, "ScaleDownStabilized", "DesiredWithinRange")), Current: 4}, 0, 4, 2,
		},
		"a scale-up that events report was recommended then": {
			Known{
				Autoscaler: observehorizontal.HPA(object(6, "ScaleDownStabilized", "DesiredWithinRange")), Current: 6,
				Rescales: []Rescale{{At: noon.Add(-time.Hour), To: 3}, {At: noon.Add(-2 * time.Minute), To: 6}},
			}, 6, 6, 3,
		},
		"so was the only one, if a metric was above its target": {
			Known{
				Autoscaler: observehorizontal.HPA(object(6, "ScaleDownStabilized", "DesiredWithinRange")), Current: 6,
				Rescales: []Rescale{{At: noon.Add(-2 * time.Minute), To: 6, IsWanted: true}},
			}, 6, 6, 3,
		},
		"which way the only one went is not known otherwise": {
			Known{
				Autoscaler: observehorizontal.HPA(object(6, "ScaleDownStabilized", "DesiredWithinRange")), Current: 6,
				Rescales: []Rescale{{At: noon.Add(-2 * time.Minute), To: 6}},
			}, 0, 6, 3,
		},
		"an object that metrics never decided on has no history": {
			Known{Autoscaler: observehorizontal.HPA(&autoscalingv2.HorizontalPodAutoscaler{}), Current: 6}, 0, 0, 1,
		},
	} {
		c.known.Period, c.known.Divergences = period, divergence.Default
		bounds := Bounds(&c.known, noon)
		inside := func(at time.Time) bool { return at.After(noon.Add(-5 * time.Minute)) }
		highest := func(s *horizontal.State) int32 {
			r, _ := s.Recommendations.Highest(inside)
			return r.Replicas
		}
		if len(bounds) != c.histories {
			t.Errorf("%s: %d histories, want %d", why, len(bounds), c.histories)
			continue
		}
		if sure, unsure := highest(&bounds[0]), highest(&bounds[len(bounds)-1]); sure != c.sure || unsure != c.unsure {
			t.Errorf("%s: %d is certain and %d possible, want %d and %d", why, sure, unsure, c.sure, c.unsure)
		}
	}
}

// TestABudgetMayBeSpentEitherWay: the time of the oldest change is known, its size and direction are not.
func TestABudgetMayBeSpentEitherWay(t *testing.T) {
	hpa := object(4, "ReadyForNewScale", "DesiredWithinRange")
	at := metav1.NewTime(noon.Add(-20 * time.Second))
	hpa.Status.LastScaleTime = &at
	bounds := Bounds(&Known{
		Autoscaler: observehorizontal.HPA(hpa), Current: 4, Period: 15 * time.Second, Divergences: divergence.None,
	}, noon)
	if len(bounds) != 3 {
		t.Fatalf("%d histories, want 3", len(bounds))
	}
	spent := func(i int) (up, down int64) {
		return bounds[i].ScaleUps.Within(noon, time.Minute), bounds[i].ScaleDowns.Within(noon, time.Minute)
	}
	for i, want := range [][2]int64{{0, 0}, {14, 0}, {0, 14}} {
		if up, down := spent(i); up != want[0] || down != want[1] {
			t.Errorf("history %d has %d up and %d down in the last minute, want %v", i, up, down, want)
		}
	}
}
