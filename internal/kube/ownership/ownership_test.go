package ownership

import (
	"context"
	"errors"
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
	scalefake "k8s.io/client-go/scale/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/cache"

	"github.com/plimsoll-dev/plimsoll/internal/kube/slim"
)

var rollouts = schema.GroupResource{Group: "example.com", Resource: "rollouts"}

// world has two chains: a pod, its ReplicaSet, its Deployment; and a pod, its
// ReplicaSet, its Rollout, of which only the scale is known.
type world struct {
	tree *Tree
	// asked counts calls for scales; fail answers them.
	asked int
	fail  error
	// selector is the Rollout's.
	selector string
}

func start(ctx context.Context, t *testing.T) *world {
	t.Helper()
	selector := &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}
	objects := []runtime.Object{
		&appsv1.Deployment{ObjectMeta: object("web", "d1", nil), Spec: appsv1.DeploymentSpec{Selector: selector}},
		&appsv1.ReplicaSet{ObjectMeta: object("web-1", "r1", owner("apps/v1", "Deployment", "web", "d1")), Spec: appsv1.ReplicaSetSpec{Selector: selector}},
		&appsv1.ReplicaSet{ObjectMeta: object("roll-1", "r2", owner("example.com/v1", "Rollout", "roll", "o1"))},
		&appsv1.ReplicaSet{ObjectMeta: object("made-1", "r3", owner("example.com/v1", "Recipe", "cake", "c1"))},
		&batchv1.CronJob{ObjectMeta: object("night", "n1", nil)},
	}
	w := &world{selector: "app=roll"}
	mapper := meta.NewDefaultRESTMapper([]schema.GroupVersion{{Group: "example.com", Version: "v1"}})
	mapper.Add(schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Rollout"}, meta.RESTScopeNamespace)
	scales := &scalefake.FakeScaleClient{}
	scales.AddReactor("get", "rollouts", func(action clienttesting.Action) (bool, runtime.Object, error) {
		w.asked++
		if w.fail != nil {
			return true, nil, w.fail
		}
		if name := action.(clienttesting.GetAction).GetName(); name != "roll" {
			return true, nil, apierrors.NewNotFound(rollouts, name)
		}
		return true, &autoscalingv1.Scale{ObjectMeta: object("roll", "o1", nil), Status: autoscalingv1.ScaleStatus{Selector: w.selector}}, nil
	})
	factory := informers.NewSharedInformerFactoryWithOptions(fake.NewClientset(objects...), 0, informers.WithTransform(slim.Transform))
	tree, err := New(Config{Informers: factory, Scales: scales, Mapper: mapper})
	if err != nil {
		t.Fatal(err)
	}
	w.tree = tree
	factory.Start(ctx.Done())
	if !cache.WaitForCacheSync(ctx.Done(), tree.HasSynced) {
		t.Fatal("caches were not filled")
	}
	return w
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
	w := start(t.Context(), t)
	for why, c := range map[string]struct {
		pod   *corev1.Pod
		want  string
		none  bool
		error error
	}{
		"a Deployment above a ReplicaSet":       {pod: pod(owner("apps/v1", "ReplicaSet", "web-1", "r1")), want: "Deployment shop/web"},
		"a kind that has a scale":               {pod: pod(owner("apps/v1", "ReplicaSet", "roll-1", "r2")), want: "Rollout shop/roll"},
		"a kind without one is none":            {pod: pod(owner("apps/v1", "ReplicaSet", "made-1", "r3")), want: "ReplicaSet shop/made-1"},
		"a kind that is not there is none":      {pod: pod(owner("example.com/v1", "Rollout", "other", "o2")), none: true},
		"nobody owns it":                        {pod: pod(nil), none: true},
		"a node":                                {pod: pod(owner("v1", "Node", "n", "n")), none: true},
		"a ReplicaSet that is gone":             {pod: pod(owner("apps/v1", "ReplicaSet", "old", "r9")), error: ErrNotFound},
		"another ReplicaSet has taken its name": {pod: pod(owner("apps/v1", "ReplicaSet", "web-1", "r8")), error: ErrNotFound},
	} {
		got, found, err := w.tree.Topmost(t.Context(), c.pod)
		if !errors.Is(err, c.error) || err == nil && (found == c.none || found && got.String() != c.want) {
			t.Errorf("%s: %v, %t, %v; want %q, %v", why, got, found, err, c.want, c.error)
		}
	}
}

func TestScalesAreAskedForOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer synctest.Wait()
		defer cancel()
		w := start(ctx, t)
		p := pod(owner("apps/v1", "ReplicaSet", "roll-1", "r2"))
		for range 3 {
			if _, found, err := w.tree.Topmost(ctx, p); !found || err != nil {
				t.Fatal(found, err)
			}
		}
		if w.asked != 1 {
			t.Errorf("three pods led to %d calls, want 1", w.asked)
		}
		time.Sleep(renewal) //nolint:forbidigo // virtual time: the answer becomes old
		w.fail = apierrors.NewInternalError(errors.New("down"))
		if top, found, err := w.tree.Topmost(ctx, p); !found || err != nil || top.Kind != "Rollout" {
			t.Errorf("while the API server cannot tell: %v, %t, %v; want what it said before", top, found, err)
		}
		if w.asked != 2 {
			t.Errorf("an answer that is old led to %d calls in all, want 2", w.asked)
		}
	})
}

func TestTopmostKnownCallsNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer synctest.Wait()
		defer cancel()
		w := start(ctx, t)
		if top, found, err := w.tree.TopmostKnown(pod(owner("apps/v1", "ReplicaSet", "web-1", "r1"))); !found || err != nil || top.UID != "d1" {
			t.Errorf("a Deployment: %v, %t, %v", top, found, err)
		}
		p := pod(owner("apps/v1", "ReplicaSet", "roll-1", "r2"))
		if _, _, err := w.tree.TopmostKnown(p); !errors.Is(err, ErrUnknown) || w.asked != 0 {
			t.Errorf("before anybody asked: %v after %d calls, want %v and none", err, w.asked, ErrUnknown)
		}
		go w.tree.Run(ctx)
		time.Sleep(2 * turn) //nolint:forbidigo // virtual time: Run has its turn
		synctest.Wait()
		if top, found, err := w.tree.TopmostKnown(p); !found || err != nil || top.UID != "o1" {
			t.Errorf("after Run asked: %v, %t, %v", top, found, err)
		}
		time.Sleep(oblivion + 2*turn) //nolint:forbidigo // virtual time: nobody looks at it
		synctest.Wait()
		if w.tree.mu.Lock(); len(w.tree.asked) != 0 {
			t.Errorf("%d answers are kept that nobody looks at", len(w.tree.asked))
		}
		w.tree.mu.Unlock()
	})
}

func TestTargetOf(t *testing.T) {
	w := start(t.Context(), t)
	for why, c := range map[string]struct {
		ref      autoscalingv1.CrossVersionObjectReference
		selector string
		uid      types.UID
		parent   string
		error    error
		text     string
	}{
		"a Deployment":         {ref: ref("apps/v1", "Deployment", "web"), selector: "app=web", uid: "d1"},
		"without a version":    {ref: ref("", "Deployment", "web"), selector: "app=web", uid: "d1"},
		"of a wrong version":   {ref: ref("v1", "Deployment", "web"), selector: "app=web", uid: "d1"},
		"that has a parent":    {ref: ref("apps/v1", "ReplicaSet", "web-1"), selector: "app=web", uid: "r1", parent: "Deployment shop/web"},
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
		got, err := w.tree.TargetOf(t.Context(), "shop", &c.ref)
		switch {
		case !errors.Is(err, c.error), c.text != "" && (err == nil || err.Error() != c.text):
			t.Errorf("%s: %v, want %v %s", why, err, c.error, c.text)
		case err == nil && (got.Selector.String() != c.selector || got.UID != c.uid || got.HasParent != (c.parent != "") || got.HasParent && got.Parent.String() != c.parent):
			t.Errorf("%s: %+v, want %+v", why, got, c)
		}
	}
	if got, _ := w.tree.TargetOf(t.Context(), "shop", &autoscalingv1.CrossVersionObjectReference{Kind: "CronJob", Name: "night"}); !got.Selector.Empty() {
		if _, selectable := got.Selector.Requirements(); selectable {
			t.Error("a workload without labels selects something")
		}
	}
	w.fail = apierrors.NewTimeoutError("slow", 1)
	again := ref("example.com/v1", "Rollout", "new")
	if _, err := w.tree.TargetOf(t.Context(), "shop", &again); !errors.Is(err, ErrUnknown) || errors.Is(err, ErrNotFound) {
		t.Errorf("a call that times out: %v, want %v", err, ErrUnknown)
	}
}

// A scale without a selector is asked for again soon.
func TestSelectorThatComesLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer synctest.Wait()
		defer cancel()
		w := start(ctx, t)
		roll := ref("example.com/v1", "Rollout", "roll")
		w.selector = ""
		if _, err := w.tree.TargetOf(ctx, "shop", &roll); !errors.Is(err, ErrUnsupported) {
			t.Errorf("without a selector: %v", err)
		}
		w.selector = "app=roll"
		time.Sleep(retrial) //nolint:forbidigo // virtual time: the answer becomes old
		if got, err := w.tree.TargetOf(ctx, "shop", &roll); err != nil || got.Selector.String() != "app=roll" {
			t.Errorf("once it has one: %v, %v", got, err)
		}
	})
}

func ref(version, kind, name string) autoscalingv1.CrossVersionObjectReference {
	return autoscalingv1.CrossVersionObjectReference{APIVersion: version, Kind: kind, Name: name}
}
