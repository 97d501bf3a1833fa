package recommender

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr/funcr"
	"github.com/prometheus/client_golang/prometheus"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	apiresource "k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
	fcache "k8s.io/client-go/tools/cache/testing"
	"k8s.io/client-go/tools/record"
	metricsv1beta1 "k8s.io/metrics/pkg/apis/metrics/v1beta1"

	vpav1 "github.com/plimsoll-dev/plimsoll/api/autoscaling/v1"
	"github.com/plimsoll-dev/plimsoll/internal/controller/vertical/recommender/sampling"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/recommend"
	"github.com/plimsoll-dev/plimsoll/internal/kube/ownership"
	"github.com/plimsoll-dev/plimsoll/internal/kube/podcache"
)

// world is a cluster in virtual time: the test sets the use of pods, and metrics.k8s.io returns it.
type world struct {
	record.EventRecorder // the recommender uses Event only

	t                     *testing.T
	objects, pods, events *fcache.FakeControllerSource
	stop                  func()

	// mu guards the following.
	mu sync.Mutex
	// running has the pods, and milli and bytes the use of each container of the name.
	running      map[string]*corev1.Pod
	milli, bytes map[string]int64
	// targets has the workloads by name; an error is the result of looking them up.
	targets map[string]error
	stored  map[string]*vpav1.VerticalPodAutoscaler
	// checkpoints are by namespace and name; saves counts the writes of each.
	checkpoints map[string]*vpav1.VerticalPodAutoscalerCheckpoint
	saves       map[string]int
	statuses    map[string]int
	unreadable  error
	asked       []string
	told        []string
	logs        []string
}

func inWorld(t *testing.T, test func(t *testing.T, w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := &world{
			t: t, objects: fcache.NewFakeControllerSource(), pods: fcache.NewFakeControllerSource(),
			events:  fcache.NewFakeControllerSource(),
			running: map[string]*corev1.Pod{}, milli: map[string]int64{}, bytes: map[string]int64{}, targets: map[string]error{},
			stored: map[string]*vpav1.VerticalPodAutoscaler{}, checkpoints: map[string]*vpav1.VerticalPodAutoscalerCheckpoint{},
			saves: map[string]int{}, statuses: map[string]int{}, stop: func() {},
		}
		defer func() {
			w.stop()
			synctest.Wait()
			for _, source := range []*fcache.FakeControllerSource{w.objects, w.pods, w.events} {
				source.Shutdown()
			}
		}()
		test(t, w)
	})
}

// start runs a recommender until the test ends or stop is called.
func (w *world) start(change ...func(*Config)) *Recommender {
	w.t.Helper()
	ctx, cancel := context.WithCancel(w.t.Context())
	informer := func(source *fcache.FakeControllerSource, of runtime.Object) cache.SharedIndexInformer {
		i := cache.NewSharedIndexInformer(source, of, 0, cache.Indexers{})
		go i.RunWithContext(ctx)
		return i
	}
	cfg := Config{
		Objects:   informer(w.objects, &vpav1.VerticalPodAutoscaler{}),
		Pods:      podcache.FromInformer(informer(w.pods, &corev1.Pod{})),
		Evictions: informer(w.events, &corev1.Event{}), Targets: w, Store: w, Sources: sampling.Sources{Metrics: w},
		Events: w, Registerer: prometheus.NewRegistry(),
		Log:      funcr.New(func(_, args string) { w.do(func() { w.logs = append(w.logs, args) }) }, funcr.Options{}),
		Interval: time.Minute, CollectInterval: 10 * time.Minute, FlushTimeout: time.Minute, Workers: 3,
		Policy: recommend.DefaultPolicy(),
	}
	for _, f := range change {
		f(&cfg)
	}
	r, err := New(cfg)
	if err != nil {
		w.t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- r.Run(ctx) }()
	w.stop = func() {
		w.do(func() {})
		cancel()
		if err := <-done; err != nil {
			w.t.Error(err)
		}
		w.stop = func() {}
	}
	synctest.Wait()
	return r
}

func (w *world) do(f func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	f()
}

// pass lets time pass. Before and after it the test reads without the lock: nothing writes while no time passes.
func (w *world) pass(d time.Duration) {
	w.do(func() {})
	time.Sleep(d) //nolint:forbidigo // virtual time
	synctest.Wait()
	w.do(func() {})
}

const namespace = "shop"

// deployment creates pods of a workload whose containers are called app.
func (w *world) deployment(name string, pods int) {
	w.do(func() {
		w.targets[name] = nil
		w.milli[name], w.bytes[name] = 100, 500<<20
	})
	for i := range pods {
		w.pod(name, fmt.Sprintf("%s-%d", name, i), corev1.PodStatus{})
	}
}

func (w *world) pod(workload, name string, status corev1.PodStatus) *corev1.Pod {
	return w.podWith(workload, name, "app", status)
}

// podOf is a pod whose container has another name.
func (w *world) podOf(workload, name, container string) {
	w.podWith(workload, name, container, corev1.PodStatus{})
}

func (w *world) podWith(workload, name, container string, status corev1.PodStatus) *corev1.Pod {
	memory := corev1.ResourceList{corev1.ResourceMemory: apiresource.MustParse("300Mi")}
	status.Phase = corev1.PodRunning
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: name, UID: types.UID("uid-" + name), Labels: map[string]string{"app": workload},
		},
		Spec: corev1.PodSpec{
			Containers:     []corev1.Container{{Name: container, Resources: corev1.ResourceRequirements{Requests: memory}}},
			InitContainers: []corev1.Container{{Name: "init"}},
		},
		Status: status,
	}
	w.do(func() { w.running[name] = pod })
	w.pods.Add(pod)
	synctest.Wait()
	return pod
}

