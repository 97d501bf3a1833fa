package own_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	plimsollv1alpha1 "github.com/plimsoll-dev/plimsoll/api/plimsoll/v1alpha1"
	controllerhorizontal "github.com/plimsoll-dev/plimsoll/internal/controller/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/controller/horizontal/horizontaltest"
	"github.com/plimsoll-dev/plimsoll/internal/kube/podindex"
	"github.com/plimsoll-dev/plimsoll/internal/kube/services"
	"github.com/plimsoll-dev/plimsoll/internal/observe"
)

var web = observe.WLA("shop", "web")

// gatewayPod adds a ready pod of a gateway.
func (w *world) gatewayPod(name string) {
	long := metav1.NewTime(time.Now().Add(-time.Hour))
	w.Add(horizontaltest.PodResource, &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, UID: types.UID(name),
			Labels: map[string]string{"app": "gateway"}},
		Status: corev1.PodStatus{Phase: corev1.PodRunning, PodIP: "10.9.0.1", StartTime: &long,
			Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: long}}},
	})
}

// ofGateway is web at so many replicas with 10 of a gateway's queue for each of them.
func (w *world) ofGateway(replicas int32) *plimsollv1alpha1.WorkloadAutoscaler {
	object := horizontaltest.Ownly(w.Web("web", replicas), ofPods)
	p := object.Spec.Metrics[0].PodEndpoint
	p.PodSelector = &plimsollv1alpha1.LabelSelector{MatchLabels: map[string]plimsollv1alpha1.LabelValue{"app": "gateway"}}
	p.ValueType = plimsollv1alpha1.GaugeValueType
	object.Spec.MinReplicas = ptr.To[int32](0)
	object.Spec.ScaleToZero = &plimsollv1alpha1.ScaleToZero{}
	plimsollv1alpha1.SetDefaults(&object.Spec)
	return object
}

// TestGatewayWakes: the queue of a gateway's pods wakes a target at zero within two seconds, scales it, and lets it go
// back to zero.
func TestGatewayWakes(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		api, o := w.Workloads(), w.OwnMetrics()
		w.gatewayPod("gateway-1")
		w.gatewayPod("gateway-2")
		api.Put(w.ofGateway(0))
		w.Start(api.Serve, horizontaltest.Rarely, o.Read)
		w.Pass(2 * time.Minute)
		w.WantReplicas("web", 0, "the queue is empty")
		o.Change(func() { o.OtherMilli = 500 })
		w.Pass(2 * time.Second)
		w.WantReplicas("web", 1, "one request waits")
		o.Change(func() { o.OtherMilli = 20_000 })
		w.Pass(time.Minute)
		w.WantReplicas("web", 4, "40 requests wait, 10 for each replica")
		o.Change(func() { o.OtherMilli = 0 })
		w.Pass(12 * time.Minute)
		w.WantReplicas("web", 0, "nothing waits for longer than windows and the cooldown")
		if m := api.Get("web").Status.Metrics; len(m) != 1 || m[0].Type != ofPods || m[0].Value == nil && m[0].AverageValue == nil {
			t.Errorf("%+v", m)
		}
	})
}

// TestGatewayComes: a gateway's first pod is followed at once, not only at the next sync period.
func TestGatewayComes(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		api, o := w.Workloads(), w.OwnMetrics()
		api.Put(w.ofGateway(0))
		o.OtherMilli = 5_000
		w.Start(api.Serve, horizontaltest.Rarely, o.Read)
		w.Pass(3*horizontaltest.Period + time.Second)
		w.WantReplicas("web", 0, "there is no gateway")
		got := horizontaltest.WorkloadCondition(api.Get("web"), "ScalingActive")
		if got.Status != metav1.ConditionFalse || !strings.Contains(got.Message, "no pod of the namespace matches podSelector app=gateway") {
			t.Errorf("%+v", got)
		}
		w.gatewayPod("gateway-1")
		w.Pass(3 * time.Second)
		w.WantReplicas("web", 1, "its first pod has 5 in its queue")
	})
}

// TestSilentGateway: while a gateway's pod does not answer, what the others have raises the count and does not lower it.
func TestSilentGateway(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		api, o := w.Workloads(), w.OwnMetrics()
		w.gatewayPod("gateway-1")
		w.gatewayPod("gateway-2")
		api.Put(w.ofGateway(4))
		o.OtherMilli = 20_000
		w.Start(api.Serve, horizontaltest.Rarely, o.Read)
		w.Pass(time.Minute)
		w.WantReplicas("web", 4, "10 for each replica")
		o.Change(func() { o.Broken["gateway-2"] = true })
		w.Pass(30 * time.Minute)
		w.WantReplicas("web", 4, "20 are known")
		got := horizontaltest.WorkloadCondition(api.Get("web"), "ScalingActive")
		if got.Status != metav1.ConditionFalse || !strings.Contains(got.Message, "1 of 2 pods have no value") {
			t.Errorf("%+v", got)
		}
		o.Change(func() { o.OtherMilli = 60_000 })
		w.Pass(time.Minute)
		w.WantReplicas("web", 6, "60 are known")
	})
}

// TestPodsBehindService: the selector of a Service is followed as it changes.
func TestPodsBehindService(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		api, o := w.Workloads(), w.OwnMetrics()
		w.gatewayPod("gateway-1")
		object := w.ofGateway(0)
		p := object.Spec.Metrics[0].PodEndpoint
		p.PodSelector, p.Service = nil, "front"
		api.Put(object)
		o.OtherMilli = 5_000
		selector, err := (*podindex.Selector)(nil), services.ErrAwaited
		w.Start(api.Serve, horizontaltest.Rarely, o.Read, func(c *controllerhorizontal.Config) {
			c.Own.ServiceSelector = func(string, string) (*podindex.Selector, error) {
				w.Mu.Lock()
				defer w.Mu.Unlock()
				return selector, err
			}
		})
		w.Pass(2 * horizontaltest.Period)
		got := horizontaltest.WorkloadCondition(api.Get("web"), "ScalingActive")
		if strings.HasPrefix(got.Reason, "FailedGet") {
			t.Errorf("Services are being listed: %+v", got)
		}
		w.Set(func() { selector, err = podindex.SelectorOf(labels.SelectorFromSet(labels.Set{"app": "gateway"})), nil })
		w.Pass(horizontaltest.Period + 2*time.Second)
		w.WantReplicas("web", 1, "the pod behind the Service has 5 in its queue")
		o.Change(func() {
			if !slices.ContainsFunc(o.Others[web], func(p *observe.Pod) bool { return p.Name == "gateway-1" }) {
				t.Errorf("%v are followed", o.Others[web])
			}
		})
		api.Remove("web")
		w.Pass(time.Second)
		o.Change(func() {
			if len(o.Others) > 0 {
				t.Errorf("%v are followed for a deleted object", o.Others)
			}
		})
	})
}
