package webhook

import (
	"errors"
	"fmt"
	"testing"
	"time"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/ptr"

	vpav1 "github.com/plimsoll-dev/plimsoll/api/autoscaling/v1"
	"github.com/plimsoll-dev/plimsoll/internal/kube/ownership"
)

// owners answers by the name of the controller.
type owners struct {
	top      map[string]ownership.Owner
	selector labels.Selector
	err      error
}

func (o owners) TopmostKnown(object metav1.Object) (ownership.Owner, bool, error) {
	controller := metav1.GetControllerOf(object)
	if controller == nil {
		return ownership.Owner{}, false, nil
	}
	top, known := o.top[controller.Kind+"/"+controller.Name]
	if !known {
		return ownership.Owner{}, false, fmt.Errorf("%s %w", controller.Name, ownership.ErrNotFound)
	}
	return top, true, nil
}

func (o owners) SelectorKnown(ownership.Owner) (labels.Selector, error) { return o.selector, o.err }

func indexer(t testing.TB, vpas ...*vpav1.VerticalPodAutoscaler) cache.Indexer {
	t.Helper()
	indexers := MatchIndexers()
	indexers[cache.NamespaceIndex] = cache.MetaNamespaceIndexFunc
	i := cache.NewIndexer(cache.MetaNamespaceKeyFunc, indexers)
	for _, vpa := range vpas {
		if err := i.Add(vpa); err != nil {
			t.Fatal(err)
		}
	}
	return i
}

func named(name string, change ...func(*vpav1.VerticalPodAutoscaler)) *vpav1.VerticalPodAutoscaler {
	vpa := &vpav1.VerticalPodAutoscaler{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "default", Name: name, CreationTimestamp: metav1.NewTime(time.Unix(1000, 0)),
		},
		Spec: vpav1.VerticalPodAutoscalerSpec{TargetRef: &autoscalingv1.CrossVersionObjectReference{
			Kind: "Deployment", Name: "web",
		}},
	}
	for _, c := range change {
		c(vpa)
	}
	return vpa
}

func mode(m vpav1.UpdateMode) func(*vpav1.VerticalPodAutoscaler) {
	return func(vpa *vpav1.VerticalPodAutoscaler) { vpa.Spec.UpdatePolicy = &vpav1.PodUpdatePolicy{UpdateMode: &m} }
}

func owned(kind, name string, podLabels map[string]string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: "default", Labels: podLabels,
		OwnerReferences: []metav1.OwnerReference{{Kind: kind, Name: name, Controller: ptr.To(true)}},
	}}
}

