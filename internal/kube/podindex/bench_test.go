package podindex

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/plimsoll-dev/plimsoll/internal/observe"
)

// The index of a large cluster: many objects in namespaces of twenty, whose pods are spread over nodes of a hundred.
const (
	benchObjects      = 10_000
	benchPods         = 10
	benchPerNamespace = 20
	benchNodes        = benchObjects * benchPods / 100
)

func benchObject(i int) observe.Key {
	return observe.HPA(fmt.Sprint("shop-", i/benchPerNamespace), fmt.Sprint("web-", i))
}

func benchPod(i, n int, phase corev1.PodPhase) *observe.Pod {
	object := benchObject(i)
	p := on(pod(fmt.Sprintf("%s-%d", object.Name, n), map[string]string{"app": object.Name, "pod-template-hash": "1"}),
		fmt.Sprint("node-", (i*benchPods+n*7919)%benchNodes))
	p.Namespace, p.Status.Phase = object.Namespace, phase
	return observe.PodOf(p)
}

func crowd(b *testing.B) (*Index, []*Selector) {
	x, selectors := New(), make([]*Selector, benchObjects)
	for i := range benchObjects {
		for n := range benchPods {
			x.Put(benchPod(i, n, corev1.PodRunning))
		}
		selectors[i] = SelectorOf(selector(b, "app="+benchObject(i).Name))
		x.Claim(benchObject(i), selectors[i], x)
	}
	return x, selectors
}

func BenchmarkIndex(b *testing.B) {
	x, selectors := crowd(b)
	objects := make([]observe.Key, benchObjects)
	for i := range objects {
		objects[i] = benchObject(i)
	}
	b.Run("claim again and pods of one of 10000 objects", func(b *testing.B) {
		var pods []*observe.Pod
		i := 0
		b.ReportAllocs()
		for b.Loop() {
			// Far from the one before, as decisions are.
			i = (i + 7919) % benchObjects
			x.Claim(objects[i], selectors[i], x)
			if pods = x.AppendPods(pods[:0], objects[i]); len(pods) != benchPods {
				b.Fatalf("%d pods", len(pods))
			}
		}
	})
	b.Run("update of one of 100000 pods", func(b *testing.B) {
		states := [2]*observe.Pod{benchPod(5000, 3, corev1.PodRunning), benchPod(5000, 3, corev1.PodPending)}
		i := 0
		b.ReportAllocs()
		for b.Loop() {
			i++
			if changed := x.Put(states[i%2]); i > 1 && len(changed) != 1 {
				b.Fatalf("changed %v", changed)
			}
		}
	})
	b.Run("translation of one pod", func(b *testing.B) {
		p := on(pod("web-5000-3", map[string]string{"app": "web-5000", "pod-template-hash": "1"}), "node-3")
		p.Spec.Containers = []corev1.Container{{Name: "app"}}
		b.ReportAllocs()
		for b.Loop() {
			observe.PodOf(p)
		}
	})
	b.Run("objects on a node of 100 pods", func(b *testing.B) {
		var seats []Subscription
		i := 0
		b.ReportAllocs()
		for b.Loop() {
			i = (i + 7919) % benchNodes
			if seats = x.On(fmt.Sprint("node-", i), seats[:0]); len(seats) == 0 {
				b.Fatal("no object is followed")
			}
		}
	})
}
