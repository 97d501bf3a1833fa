package ownership

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	scaleclient "k8s.io/client-go/scale"
	"k8s.io/client-go/tools/cache"

	"github.com/plimsoll-dev/plimsoll/internal/kube/slim"
)

// world has two chains: a pod, its ReplicaSet, its Deployment; and a pod, its ReplicaSet, its Rollout, of which only
// the scale is known. Recipes have no scale.
type world struct {
	tree *Tree
	// autoscalers has VerticalPodAutoscalers, in tests that need them.
	autoscalers cache.SharedIndexInformer
	// mu guards the following.
	mu sync.Mutex
	// asked counts calls for scales; fail returns their error. While hangs is true of an object, its calls get no
	// response.
	asked int
	fail  error
	hangs func(kind, name string) bool
	// busy is the duration of calls for objects of the kinds Busy0 to Busy9.
	busy time.Duration
	// selector is the Rollout's.
	selector string
}

type scales struct {
	scaleclient.ScaleInterface
	*world
}

// Scales implements scaleclient.ScalesGetter.
func (w *world) Scales(string) scaleclient.ScaleInterface { return scales{world: w} }

// Get implements scaleclient.ScaleInterface.
func (s scales) Get(
	ctx context.Context, resource schema.GroupResource, name string, _ metav1.GetOptions,
) (*autoscalingv1.Scale, error) {
	s.mu.Lock()
	s.asked++
	fail, selector, hangs := s.fail, s.selector, s.hangs != nil && s.hangs(resource.Resource, name)
	s.mu.Unlock()
	if strings.HasPrefix(resource.Resource, "busy") {
		select {
		case <-time.After(s.busy):
		case <-ctx.Done():
		}
	}
	switch {
	case hangs:
		<-ctx.Done()
		return nil, ctx.Err()
	case fail != nil:
		return nil, fail
	case resource.Resource == "recipes":
		return nil, noScale(resource)
	case name != "roll":
		return nil, apierrors.NewNotFound(resource, name)
	}
	return &autoscalingv1.Scale{
		ObjectMeta: object("roll", "o1", nil), Status: autoscalingv1.ScaleStatus{Selector: selector},
	}, nil
}

// noScale is the API server's error for a kind without a scale.
func noScale(resource schema.GroupResource) error {
	return apierrors.NewGenericServerResponse(http.StatusNotFound, "get", resource, "x", "", 0, true)
}

func (w *world) set(change func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	change()
}

func (w *world) calls() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.asked
}

// inWorld runs a test in virtual time while the tree runs.
func inWorld(t *testing.T, w *world, test func(t *testing.T)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer synctest.Wait()
		defer cancel()
		w.start(ctx, t)
		go w.tree.Run(ctx)
		test(t)
	})
}

func (w *world) start(ctx context.Context, t *testing.T) {
	t.Helper()
	selector := &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}
	objects := []runtime.Object{
		&appsv1.Deployment{ObjectMeta: object("web", "d1", nil), Spec: appsv1.DeploymentSpec{Selector: selector}},
		&appsv1.ReplicaSet{
			ObjectMeta: object("web-1", "r1", owner("apps/v1", "Deployment", "web", "d1")),
			Spec:       appsv1.ReplicaSetSpec{Selector: selector},
		},
		&appsv1.ReplicaSet{ObjectMeta: object("roll-1", "r2", owner("example.com/v1", "Rollout", "roll", "o1"))},
		&appsv1.ReplicaSet{ObjectMeta: object("made-1", "r3", owner("example.com/v1", "Recipe", "cake", "c1"))},
		&batchv1.CronJob{ObjectMeta: object("night", "n1", nil)},
	}
	w.selector = "app=roll"
	mapper := meta.NewDefaultRESTMapper([]schema.GroupVersion{{Group: "example.com", Version: "v1"}})
	for _, kind := range []string{"Rollout", "Recipe"} {
		mapper.Add(schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: kind}, meta.RESTScopeNamespace)
	}
	for i := range 10 {
		mapper.Add(schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: fmt.Sprint("Busy", i)},
			meta.RESTScopeNamespace)
	}
	factory := informers.NewSharedInformerFactoryWithOptions(fake.NewClientset(objects...), 0,
		informers.WithTransform(slim.Transform))
	tree, err := New(Config{Informers: factory, Scales: w, Mapper: mapper, Autoscalers: w.autoscalers})
	if err != nil {
		t.Fatal(err)
	}
	w.tree = tree
	factory.Start(ctx.Done())
	if !cache.WaitForCacheSync(ctx.Done(), tree.HasSynced) {
		t.Fatal("caches were not filled")
	}
}