func TestMatch(t *testing.T) {
	web := ownership.Owner{Kind: "Deployment", Namespace: "default", Name: "web"}
	nightly := ownership.Owner{Kind: "CronJob", Namespace: "default", Name: "nightly"}
	known := owners{
		top: map[string]ownership.Owner{
			"ReplicaSet/web-abc": web, "Deployment/web": web, "CronJob/nightly": nightly,
			"StatefulSet/web": {Kind: "StatefulSet", Namespace: "default", Name: "web"},
			"Machine/web":     {APIVersion: "apps.example.com/v1", Kind: "Deployment", Namespace: "default", Name: "web"},
		},
		selector: labels.Everything(),
	}
	older := func(vpa *vpav1.VerticalPodAutoscaler) { vpa.CreationTimestamp = metav1.NewTime(time.Unix(1, 0)) }
	elsewhere := func(vpa *vpav1.VerticalPodAutoscaler) { vpa.Namespace = "elsewhere" }
	forNightly := func(vpa *vpav1.VerticalPodAutoscaler) {
		vpa.Spec.TargetRef = &autoscalingv1.CrossVersionObjectReference{Kind: "CronJob", Name: "nightly"}
	}
	other := func(vpa *vpav1.VerticalPodAutoscaler) { vpa.Spec.TargetRef.APIVersion = "apps.example.com/v2" }
	boosted := func(vpa *vpav1.VerticalPodAutoscaler) { vpa.Spec.StartupBoost = &vpav1.StartupBoost{} }
	picky := known
	picky.selector = labels.SelectorFromSet(labels.Set{"tier": "front"})
	for why, c := range map[string]struct {
		vpas   []*vpav1.VerticalPodAutoscaler
		pod    *corev1.Pod
		owners owners
		want   string
		err    error
	}{
		"through the ReplicaSet": {vpas: []*vpav1.VerticalPodAutoscaler{named("a")}, pod: owned("ReplicaSet", "web-abc", nil),
			want: "a"},
		"a ReplicaSet that is not in the cache yet": {
			vpas: []*vpav1.VerticalPodAutoscaler{named("a")},
			pod:  owned("ReplicaSet", "web-xyz", map[string]string{"pod-template-hash": "xyz"}), want: "a",
		},
		"a ReplicaSet that looks like the Deployment's": {
			vpas: []*vpav1.VerticalPodAutoscaler{named("a")}, pod: owned("ReplicaSet", "web-xyz", nil),
			err: ownership.ErrNotFound,
		},
		"a Job that is not in the cache yet": {
			vpas: []*vpav1.VerticalPodAutoscaler{named("a", forNightly)}, pod: owned("Job", "nightly-29394720", nil), want: "a",
		},
		"a Deployment of another group": {
			vpas: []*vpav1.VerticalPodAutoscaler{named("a")}, pod: owned("Machine", "web", nil),
		},
		"by another version of its group": {
			vpas: []*vpav1.VerticalPodAutoscaler{named("a", other)}, pod: owned("Machine", "web", nil), want: "a",
		},
		"an unknown owner": {
			vpas: []*vpav1.VerticalPodAutoscaler{named("a")}, pod: owned("DaemonSet", "agent", nil), err: ownership.ErrNotFound,
		},
		"an unknown owner without any VPA": {pod: owned("DaemonSet", "agent", nil)},
		"a pod without an owner": {vpas: []*vpav1.VerticalPodAutoscaler{named("a")},
			pod: &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default"}}},
		"of the same name, of another": {vpas: []*vpav1.VerticalPodAutoscaler{named("a")},
			pod: owned("StatefulSet", "web", nil)},
		"elsewhere": {vpas: []*vpav1.VerticalPodAutoscaler{named("a", elsewhere)}, pod: owned("Deployment", "web", nil)},
		"the oldest": {
			vpas: []*vpav1.VerticalPodAutoscaler{named("a"), named("b", older), named("c")},
			pod:  owned("Deployment", "web", nil), want: "b",
		},
		"the first by name": {vpas: []*vpav1.VerticalPodAutoscaler{named("c"), named("a"), named("b")},
			pod: owned("Deployment", "web", nil), want: "a"},
		"not one that is off": {
			vpas: []*vpav1.VerticalPodAutoscaler{named("a", mode("Off")), named("b", mode("Initial"))},
			pod:  owned("Deployment", "web", nil), want: "b",
		},
		"one that is off, but boosts": {vpas: []*vpav1.VerticalPodAutoscaler{named("a", mode("Off"), boosted)},
			pod: owned("Deployment", "web", nil), want: "a"},
		"pods that the workload does not select": {
			vpas: []*vpav1.VerticalPodAutoscaler{named("a")}, pod: owned("Deployment", "web", map[string]string{"tier": "back"}),
			owners: picky,
		},
	} {
		if c.owners.top == nil {
			c.owners = known
		}
		got, err := NewMatcher(indexer(t, c.vpas...), c.owners).Match(c.pod)
		switch {
		case !errors.Is(err, c.err) || (err != nil) != (c.err != nil):
			t.Errorf("%s: error %v, want %v", why, err, c.err)
		case (got != nil) != (c.want != "") || got != nil && got.Name != c.want:
			t.Errorf("%s: %v, want %q", why, got, c.want)
		}
	}
}
