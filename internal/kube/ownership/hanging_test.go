package ownership

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	vpav1 "github.com/plimsoll-dev/plimsoll/api/autoscaling/v1"
)

// ownedBy is a pod whose owner is of a custom kind.
func ownedBy(namespace, kind, name string) *corev1.Pod {
	p := pod(owner("example.com/v1", kind, name, ""))
	p.Namespace = namespace
	return p
}

// knownAfter returns the time until a pod's owner is known.
func (w *world) knownAfter(p *corev1.Pod) time.Duration {
	began := time.Now()
	for time.Since(began) < time.Hour {
		if _, found, err := w.tree.TopmostKnown(p); found && err == nil {
			break
		}
		pass(time.Second)
	}
	return time.Since(began)
}

// Objects that hang, of one kind or of ten, delay those of a healthy one by nothing,
// and a new object of their own kind by one call.
func TestHungOwnersDelayNoOthers(t *testing.T) {
	for why, c := range map[string]struct {
		hung string
		most time.Duration
	}{
		"another kind":  {"Recipe", 2 * time.Second},
		"the same kind": {"Rollout", DefaultTimeout + 2*time.Second},
	} {
		w := &world{hangs: func(_, name string) bool { return strings.HasPrefix(name, "hung") }}
		inWorld(t, w, func(t *testing.T) {
			for i := range 60 {
				_, _, _ = w.tree.TopmostKnown(ownedBy("shop", c.hung, fmt.Sprintf("hung-%d", i)))
			}
			pass(5 * time.Second)
			if after := w.knownAfter(ownedBy("shop", "Rollout", "roll")); after > c.most {
				t.Errorf("beside 60 that hang, of %s, an owner is known after %s", why, after)
			}
		})
	}
}

// Ten kinds with very many objects, of which each call takes long, have more calls than all slots. They delay an object
// of another kind by one call.
func TestBusyKindsDelayNoOthers(t *testing.T) {
	w := &world{busy: 2 * time.Second}
	inWorld(t, w, func(t *testing.T) {
		for i := range 5000 {
			_, _, _ = w.tree.TopmostKnown(ownedBy("shop", fmt.Sprint("Busy", i%10), fmt.Sprint("object-", i)))
		}
		pass(5 * time.Second)
		if after := w.knownAfter(ownedBy("shop", "Rollout", "roll")); after > w.busy+2*time.Second {
			t.Errorf("beside ten busy kinds, an owner is known after %s", after)
		}
	})
}

// Objects without a response are requested at growing intervals.
func TestHungOwnersAreRequestedSeldom(t *testing.T) {
	w := &world{hangs: func(string, string) bool { return true }}
	inWorld(t, w, func(t *testing.T) {
		p := ownedBy("shop", "Rollout", "hung")
		for range 60 {
			_, _, _ = w.tree.TopmostKnown(p)
			pass(time.Minute)
		}
		if n := w.calls(); n > 10 {
			t.Errorf("an object that hangs was asked for %d times in an hour", n)
		}
		w.set(func() { w.hangs = func(_, name string) bool { return name == "hung" } })
		if after := w.knownAfter(ownedBy("shop", "Rollout", "roll")); after > DefaultTimeout+2*time.Second {
			t.Errorf("another is known after %s once its kind answers", after)
		}
	})
}

// A kind without a scale is requested for one of its objects, not for each; one that gets a scale is found soon.
func TestKindWithoutScaleIsRequestedSeldom(t *testing.T) {
	w := &world{}
	inWorld(t, w, func(t *testing.T) {
		var all []*corev1.Pod
		for i := range 1000 {
			all = append(all, ownedBy("shop", "Recipe", fmt.Sprintf("run-%d", i)))
		}
		for range 10 {
			for _, p := range all {
				_, _, _ = w.tree.TopmostKnown(p)
			}
			pass(time.Minute)
		}
		if n := w.calls(); n > 10*(maxCallsPerKind+1) {
			t.Errorf("1000 owners of a kind without a scale led to %d calls in ten minutes", n)
		}
		// The kind is given a scale.
		w.set(func() { w.fail = errors.New("of another error") })
		pass(withoutScale + retryAfter + 2*checkPeriod)
		if _, _, err := w.tree.TopmostKnown(all[0]); !errors.Is(err, ErrUnknown) {
			t.Errorf("what the API server says now is not known: %v", err)
		}
	})
}