func pass(d time.Duration) {
	time.Sleep(d) //nolint:forbidigo // virtual time: Run has its turn
	synctest.Wait()
}

func object(name string, uid types.UID, owners []metav1.OwnerReference) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: "shop", Name: name, UID: uid, OwnerReferences: owners}
}

func owner(version, kind, name string, uid types.UID) []metav1.OwnerReference {
	yes := true
	return []metav1.OwnerReference{
		{APIVersion: "v1", Kind: "ConfigMap", Name: "looks on", UID: "x"}, // without Controller, which is a pointer
		{APIVersion: version, Kind: kind, Name: name, UID: uid, Controller: &yes},
	}
}

func pod(owners []metav1.OwnerReference) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: object("p", "p1", owners)}
}

func TestTopmost(t *testing.T) {
	w := &world{}
	inWorld(t, w, func(t *testing.T) {
		for why, c := range map[string]struct {
			pod   *corev1.Pod
			want  string
			none  bool
			error error
		}{
			"a Deployment above a ReplicaSet": {pod: pod(owner("apps/v1", "ReplicaSet", "web-1", "r1")),
				want: "Deployment shop/web"},
			"a kind that has a scale": {pod: pod(owner("apps/v1", "ReplicaSet", "roll-1", "r2")),
				want: "Rollout shop/roll"},
			"a kind without one is none": {pod: pod(owner("apps/v1", "ReplicaSet", "made-1", "r3")),
				want: "ReplicaSet shop/made-1"},
			"a kind that is not there is none": {pod: pod(owner("example.com/v1", "Rollout", "other", "o2")), none: true},
			"without an owner":                 {pod: pod(nil), none: true},
			"a node":                           {pod: pod(owner("v1", "Node", "n", "n")), none: true},
			"a ReplicaSet that is gone":        {pod: pod(owner("apps/v1", "ReplicaSet", "old", "r9")), error: ErrNotFound},
			"another ReplicaSet has taken its name": {pod: pod(owner("apps/v1", "ReplicaSet", "web-1", "r8")),
				error: ErrNotFound},
		} {
			_, _, _ = w.tree.TopmostKnown(c.pod)
			synctest.Wait()
			got, found, err := w.tree.TopmostKnown(c.pod)
			if !errors.Is(err, c.error) || err == nil && (found == c.none || found && got.String() != c.want) {
				t.Errorf("%s: %v, %t, %v; want %q, %v", why, got, found, err, c.want, c.error)
			}
		}
	})
}

func TestScalesAreRequestedOnce(t *testing.T) {
	w := &world{}
	inWorld(t, w, func(t *testing.T) {
		p := pod(owner("apps/v1", "ReplicaSet", "roll-1", "r2"))
		for range 3 {
			_, _, _ = w.tree.TopmostKnown(p)
			pass(checkPeriod)
		}
		if w.calls() != 1 {
			t.Errorf("three looks led to %d calls, want 1", w.calls())
		}
		w.set(func() { w.fail = apierrors.NewInternalError(errors.New("down")) })
		pass(renewal)
		if top, found, err := w.tree.TopmostKnown(p); !found || err != nil || top.Kind != "Rollout" {
			t.Errorf("while the API server has no answer: %v, %t, %v; want the last one", top, found, err)
		}
		if w.calls() != 2 {
			t.Errorf("an answer that is old led to %d calls in all, want 2", w.calls())
		}
	})
}

func TestTopmostKnownMakesNoCall(t *testing.T) {
	w := &world{}
	inWorld(t, w, func(t *testing.T) {
		if top, found, err := w.tree.TopmostKnown(pod(owner("apps/v1", "ReplicaSet", "web-1", "r1"))); !found || err != nil ||
			top.UID != "d1" {
			t.Errorf("a Deployment: %v, %t, %v", top, found, err)
		}
		w.set(func() { w.hangs = func(string, string) bool { return true } })
		p := pod(owner("apps/v1", "ReplicaSet", "roll-1", "r2"))
		if _, _, err := w.tree.TopmostKnown(p); !errors.Is(err, ErrUnknown) {
			t.Errorf("before the first call: %v, want %v", err, ErrUnknown)
		}
		w.set(func() { w.hangs = nil })
		pass(DefaultTimeout + retryAfter + 2*checkPeriod)
		if top, found, err := w.tree.TopmostKnown(p); !found || err != nil || top.UID != "o1" {
			t.Errorf("after Run asked: %v, %t, %v", top, found, err)
		}
		pass(2*unusedExpiry + 2*checkPeriod) // it is unused
		if w.tree.mu.Lock(); len(w.tree.asked) != 0 || len(w.tree.kinds) != 0 {
			t.Errorf("%d answers of %d kinds stay that are not used", len(w.tree.asked), len(w.tree.kinds))
		}
		w.tree.mu.Unlock()
	})
}

