package horizontal_test

import (
	"context"
	"strings"
	"testing"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/plimsoll-dev/plimsoll/internal/controller/horizontal/horizontaltest"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/statusreport"
)

// ofKEDA returns the HPA that KEDA creates for a ScaledObject with the same target and metrics.
func ofKEDA(hpa *autoscalingv2.HorizontalPodAutoscaler) *autoscalingv2.HorizontalPodAutoscaler {
	hpa = hpa.DeepCopy()
	hpa.OwnerReferences = []metav1.OwnerReference{{
		APIVersion: "keda.sh/v1alpha1", Kind: "ScaledObject", Name: hpa.Name, UID: "so", Controller: ptr.To(true),
		BlockOwnerDeletion: ptr.To(true),
	}}
	hpa.Name, hpa.UID = "keda-hpa-"+hpa.Name, "keda"
	return hpa
}

// besideKEDA starts with a WorkloadAutoscaler that wants four replicas for a target that has two and an HPA of KEDA.
func (w *world) besideKEDA() (*horizontaltest.WorkloadAPI, *autoscalingv2.HorizontalPodAutoscaler) {
	api, hpa := w.Workloads(), horizontaltest.Externally(w.Web("web", 2))
	w.ExternalValue = func(context.Context) (int64, error) { return 400, nil }
	api.Put(horizontaltest.WorkloadOf(hpa))
	w.AddHPA(ofKEDA(hpa))
	w.Start(horizontaltest.InAuto, api.Serve)
	return api, hpa
}

// TestKEDAsHPA: a WorkloadAutoscaler does not act while KEDA has an HPA for its target, names that HPA in its condition
// and an event, and acts when KEDA has deleted it. When its name changes, KEDA deletes and recreates it within a
// moment.
func TestKEDAsHPA(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		api, hpa := w.besideKEDA()
		wantsToYield := func() {
			t.Helper()
			got := horizontaltest.WorkloadCondition(api.Get("web"), "AbleToScale")
			if got.Reason != statusreport.AnotherAutoscaler || !strings.Contains(got.Message, "shop/keda-hpa-web") {
				t.Errorf("%v", got)
			}
			if why := api.Get("web").Status.Summary.Reason; why != "waits for HPA keda-hpa-web" {
				t.Errorf("WHY is %q", why)
			}
			w.WantReplicas("web", 2, "KEDA's HPA has the target")
		}
		w.Pass(horizontaltest.Period)
		wantsToYield()
		if !w.HasEvent("web Warning TargetHasAnotherAutoscaler: HorizontalPodAutoscaler shop/keda-hpa-web") {
			t.Errorf("events %q", w.Events)
		}
		w.DeleteHPA("keda-hpa-web")
		again := ofKEDA(hpa)
		again.UID = "keda-2"
		w.AddHPA(again)
		w.Pass(2 * horizontaltest.Period)
		wantsToYield()
		w.DeleteHPA("keda-hpa-web")
		w.Pass(horizontaltest.Period)
		w.WantReplicas("web", 4, "KEDA has deleted its HPA")
		if got := horizontaltest.WorkloadCondition(api.Get("web"), "AbleToScale"); got.Status != metav1.ConditionTrue {
			t.Errorf("%v", got)
		}
	})
}

// TestHPAThatComesDuringADecision: KEDA creates its HPA while a decision waits for a slow adapter. The decision is not
// carried out.
func TestHPAThatComesDuringADecision(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		api := w.Workloads()
		hpa := horizontaltest.Externally(w.Web("web", 2))
		w.ExternalValue = func(context.Context) (int64, error) { return 200, nil }
		api.Put(horizontaltest.WorkloadOf(hpa))
		w.Start(horizontaltest.InAuto, api.Serve)
		w.Pass(horizontaltest.Period)
		asked := make(chan struct{}, 100)
		w.Set(func() {
			w.ExternalValue = func(context.Context) (int64, error) {
				asked <- struct{}{}
				time.Sleep(2 * time.Second) //nolint:forbidigo // virtual time: a slow adapter
				return 1000, nil
			}
		})
		<-asked
		w.AddHPA(ofKEDA(hpa))
		w.Pass(horizontaltest.Period)
		if writes := w.ScaleWrites(); len(writes) != 0 {
			t.Errorf("scale writes %q", writes)
		}
		if got := horizontaltest.WorkloadCondition(api.Get("web"), "AbleToScale"); got.Reason != statusreport.AnotherAutoscaler {
			t.Errorf("%v", got)
		}
	})
}

// TestLastDecisionOfAnHPA: kube-controller-manager repeats the write of a decision that was in progress when its HPA
// was deleted. The WorkloadAutoscaler acts only after that, but without waiting for its sync period.
func TestLastDecisionOfAnHPA(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.besideKEDA()
		w.Pass(horizontaltest.Period)
		w.DeleteHPA("keda-hpa-web")
		w.Pass(2 * time.Second)
		w.WantReplicas("web", 2, "a decision on the HPA may be under way")
		w.Pass(2 * time.Second)
		w.WantReplicas("web", 4, "the HPA is gone")
	})
}
