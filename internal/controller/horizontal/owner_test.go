package horizontal_test

import (
	"fmt"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	plimsollv1alpha1 "github.com/plimsoll-dev/plimsoll/api/plimsoll/v1alpha1"
	"github.com/plimsoll-dev/plimsoll/internal/controller/horizontal/horizontaltest"
)

var replicaSetResource = appsv1.SchemeGroupVersion.WithResource("replicasets")

func controlledBy(kind, name string, uid types.UID) []metav1.OwnerReference {
	yes := true
	return []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: kind, Name: name, UID: uid, Controller: &yes}}
}

// addSet adds a ReplicaSet of a Deployment.
func (w *world) addSet(name, deployment string) {
	w.Add(replicaSetResource, &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{
		Namespace: "shop", Name: name, UID: types.UID("set-" + name),
		OwnerReferences: controlledBy("Deployment", deployment, types.UID("deployment-"+deployment)),
	}})
}

// addOwned adds pods of a ReplicaSet. All have the labels of the Deployment web.
func (w *world) addOwned(set string, pods int) {
	for i := range pods {
		p := horizontaltest.Pod(fmt.Sprintf("%s-%d", set, i), map[string]string{"app": "web"})
		p.CreationTimestamp = metav1.Now()
		p.OwnerReferences = controlledBy("ReplicaSet", set, types.UID("set-"+set))
		w.Add(horizontaltest.PodResource, p)
	}
}

// adopt makes a ReplicaSet the owner of web's pods.
func (w *world) adopt(deployment, set string, pods int) {
	w.addSet(set, deployment)
	for i := range pods {
		w.ChangePod(fmt.Sprintf("%s-%d", deployment, i), func(p *corev1.Pod) {
			p.OwnerReferences = controlledBy("ReplicaSet", set, types.UID("set-"+set))
		})
	}
}

// TestOwnPodsAlone: two Deployments have the same selector. With selection by labels, each WorkloadAutoscaler has the
// pods of both, and neither acts. With selection by owner each has its own, and acts.
func TestOwnPodsAlone(t *testing.T) {
	for name, tt := range map[string]struct {
		strategy plimsollv1alpha1.SelectionStrategy
		reason   string
		replicas int32
	}{
		"by labels": {plimsollv1alpha1.SelectionStrategyLabelSelector, "AmbiguousSelector", 2},
		"by owner":  {plimsollv1alpha1.SelectionStrategyOwnerReference, "ValidMetricFound", 4},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				k := w.Kubelets("a")
				api := w.Workloads()
				for _, deployment := range []string{"web", "batch"} {
					object := horizontaltest.WorkloadOf(w.Web(deployment, 2))
					object.Spec.SelectionStrategy = tt.strategy
					api.Put(object)
					w.adopt(deployment, deployment+"-1", 2)
				}
				w.Onto("web", 2, "a")
				w.Onto("batch", 2, "a")
				batch := w.Deployment("batch")
				batch.Spec.Selector.MatchLabels = map[string]string{"app": "web"}
				w.Store(horizontaltest.DeploymentResource, batch)
				for i := range 2 {
					w.ChangePod(fmt.Sprintf("batch-%d", i), func(p *corev1.Pod) { p.Labels = map[string]string{"app": "web"} })
				}
				k.Of = func(pod string) int64 {
					if pod[:3] == "web" {
						return 200
					}
					return 100
				}
				w.Start(k.Direct, api.Serve)
				w.Pass(2 * horizontaltest.Period)
				if got := horizontaltest.WorkloadCondition(api.Get("web"), "ScalingActive"); got.Reason != tt.reason {
					t.Errorf("ScalingActive: %s, %s; want %s", got.Reason, got.Message, tt.reason)
				}
				// Of 200m requested, 50 % are wanted. Of all four, 75 % are used; of web's own 100 %, and of batch's 50 %.
				if got := w.Replicas("web"); got != tt.replicas {
					t.Errorf("web has %d replicas, want %d", got, tt.replicas)
				}
				if got := w.Replicas("batch"); got != 2 {
					t.Errorf("batch has %d replicas, want 2", got)
				}
			})
		})
	}
}

// TestOwnerNotKnownYet: pods whose ReplicaSet is not in the cache yet do not count as pods of another owner: there is
// no decision until the ReplicaSet arrives, or can no longer be expected.
func TestOwnerNotKnownYet(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		api := w.Workloads()
		object := horizontaltest.WorkloadOf(w.Web("web", 2))
		object.Spec.SelectionStrategy = plimsollv1alpha1.SelectionStrategyOwnerReference
		api.Put(object)
		w.adopt("web", "web-1", 2)
		w.Start(api.Serve)
		w.Pass(horizontaltest.Period)
		w.Set(func() { w.Usage = 200 })
		// A rollout whose pods arrive before their ReplicaSet.
		w.addOwned("web-2", 2)
		w.Pass(horizontaltest.Period)
		if writes := w.ScaleWrites(); len(writes) > 0 {
			t.Fatalf("scaled without the owner of two pods: %v", writes)
		}
		w.addSet("web-2", "web")
		w.Pass(horizontaltest.Period)
		// Old and new pods use twice the target. The count may double.
		if got := w.Replicas("web"); got != 4 {
			t.Errorf("%d replicas, want 4: %v", got, w.ScaleWrites())
		}
		w.addOwned("gone", 2)
		w.Pass(2 * horizontaltest.Period)
		if got := w.Replicas("web"); got != 4 {
			t.Errorf("%d replicas, want 4: %v", got, w.ScaleWrites())
		}
		w.Pass(4 * horizontaltest.Period)
		if got := w.Replicas("web"); got != 8 {
			t.Errorf("%d replicas, want 8 without the two of a ReplicaSet that never comes: %v", got, w.ScaleWrites())
		}
	})
}

// TestPreviewStopsNoOther: a WorkloadAutoscaler whose pods are an HPA's too reports that in mode Preview, and the HPA
// continues. In mode Active both stop.
func TestPreviewStopsNoOther(t *testing.T) {
	for mode, want := range map[plimsollv1alpha1.Mode]string{
		plimsollv1alpha1.ModePreview: "True ValidMetricFound", plimsollv1alpha1.ModeActive: "False AmbiguousSelector",
	} {
		t.Run(string(mode), func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				k, api := w.Kubelets("a"), w.Workloads()
				w.AddHPA(w.Web("web", 2))
				w.Onto("web", 2, "a")
				object := horizontaltest.WorkloadOf(w.Web("batch", 1))
				object.Spec.Mode = mode
				api.Put(object)
				batch := w.Deployment("batch")
				batch.Spec.Selector.MatchLabels = map[string]string{"app": "web"}
				w.Store(horizontaltest.DeploymentResource, batch)
				w.Start(k.Direct, api.Serve)
				w.Pass(2 * horizontaltest.Period)
				if got := w.Condition("web", "ScalingActive"); got != want {
					t.Errorf("the HPA shows %q, want %q", got, want)
				}
				if got := horizontaltest.WorkloadCondition(api.Get("batch"), "ScalingActive"); got.Reason != "AmbiguousSelector" {
					t.Errorf("the WorkloadAutoscaler shows %q", got.Reason)
				}
			})
		})
	}
}