// autoscaler creates an object for a workload of that name.
func (w *world) autoscaler(name string, change ...func(*vpav1.VerticalPodAutoscaler)) {
	object := &vpav1.VerticalPodAutoscaler{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: name, UID: types.UID("vpa-" + name), Generation: 1, CreationTimestamp: metav1.Now(),
		},
		Spec: vpav1.VerticalPodAutoscalerSpec{TargetRef: &autoscalingv1.CrossVersionObjectReference{
			Kind: "Deployment", Name: name,
		}},
	}
	for _, f := range change {
		f(object)
	}
	w.do(func() { w.stored[name] = object })
	w.objects.Add(object)
	synctest.Wait()
}

// status returns an object's stored status.
func (w *world) status(name string) *vpav1.VerticalPodAutoscalerStatus {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.stored[name].Status.DeepCopy()
}

// target returns an object's target for its one container.
func (w *world) target(name string) (cpuMilli, memoryBytes int64) {
	status := w.status(name)
	if status.Recommendation == nil || len(status.Recommendation.ContainerRecommendations) != 1 {
		return 0, 0
	}
	target := status.Recommendation.ContainerRecommendations[0].Target
	return target.Cpu().MilliValue(), target.Memory().Value()
}

func (w *world) condition(name, kind string) *vpav1.VerticalPodAutoscalerCondition {
	status := w.status(name)
	i := slices.IndexFunc(status.Conditions,
		func(c vpav1.VerticalPodAutoscalerCondition) bool { return string(c.Type) == kind })
	if i < 0 {
		return nil
	}
	return &status.Conditions[i]
}

// TargetOf implements Targets.
func (w *world) TargetOf(ns string, ref *autoscalingv1.CrossVersionObjectReference) (ownership.Target, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	o := ownership.Owner{Kind: ref.Kind, Namespace: ns, Name: ref.Name, UID: types.UID("workload-" + ref.Name)}
	err, known := w.targets[ref.Name]
	switch {
	case !known:
		return ownership.Target{}, fmt.Errorf("%s %w", o, ownership.ErrNotFound)
	case errors.Is(err, errPanic):
		panic("looking it up")
	case err != nil:
		return ownership.Target{}, err
	}
	return ownership.Target{Owner: o, Selector: labels.SelectorFromSet(labels.Set{"app": ref.Name})}, nil
}

var errPanic = errors.New("panic")

// Await implements Targets.
func (*world) Await(context.Context, iter.Seq2[string, *autoscalingv1.CrossVersionObjectReference]) {}

// HasSynced implements Targets.
func (*world) HasSynced() bool { return true }

// UpdateStatus implements Store.
func (w *world) UpdateStatus(_ context.Context, object *vpav1.VerticalPodAutoscaler,
	change func(*vpav1.VerticalPodAutoscalerStatus) bool,
) (*vpav1.VerticalPodAutoscaler, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	next := w.stored[object.Name].DeepCopy()
	if !change(&next.Status) {
		return nil, nil
	}
	w.stored[object.Name] = next
	w.statuses[object.Name]++
	w.objects.Modify(next)
	return next, nil
}

// EachCheckpoint implements Store.
func (w *world) EachCheckpoint(_ context.Context, _ string, visit func(*vpav1.VerticalPodAutoscalerCheckpoint)) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.unreadable != nil {
		return w.unreadable
	}
	for _, name := range slices.Sorted(maps.Keys(w.checkpoints)) {
		visit(w.checkpoints[name].DeepCopy())
	}
	return nil
}

// WriteCheckpoint implements Store.
func (w *world) WriteCheckpoint(_ context.Context, c *vpav1.VerticalPodAutoscalerCheckpoint) error {
	w.do(func() {
		w.checkpoints[c.Name] = c
		w.saves[c.Name]++
	})
	return nil
}

// DeleteCheckpoint implements Store.
func (w *world) DeleteCheckpoint(_ context.Context, _, name string) error {
	w.do(func() { delete(w.checkpoints, name) })
	return nil
}

// Resource implements Metrics.
func (w *world) Resource(_ context.Context, ns, _ string) (*metricsv1beta1.PodMetricsList, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.asked = append(w.asked, ns)
	list := &metricsv1beta1.PodMetricsList{}
	for _, pod := range w.running {
		workload := pod.Labels["app"]
		use := corev1.ResourceList{
			corev1.ResourceCPU:    *apiresource.NewMilliQuantity(w.milli[workload], apiresource.DecimalSI),
			corev1.ResourceMemory: *apiresource.NewQuantity(w.bytes[workload], apiresource.BinarySI),
		}
		if w.milli[workload] == 0 {
			continue
		}
		list.Items = append(list.Items, metricsv1beta1.PodMetrics{
			ObjectMeta: pod.ObjectMeta, Timestamp: metav1.Now(), Window: metav1.Duration{Duration: 15 * time.Second},
			Containers: []metricsv1beta1.ContainerMetrics{{Name: pod.Spec.Containers[0].Name, Usage: use},
				{Name: "init", Usage: use}},
		})
	}
	return list, nil
}

// Event implements record.EventRecorder.
func (w *world) Event(object runtime.Object, kind, reason, message string) {
	name := "?"
	if ref, ok := object.(*corev1.ObjectReference); ok {
		name = ref.Name
	}
	w.do(func() { w.told = append(w.told, strings.Join([]string{name, kind, reason, message}, " ")) })
}

func (w *world) warnings(name, reason string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := 0
	for _, line := range w.told {
		if strings.HasPrefix(line, name+" Warning "+reason+" ") {
			n++
		}
	}
	return n
}
