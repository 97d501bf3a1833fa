package recommender

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	vpav1 "github.com/plimsoll-dev/plimsoll/api/autoscaling/v1"
	"github.com/plimsoll-dev/plimsoll/internal/controller/vertical/recommender/sampling"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/recommend"
	"github.com/plimsoll-dev/plimsoll/internal/kube/podcache"
	"github.com/plimsoll-dev/plimsoll/internal/observe"
)

// quiet is a store that accepts every write at once.
type quiet struct{ *world }

// UpdateStatus implements Store.
func (quiet) UpdateStatus(_ context.Context, object *vpav1.VerticalPodAutoscaler,
	change func(*vpav1.VerticalPodAutoscalerStatus) bool,
) (*vpav1.VerticalPodAutoscaler, error) {
	change(&object.Status) // as the informer would receive it
	return object, nil
}

// WriteCheckpoint implements Store.
func (quiet) WriteCheckpoint(context.Context, *vpav1.VerticalPodAutoscalerCheckpoint) error {
	return nil
}

// A pass over 1,000 objects with two pods each, in a cluster of ten times as many pods, without the time of the API
// server.
func BenchmarkPass(b *testing.B) {
	const objects, each, others = 1000, 2, 18000
	informer := func(of runtime.Object) cache.SharedIndexInformer {
		return cache.NewSharedIndexInformer(&cache.ListWatch{}, of, 0, cache.Indexers{})
	}
	w := &world{
		targets: map[string]error{}, stored: map[string]*vpav1.VerticalPodAutoscaler{}, statuses: map[string]int{},
		saves: map[string]int{},
	}
	r, err := New(Config{
		Objects: informer(&vpav1.VerticalPodAutoscaler{}), Pods: podcache.FromInformer(informer(&corev1.Pod{})),
		Targets: w, Store: quiet{w},
		Sources: sampling.Sources{Metrics: w}, Events: w,
		Registerer: prometheus.NewRegistry(), Log: logr.Discard(), Interval: time.Minute, CollectInterval: time.Hour,
		FlushTimeout: time.Minute,
		Workers:      10, Policy: recommend.DefaultPolicy(),
	})
	if err != nil {
		b.Fatal(err)
	}
	add := func(namespace, workload, name string) {
		whole := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: namespace, Name: name, UID: types.UID(name), Labels: map[string]string{"app": workload},
			},
			Spec:   corev1.PodSpec{Containers: []corev1.Container{{Name: "app"}, {Name: "proxy"}}},
			Status: corev1.PodStatus{Phase: corev1.PodRunning},
		}
		pod := observe.PodOf(whole)
		pod.Whole = observe.WholeOf(whole)
		r.passes.pods.Put(pod)
	}
	for i := range objects {
		name := fmt.Sprintf("w%d", i)
		w.targets[name] = nil
		object := &vpav1.VerticalPodAutoscaler{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, UID: types.UID(name), Generation: 1},
			Spec: vpav1.VerticalPodAutoscalerSpec{TargetRef: &autoscalingv1.CrossVersionObjectReference{
				Kind: "Deployment", Name: name,
			}},
		}
		if err := r.config.Objects.GetStore().Add(object); err != nil {
			b.Fatal(err)
		}
		for p := range each {
			add(namespace, name, fmt.Sprintf("%s-%d", name, p))
		}
	}
	for i := range others {
		add(fmt.Sprintf("ns-%d", i%100), "other", fmt.Sprintf("other-%d", i))
	}
	now := time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC)
	r.passes.pass(b.Context(), now, scope{isWhole: true})
	b.ReportAllocs()
	for b.Loop() {
		b.StopTimer()
		now = now.Add(time.Minute)
		for _, t := range r.passes.tracks.byName {
			for p := range each {
				for _, container := range []string{"app", "proxy"} {
					from := sampling.Source{Pod: fmt.Sprintf("%s-%d", t.name.Name, p), Container: container}
					cpu := vertical.Amount(100 + now.Minute())
					r.passes.sampler.Add(now, t.name, from,
						sampling.Measured{Resource: vertical.CPU, Amount: cpu, Over: time.Minute, At: now})
					r.passes.sampler.Add(now, t.name, from, sampling.Measured{Resource: vertical.Memory, Amount: 500 << 20, At: now})
				}
			}
		}
		b.StartTimer()
		r.passes.pass(b.Context(), now, scope{isWhole: true})
	}
}
