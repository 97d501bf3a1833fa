package podindex

import (
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/plimsoll-dev/plimsoll/internal/observe"
)

// sets are ReplicaSets by name, with their UIDs and those of their owners.
type sets map[string][2]types.UID

// OwnerOf implements Owners.
func (s sets) OwnerOf(_, replicaSet string) (of, owner observe.UID, ok bool) {
	set, ok := s[replicaSet]
	return observe.UIDOf(set[0]), observe.UIDOf(set[1]), ok
}

var now = time.Date(2026, 11, 23, 8, 0, 0, 0, time.UTC)

// ownedPod is a pod that another object controls.
func ownedPod(name, kind, owner string, uid types.UID) *corev1.Pod {
	yes := true
	p := pod(name, map[string]string{"app": "web"})
	p.CreationTimestamp = metav1.NewTime(now)
	if kind != "" {
		p.OwnerReferences = []metav1.OwnerReference{
			{APIVersion: "apps/v1", Kind: kind, Name: owner, UID: uid, Controller: &yes},
		}
	}
	return p
}

func names(x *Index, object observe.Key) (all []string) {
	for _, p := range x.Pods(object) {
		all = append(all, p.Name)
	}
	return all
}

// TestOwnPods: of the pods that a selector selects, only those count that the target controls, or one of its
// ReplicaSets.
func TestOwnPods(t *testing.T) {
	known := sets{"web-old": {"o", "web"}, "web-new": {"n", "web"}, "batch-1": {"b", "batch"}, "alone": {"l", ""}}
	x := NewOwned(known)
	for _, p := range []*corev1.Pod{
		ownedPod("a", "ReplicaSet", "web-old", "o"), ownedPod("b", "ReplicaSet", "web-new", "n"),
		ownedPod("c", "ReplicaSet", "batch-1", "b"), ownedPod("d", "Job", "web", "j"), ownedPod("e", "", "", ""),
		ownedPod("f", "StatefulSet", "web", "web"), ownedPod("g", "ReplicaSet", "alone", "l"),
	} {
		x.Put(observe.PodOf(p))
	}
	all := SelectorOf(selector(t, "app=web"))
	web, batch, everything := object("web"), object("batch"), object("everything")
	for object, selector := range map[observe.Key]*Selector{web: all.OwnedBy("web"), batch: all.OwnedBy("batch")} {
		if both := x.Claim(object, selector, nil); both != "" {
			t.Errorf("%s: overlap %q", object, both)
		}
	}
	if got, want := names(x, web), []string{"a", "b", "f"}; !slices.Equal(got, want) {
		t.Errorf("web has %v, want %v", got, want)
	}
	if got, want := names(x, batch), []string{"c"}; !slices.Equal(got, want) {
		t.Errorf("batch has %v, want %v", got, want)
	}
	if x.IsUndetermined(web, now) {
		t.Error("undetermined, though all ReplicaSets are known")
	}
	// A selector by labels alone has all of them, and names another object.
	if both := x.Claim(everything, all, nil); both == "" || len(names(x, everything)) != 7 {
		t.Errorf("everything: overlap %q, pods %v", both, names(x, everything))
	}
	if both := x.Claim(web, all.OwnedBy("web"), nil); both != "" {
		t.Errorf("web: overlap %q with one that selects by labels", both)
	}
}

// TestOwnersThatChange: pods come before their ReplicaSet does.
func TestOwnersThatChange(t *testing.T) {
	known := sets{}
	x, web := NewOwned(known), object("web")
	x.Claim(web, SelectorOf(selector(t, "app=web")).OwnedBy("web"), nil)
	x.Put(observe.PodOf(ownedPod("a", "ReplicaSet", "web-1", "1")))
	if got := names(x, web); len(got) > 0 || !x.IsUndetermined(web, now) {
		t.Fatalf("pods %v, undetermined %v before the ReplicaSet is there", got, x.IsUndetermined(web, now))
	}
	if x.IsUndetermined(web, now.Add(undeterminedFor)) {
		t.Error("a pod waits for a ReplicaSet that never appears")
	}
	known["web-1"] = [2]types.UID{"another", "web"}
	if got := x.OwnerChanged("shop", "web-1", true); !slices.Equal(got, []observe.Key{web}) || !x.IsUndetermined(web, now) {
		t.Errorf("an earlier ReplicaSet of the name: reported %v", got)
	}
	known["web-1"] = [2]types.UID{"1", "web"}
	if got := x.OwnerChanged("shop", "web-2", true); len(got) > 0 {
		t.Errorf("another ReplicaSet: reported %v", got)
	}
	if got := x.OwnerChanged("shop", "web-1", true); !slices.Equal(got, []observe.Key{web}) {
		t.Errorf("its ReplicaSet: reported %v", got)
	}
	if got := names(x, web); !slices.Equal(got, []string{"a"}) || x.IsUndetermined(web, now) {
		t.Fatalf("pods %v, undetermined %v with the ReplicaSet", got, x.IsUndetermined(web, now))
	}
}

// TestOwnersThatLeave: pods and ReplicaSets get another controller, or none.
func TestOwnersThatLeave(t *testing.T) {
	known := sets{"web-1": {"1", "web"}}
	x, web := NewOwned(known), object("web")
	x.Claim(web, SelectorOf(selector(t, "app=web")).OwnedBy("web"), nil)
	x.Put(observe.PodOf(ownedPod("a", "ReplicaSet", "web-1", "1")))
	known["web-1"] = [2]types.UID{"1", "other"}
	if got := x.OwnerChanged("shop", "web-1", false); !slices.Equal(got, []observe.Key{web}) || len(names(x, web)) > 0 {
		t.Errorf("given to another: reported %v, pods %v", got, names(x, web))
	}
	x.Put(observe.PodOf(ownedPod("a", "StatefulSet", "web", "web")))
	if got := names(x, web); !slices.Equal(got, []string{"a"}) {
		t.Errorf("the target's own: pods %v", got)
	}
	x.Put(observe.PodOf(ownedPod("a", "", "", "")))
	x.Put(observe.PodOf(ownedPod("b", "ReplicaSet", "gone", "g")))
	if got := names(x, web); len(got) > 0 || !x.IsUndetermined(web, now) {
		t.Errorf("pods %v, undetermined %v", got, x.IsUndetermined(web, now))
	}
	x.Remove("shop", "b")
	if x.IsUndetermined(web, now) {
		t.Error("a pod that is gone is waited for")
	}
}