// await waits for the target of a reference.
func (w *world) await(ctx context.Context, refs ...*autoscalingv1.CrossVersionObjectReference) {
	w.tree.Await(ctx, func(yield func(string, *autoscalingv1.CrossVersionObjectReference) bool) {
		for _, ref := range refs {
			if !yield("shop", ref) {
				return
			}
		}
	})
}

func parentOf(target Target) string {
	if !target.HasParent {
		return ""
	}
	return target.Parent.String()
}

func TestTargetOf(t *testing.T) {
	w := &world{}
	inWorld(t, w, func(t *testing.T) {
		for why, c := range map[string]struct {
			ref      autoscalingv1.CrossVersionObjectReference
			selector string
			uid      types.UID
			parent   string
			error    error
			text     string
		}{
			"a Deployment":       {ref: ref("apps/v1", "Deployment", "web"), selector: "app=web", uid: "d1"},
			"without a version":  {ref: ref("", "Deployment", "web"), selector: "app=web", uid: "d1"},
			"of a wrong version": {ref: ref("v1", "Deployment", "web"), selector: "app=web", uid: "d1"},
			"that has a parent": {ref: ref("apps/v1", "ReplicaSet", "web-1"), selector: "app=web", uid: "r1",
				parent: "Deployment shop/web"},
			"with a scale":         {ref: ref("example.com/v1", "Rollout", "roll"), selector: "app=roll", uid: "o1"},
			"that selects nothing": {ref: ref("batch/v1", "CronJob", "night"), selector: "", uid: "n1"},
			"that is not there": {
				ref: ref("apps/v1", "Deployment", "none"), error: ErrNotFound, text: "Deployment shop/none does not exist",
			},
			"a scale that is not there": {ref: ref("example.com/v1", "Rollout", "none"), error: ErrNotFound},
			"of an unknown kind":        {ref: ref("example.com/v1", "Cake", "c"), error: ErrUnsupported},
			"a namesake of a known kind is asked for": {
				ref: ref("example.com/v1", "Deployment", "web"), error: ErrUnsupported,
			},
		} {
			w.await(t.Context(), &c.ref)
			got, err := w.tree.TargetOf("shop", &c.ref)
			switch {
			case !errors.Is(err, c.error), c.text != "" && (err == nil || err.Error() != c.text):
				t.Errorf("%s: %v, want %v %s", why, err, c.error, c.text)
			case err == nil && (got.Selector.String() != c.selector || got.UID != c.uid || parentOf(got) != c.parent):
				t.Errorf("%s: %+v, want %+v", why, got, c)
			}
		}
		if got, _ := w.tree.TargetOf("shop",
			&autoscalingv1.CrossVersionObjectReference{Kind: "CronJob", Name: "night"}); !got.Selector.Empty() {
			if _, selectable := got.Selector.Requirements(); selectable {
				t.Error("a workload without labels selects something")
			}
		}
		w.set(func() { w.fail = apierrors.NewTimeoutError("slow", 1) })
		again := ref("example.com/v1", "Rollout", "new")
		w.await(t.Context(), &again)
		if _, err := w.tree.TargetOf("shop", &again); !errors.Is(err, ErrUnknown) || errors.Is(err, ErrNotFound) ||
			errors.Is(err, errNotAsked) {
			t.Errorf("a call that times out: %v, want %v", err, ErrUnknown)
		}
	})
}

// A scale without a selector is requested again soon.
func TestSelectorThatComesLate(t *testing.T) {
	w := &world{}
	inWorld(t, w, func(t *testing.T) {
		roll := ref("example.com/v1", "Rollout", "roll")
		w.set(func() { w.selector = "" })
		w.await(t.Context(), &roll)
		if _, err := w.tree.TargetOf("shop", &roll); !errors.Is(err, ErrUnsupported) {
			t.Errorf("without a selector: %v", err)
		}
		w.set(func() { w.selector = "app=roll" })
		pass(retryAfter + checkPeriod)
		if got, err := w.tree.TargetOf("shop", &roll); err != nil || got.Selector.String() != "app=roll" {
			t.Errorf("once it has one: %v, %v", got, err)
		}
	})
}

func ref(version, kind, name string) autoscalingv1.CrossVersionObjectReference {
	return autoscalingv1.CrossVersionObjectReference{APIVersion: version, Kind: kind, Name: name}
}
