package updater

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	vpav1 "github.com/plimsoll-dev/plimsoll/api/autoscaling/v1"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/disruption"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/update"
	snapshotvertical "github.com/plimsoll-dev/plimsoll/internal/snapshot/vertical"
)

// TestUpdaterState: it has the result of the last pass for each pod that should be changed, and the history, but
// nothing about a deleted object or one that no pass has decided.
func TestUpdaterState(t *testing.T) {
	r := newRig(t, nil, "web", "api")
	web := types.NamespacedName{Namespace: namespace, Name: "web"}
	if u := r.UpdaterState(web); u != nil {
		t.Errorf("before the first pass %+v is remembered", u)
	}
	r.refuse = func(string) error { return apierrors.NewTooManyRequests("no", 10) }
	r.passOnce()
	u := r.UpdaterState(web)
	if u == nil || u.Time.IsZero() || u.Interval.Duration <= 0 || u.State.Version != update.StateVersion || u.LeaseStale {
		t.Fatalf("remembered is %+v", u)
	}
	for _, pod := range u.Pods {
		if pod.Action != "nothing" || pod.Reason == "" || pod.BlockedBy != "PodDisruptionBudget" || pod.UID == "" {
			t.Errorf("of a pod %+v is remembered", pod)
		}
	}
	if len(u.Pods) == 0 {
		t.Error("nothing is remembered of the pods")
	}
	if _, err := json.Marshal(u); err != nil {
		t.Error(err)
	}
	r.passes.results.record(time.Now(), nil, func(types.UID) bool { return false })
	if u := r.UpdaterState(web); u != nil {
		t.Errorf("of an object that is gone %+v is remembered", u)
	}
}

// TestUpdaterStateOfEvictions: it has the actions, and the next pass does not change a returned state.
func TestUpdaterStateOfEvictions(t *testing.T) {
	r := newRig(t, nil, "web")
	r.passOnce()
	u := r.UpdaterState(types.NamespacedName{Namespace: namespace, Name: "web"})
	if u == nil || !slices.ContainsFunc(u.Pods, func(p snapshotvertical.PodVerdict) bool { return p.Action == "evict" }) ||
		u.State.Circuit.EvictedTo.IsZero() {
		t.Fatalf("remembered is %+v", u)
	}
	before := u.State.Circuit
	r.passOnce()
	if u.State.Circuit.EvictedTo != before.EvictedTo {
		t.Error("the state of the earlier pass has changed")
	}
}

// TestUpdaterStateOfTheCluster: it has the reason why nothing is evicted in the whole cluster, the number of pods that
// may still be evicted once the next pass begins, and whether pods cannot be created.
func TestUpdaterStateOfTheCluster(t *testing.T) {
	r := newRig(t, func(c *Config) {
		c.Defaults.Divergences, c.MaxEvictionPercent, c.MaxEvictionWindow = allAtOnce, 10, time.Hour
	}, names(3)...)
	object := types.NamespacedName{Namespace: namespace, Name: "web00"}
	r.passOnce()
	u := r.UpdaterState(object)
	if u == nil || u.EvictionsStopped != "" || u.EvictionsLeft == nil || *u.EvictionsLeft != 4 || u.FailedCreate {
		t.Fatalf("after six evictions of ten: %+v", u)
	}
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node"}}
	node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionFalse}}
	sets := r.cfg.Informers.Apps().V1().ReplicaSets().Informer().GetStore()
	stored, _, _ := sets.GetByKey(namespace + "/web00-1")
	set := stored.(*appsv1.ReplicaSet).DeepCopy()
	set.Status.Conditions = []appsv1.ReplicaSetCondition{{Type: appsv1.ReplicaSetReplicaFailure,
		Status: corev1.ConditionTrue, Reason: "FailedCreate"}}
	if err := errors.Join(r.cfg.Informers.Core().V1().Nodes().Informer().GetStore().Add(node),
		sets.Update(set)); err != nil {
		t.Fatal(err)
	}
	r.passes.actor.budget.left = disruption.ClusterBudget{}
	r.passOnce()
	if u := r.UpdaterState(object); u.EvictionsStopped != "NodesNotReady" || u.EvictionsLeft != nil || !u.FailedCreate {
		t.Errorf("of the cluster %q, %v are told, of refused pods %t", u.EvictionsStopped, u.EvictionsLeft, u.FailedCreate)
	}
}

// TestUpdaterStateOfUse: it has the use of containers of the pods that should be resized, as far as it is known.
func TestUpdaterStateOfUse(t *testing.T) {
	web := types.NamespacedName{Namespace: namespace, Name: "web"}
	use := map[string]vertical.Amounts{"app": vertical.Amounts{}.With(vertical.Memory, 5)}
	r := newRig(t, func(c *Config) {
		c.Resizes, c.Gates.InPlace = func() bool { return true }, true
		c.Used = func(context.Context, string, []string) map[string]map[string]vertical.Amounts {
			return map[string]map[string]vertical.Amounts{"web-1-a": use}
		}
	}, "web")
	found, _, err := r.cfg.Autoscalers.GetStore().GetByKey(web.String())
	if err != nil {
		t.Fatal(err)
	}
	found.(*vpav1.VerticalPodAutoscaler).Spec.UpdatePolicy.UpdateMode = ptr.To(vpav1.UpdateModeInPlace)
	r.passOnce()
	u := r.UpdaterState(web)
	if u == nil || len(u.Used) != 1 || !maps.Equal(u.Used["web-1-a"], use) {
		t.Errorf("remembered is %+v", u)
	}
}

// TestUpdaterStateOfStaleLease: it reports skipped passes for all objects, also for those that no pass has decided.
func TestUpdaterStateOfStaleLease(t *testing.T) {
	r := newRig(t, func(c *Config) { c.Lease.Timeout = time.Nanosecond }, "web")
	r.passOnce()
	u := r.UpdaterState(types.NamespacedName{Namespace: namespace, Name: "web"})
	if u == nil || !u.LeaseStale || !u.Time.IsZero() {
		t.Errorf("remembered is %+v", u)
	}
}