// Only objects that a VerticalPodAutoscaler could name are requested.
func TestOwnersWithoutVPAAreNotRequested(t *testing.T) {
	autoscalers := cache.NewSharedIndexInformer(&cache.ListWatch{}, &vpav1.VerticalPodAutoscaler{}, 0, cache.Indexers{})
	w := &world{autoscalers: autoscalers}
	inWorld(t, w, func(t *testing.T) {
		add := func(name string, ref autoscalingv1.CrossVersionObjectReference) {
			vpa := &vpav1.VerticalPodAutoscaler{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name}}
			vpa.Spec.TargetRef = &ref
			if err := autoscalers.GetStore().Add(vpa); err != nil {
				t.Fatal(err)
			}
		}
		add("web", ref("apps/v1", "Deployment", "web"))
		made := pod(owner("apps/v1", "ReplicaSet", "made-1", "r3"))
		for _, p := range []*corev1.Pod{ownedBy("shop", "Rollout", "roll"), ownedBy("elsewhere", "Rollout", "roll"), made} {
			_, _, err := w.tree.TopmostKnown(p)
			synctest.Wait()
			if err != nil || w.calls() != 0 {
				t.Errorf("%d calls and %v for an owner that no VerticalPodAutoscaler means", w.calls(), err)
			}
		}
		// The VPA should name the owner of this object instead.
		add("made", ref("apps/v1", "ReplicaSet", "made-1"))
		_, _, _ = w.tree.TopmostKnown(made)
		if synctest.Wait(); w.calls() != 1 {
			t.Errorf("%d calls for the owner of an object that is named", w.calls())
		}
		// Anything may be owned by the Rollout that is named.
		add("roll", ref("example.com/v1", "Rollout", "roll"))
		_, _, _ = w.tree.TopmostKnown(ownedBy("shop", "Rollout", "roll"))
		if synctest.Wait(); w.calls() != 2 {
			t.Errorf("%d calls for an owner of the kind that is named", w.calls())
		}
		_, _, _ = w.tree.TopmostKnown(ownedBy("elsewhere", "Rollout", "roll"))
		if synctest.Wait(); w.calls() != 2 {
			t.Errorf("%d calls for an owner in another namespace", w.calls())
		}
	})
}

// Targets that hang are waited for once, together, and not for long.
func TestAwaitIsBounded(t *testing.T) {
	w := &world{hangs: func(_, name string) bool { return strings.HasPrefix(name, "hung") }}
	inWorld(t, w, func(t *testing.T) {
		var refs []*autoscalingv1.CrossVersionObjectReference
		for i := range 60 {
			r := ref("example.com/v1", "Recipe", fmt.Sprintf("hung-%d", i))
			refs = append(refs, &r)
		}
		roll := ref("example.com/v1", "Rollout", "roll")
		refs = append(refs, &roll)
		began := time.Now()
		w.await(t.Context(), refs...)
		if took := time.Since(began); took > patience {
			t.Errorf("60 targets that hang were waited for %s", took)
		}
		if _, err := w.tree.TargetOf("shop", &roll); err != nil {
			t.Errorf("one beside them: %v", err)
		}
		pass(DefaultTimeout)
		began = time.Now()
		if w.await(t.Context(), refs...); time.Since(began) > 0 {
			t.Errorf("targets that hang were waited for %s again", time.Since(began))
		}
	})
}
