package horizontal

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta/testrestmapper"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/kubernetes/scheme"
	scaleclient "k8s.io/client-go/scale"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/record"
	custommetricsv1beta2 "k8s.io/metrics/pkg/apis/custom_metrics/v1beta2"
	externalmetricsv1beta1 "k8s.io/metrics/pkg/apis/external_metrics/v1beta1"
	metricsv1beta1 "k8s.io/metrics/pkg/apis/metrics/v1beta1"

	"github.com/plimsoll-dev/plimsoll/internal/collect/metricsapi"
	"github.com/plimsoll-dev/plimsoll/internal/controller/horizontal/scaling"
	"github.com/plimsoll-dev/plimsoll/internal/controller/horizontal/takeover"
	"github.com/plimsoll-dev/plimsoll/internal/kube/podcache"
	"github.com/plimsoll-dev/plimsoll/internal/kube/slim"
	"github.com/plimsoll-dev/plimsoll/internal/kube/targets"
	observehorizontal "github.com/plimsoll-dev/plimsoll/internal/observe/horizontal"
)

const period = 15 * time.Second

var (
	hpaResource        = autoscalingv2.SchemeGroupVersion.WithResource("horizontalpodautoscalers")
	deploymentResource = appsv1.SchemeGroupVersion.WithResource("deployments")
	podResource        = corev1.SchemeGroupVersion.WithResource("pods")
)

// world is a cluster with virtual time: an API server that keeps resource
// versions and refuses conflicting writes, metrics APIs and a controller.
type world struct {
	record.EventRecorder // of which the controller uses Event and Eventf

	t        testing.TB
	client   *fake.Clientset
	registry *prometheus.Registry
	stop     func()
	// made is called with each controller before it runs; it may be nil.
	made func(*Controller)

	podsMu sync.Mutex
	listed map[string][]corev1.Pod // guarded by podsMu; by namespace, since the last write of a pod

	// mu guards what follows.
	mu       sync.Mutex
	version  int
	usage    int64 // milli CPU of each pod
	external func(context.Context) (int64, error)
	custom   func(context.Context) (int64, error)
	// measured is the stamp of external values; now where it is zero.
	measured time.Time
	asked    []time.Time
	events   []string
	scales   []string
	logs     []string
	// beforeScale and beforeStatus come before a write and may refuse it.
	beforeScale  func() error
	beforeStatus func() error
	// hideStatus keeps status writes from the watchers; hidden holds them.
	hideStatus bool
	hidden     []runtime.Object
}

// inWorld runs a test in virtual time.
func inWorld(t *testing.T, test func(t *testing.T, w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		defer func() {
			if w.stop != nil {
				w.stop()
			}
		}()
		test(t, w)
	})
}

func newWorld(t testing.TB) *world {
	// The newer fake writes managedFields itself, which these tests are about.
	client := fake.NewSimpleClientset()
	w := &world{t: t, client: client, registry: prometheus.NewRegistry(), usage: 100}
	w.client.PrependReactor("update", "horizontalpodautoscalers",
		func(action clienttesting.Action) (bool, runtime.Object, error) {
			update, ok := action.(clienttesting.UpdateAction)
			if !ok || action.GetSubresource() != "status" {
				return false, nil, nil
			}
			by := action.(clienttesting.UpdateActionImpl).UpdateOptions.FieldManager
			object, err := w.updateStatus(update.GetObject().(*autoscalingv2.HorizontalPodAutoscaler), by)
			return true, object, err
		})
	w.client.PrependReactor("get", "horizontalpodautoscalers",
		func(action clienttesting.Action) (bool, runtime.Object, error) {
			get, isGet := action.(clienttesting.GetAction)
			w.mu.Lock()
			defer w.mu.Unlock()
			for _, object := range slices.Backward(w.hidden) {
				if hpa := object.(*autoscalingv2.HorizontalPodAutoscaler); w.hideStatus && isGet &&
					hpa.Name == get.GetName() {
					return true, hpa.DeepCopy(), nil
				}
			}
			return false, nil, nil
		})
	return w
}

// start runs a controller.
func (w *world) start(change ...func(*Config)) {
	w.t.Helper()
	ctx, cancel := context.WithCancel(w.t.Context())
	factory := informers.NewSharedInformerFactoryWithOptions(w.client, 0, informers.WithTransform(slim.Transform))
	cfg := Config{
		Client: w.client, Informers: factory, Pods: podcache.New(w.client), Targets: targets.New(w.client),
		Clients: scaling.Clients{Scales: w, Mapper: testrestmapper.TestOnlyStaticRESTMapper(scheme.Scheme)},
		Metrics: w, Events: w, Registerer: w.registry, SyncPeriod: period, Workers: 2, HPAs: takeover.Act,
		Options: observehorizontal.DefaultOptions(),
		Log:     w.log(),
	}
	for _, f := range change {
		f(&cfg)
	}
	c, err := New(cfg)
	if err != nil {
		w.t.Fatal(err)
	}
	if w.made != nil {
		w.made(c)
	}
	done := make(chan error, 1)
	go func() { done <- c.Run(ctx) }()
	w.stop = func() {
		cancel()
		if err := <-done; err != nil && !errors.Is(err, context.Canceled) {
			w.t.Error(err)
		}
		factory.Shutdown()
	}
	// The caches are filled after some tenths of a second.
	w.pass(time.Second)
}

func (w *world) log() logr.Logger {
	return funcr.New(func(_, args string) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.logs = append(w.logs, args)
	}, funcr.Options{})
}

// pass lets virtual time pass until everything waits again.
func (w *world) pass(d time.Duration) {
	time.Sleep(d) //nolint:forbidigo // virtual time: this is what moves it
	synctest.Wait()
}

// placeOf is the namespace and the name of what tests call "bank/web"; a name alone is of the namespace shop.
func placeOf(name string) (namespace, bare string) {
	if namespace, bare, isWhole := strings.Cut(name, "/"); isWhole {
		return namespace, bare
	}
	return "shop", name
}

// web adds a Deployment with running pods, and returns its HPA for changes
// before it is added too.
func (w *world) web(name string, replicas int32) *autoscalingv2.HorizontalPodAutoscaler {
	w.t.Helper()
	namespace, name := placeOf(name)
	labels := map[string]string{"app": name}
	w.add(deploymentResource, &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, UID: types.UID("deployment-" + name)},
		Spec:       appsv1.DeploymentSpec{Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: labels}},
		Status:     appsv1.DeploymentStatus{Replicas: replicas},
	})
	for i := range replicas {
		p := pod(fmt.Sprintf("%s-%d", name, i), labels)
		p.Namespace = namespace
		w.add(podResource, p)
	}
	target := int32(50)
	return &autoscalingv2.HorizontalPodAutoscaler{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, UID: types.UID("hpa-" + name), Generation: 1},
		Spec: autoscalingv2.HorizontalPodAutoscalerSpec{
			ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{APIVersion: "apps/v1", Kind: "Deployment",
				Name: name},
			MaxReplicas: 20,
			Metrics: []autoscalingv2.MetricSpec{{
				Type: autoscalingv2.ResourceMetricSourceType,
				Resource: &autoscalingv2.ResourceMetricSource{Name: "cpu", Target: autoscalingv2.MetricTarget{
					Type: autoscalingv2.UtilizationMetricType, AverageUtilization: &target,
				}},
			}},
		},
	}
}

// externally makes the HPA follow an external metric, 100m for each pod.
func externally(hpa *autoscalingv2.HorizontalPodAutoscaler) *autoscalingv2.HorizontalPodAutoscaler {
	average := resource.MustParse("100m")
	hpa.Spec.Metrics = []autoscalingv2.MetricSpec{{
		Type: autoscalingv2.ExternalMetricSourceType,
		External: &autoscalingv2.ExternalMetricSource{
			Metric: autoscalingv2.MetricIdentifier{Name: "queue"},
			Target: autoscalingv2.MetricTarget{Type: autoscalingv2.AverageValueMetricType, AverageValue: &average},
		},
	}}
	return hpa
}

func pod(name string, labels map[string]string) *corev1.Pod {
	long := metav1.NewTime(time.Now().Add(-time.Hour))
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, UID: types.UID(name), Labels: labels},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Resources: corev1.ResourceRequirements{
			Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("200m")},
		}}}},
		Status: corev1.PodStatus{
			Phase: corev1.PodRunning, StartTime: &long,
			Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue,
				LastTransitionTime: long}},
		},
	}
}

func (w *world) add(resource schema.GroupVersionResource, object metav1.Object) {
	w.t.Helper()
	w.mu.Lock()
	w.version++
	object.SetResourceVersion(strconv.Itoa(w.version))
	w.mu.Unlock()
	if err := w.client.Tracker().Create(resource, object.(runtime.Object), object.GetNamespace()); err != nil {
		w.t.Fatal(err)
	}
	w.forgetPods()
}

// pods are a namespace's pods. They are shared: tests and kubelets must not change them. The fake API copies every pod
// that it lists, which is most of what a test of many scrapes would do.
func (w *world) pods(namespace string) []corev1.Pod {
	w.podsMu.Lock()
	defer w.podsMu.Unlock()
	if listed, found := w.listed[namespace]; found {
		return listed
	}
	list, err := w.client.Tracker().List(podResource, corev1.SchemeGroupVersion.WithKind("Pod"), namespace)
	if err != nil {
		w.t.Error(err)
		return nil
	}
	if w.listed == nil {
		w.listed = map[string][]corev1.Pod{}
	}
	w.listed[namespace] = list.(*corev1.PodList).Items
	return w.listed[namespace]
}

// forgetPods has pods list them again. It comes after every write of a pod.
func (w *world) forgetPods() {
	w.podsMu.Lock()
	defer w.podsMu.Unlock()
	w.listed = nil
}

func (w *world) deletePod(name string) {
	w.t.Helper()
	if err := w.client.Tracker().Delete(podResource, "shop", name); err != nil {
		w.t.Fatal(err)
	}
	w.forgetPods()
}

func (w *world) addHPA(hpa *autoscalingv2.HorizontalPodAutoscaler) {
	w.t.Helper()
	w.add(hpaResource, hpa)
}

func (w *world) hpa(name string) *autoscalingv2.HorizontalPodAutoscaler {
	w.t.Helper()
	namespace, name := placeOf(name)
	object, err := w.client.Tracker().Get(hpaResource, namespace, name)
	if err != nil {
		w.t.Fatal(err)
	}
	return object.(*autoscalingv2.HorizontalPodAutoscaler).DeepCopy()
}

func (w *world) deleteHPA(name string) {
	w.t.Helper()
	if err := w.client.Tracker().Delete(hpaResource, "shop", name); err != nil {
		w.t.Fatal(err)
	}
}

// edit changes an HPA as a person would: with a new generation.
func (w *world) edit(name string, change func(*autoscalingv2.HorizontalPodAutoscaler)) {
	w.t.Helper()
	hpa := w.hpa(name)
	change(hpa)
	hpa.Generation++
	w.store(hpaResource, hpa)
}

// writeStatus changes an HPA's status as another controller would.
func (w *world) writeStatus(name, manager string, change func(*autoscalingv2.HorizontalPodAutoscalerStatus)) {
	w.t.Helper()
	hpa := w.hpa(name)
	change(&hpa.Status)
	hpa.ManagedFields = wroteStatus(hpa.ManagedFields, manager)
	w.store(hpaResource, hpa)
}

// wroteStatus are the managed fields after a status write.
func wroteStatus(fields []metav1.ManagedFieldsEntry, manager string) []metav1.ManagedFieldsEntry {
	now := metav1.NewTime(time.Now().Truncate(time.Second))
	return append(slices.DeleteFunc(slices.Clone(fields),
		func(m metav1.ManagedFieldsEntry) bool { return m.Manager == manager }),
		metav1.ManagedFieldsEntry{Manager: manager, Operation: metav1.ManagedFieldsOperationUpdate,
			Subresource: "status", Time: &now})
}

func (w *world) store(resource schema.GroupVersionResource, object metav1.Object) {
	w.t.Helper()
	w.mu.Lock()
	w.version++
	object.SetResourceVersion(strconv.Itoa(w.version))
	w.mu.Unlock()
	if err := w.client.Tracker().Update(resource, object.(runtime.Object), object.GetNamespace()); err != nil {
		w.t.Fatal(err)
	}
	w.forgetPods()
}

func (w *world) deployment(name string) *appsv1.Deployment {
	w.t.Helper()
	namespace, name := placeOf(name)
	object, err := w.client.Tracker().Get(deploymentResource, namespace, name)
	if err != nil {
		w.t.Fatal(err)
	}
	return object.(*appsv1.Deployment).DeepCopy()
}

func (w *world) replicas(name string) int32 {
	w.t.Helper()
	return *w.deployment(name).Spec.Replicas
}

// setReplicas scales a Deployment as a person would.
func (w *world) setReplicas(name string, replicas int32) {
	w.t.Helper()
	d := w.deployment(name)
	d.Spec.Replicas = &replicas
	w.store(deploymentResource, d)
}

func (w *world) updateStatus(hpa *autoscalingv2.HorizontalPodAutoscaler, by string) (runtime.Object, error) {
	w.mu.Lock()
	before := w.beforeStatus
	w.mu.Unlock()
	if before != nil {
		if err := before(); err != nil {
			return nil, err
		}
	}
	stored := w.hpa(hpa.Namespace + "/" + hpa.Name)
	if stored.ResourceVersion != hpa.ResourceVersion {
		return nil, apierrors.NewConflict(hpaResource.GroupResource(), hpa.Name,
			errors.New("the object has been modified"))
	}
	stored.Status = hpa.Status
	stored.ManagedFields = wroteStatus(stored.ManagedFields, by)
	w.mu.Lock()
	hide := w.hideStatus
	w.mu.Unlock()
	if hide {
		// Stored, but not seen by watchers: only the response shows it.
		w.mu.Lock()
		defer w.mu.Unlock()
		w.version++
		stored.ResourceVersion = strconv.Itoa(w.version)
		w.hidden = append(w.hidden, stored)
		return stored.DeepCopy(), nil
	}
	w.store(hpaResource, stored)
	return stored.DeepCopy(), nil
}

// Scales implements scale.ScalesGetter for Deployments.
func (w *world) Scales(namespace string) scaleclient.ScaleInterface {
	return &scaleOf{w: w, namespace: namespace}
}

type scaleOf struct {
	scaleclient.ScaleInterface
	w         *world
	namespace string
}

func (s *scaleOf) Get(
	_ context.Context, resource schema.GroupResource, name string, _ metav1.GetOptions,
) (*autoscalingv1.Scale, error) {
	object, err := s.w.client.Tracker().Get(deploymentResource, s.namespace, name)
	if err != nil {
		return nil, apierrors.NewNotFound(resource, name)
	}
	d := object.(*appsv1.Deployment)
	return &autoscalingv1.Scale{
		ObjectMeta: metav1.ObjectMeta{Namespace: d.Namespace, Name: d.Name, UID: d.UID,
			ResourceVersion: d.ResourceVersion},
		Spec: autoscalingv1.ScaleSpec{Replicas: *d.Spec.Replicas},
		Status: autoscalingv1.ScaleStatus{Replicas: d.Status.Replicas,
			Selector: metav1.FormatLabelSelector(d.Spec.Selector)},
	}, nil
}

func (s *scaleOf) Update(
	ctx context.Context, resource schema.GroupResource, scale *autoscalingv1.Scale, options metav1.UpdateOptions,
) (*autoscalingv1.Scale, error) {
	w := s.w
	w.mu.Lock()
	before := w.beforeScale
	w.mu.Unlock()
	if before != nil {
		if err := before(); err != nil {
			return nil, err
		}
	}
	name := s.namespace + "/" + scale.Name
	d := w.deployment(name)
	if d.ResourceVersion != scale.ResourceVersion {
		return nil, apierrors.NewConflict(resource, scale.Name, errors.New("the object has been modified"))
	}
	w.mu.Lock()
	w.scales = append(w.scales, fmt.Sprintf("%s %d→%d", scale.Name, *d.Spec.Replicas, scale.Spec.Replicas))
	w.mu.Unlock()
	w.setReplicas(name, scale.Spec.Replicas)
	return s.Get(ctx, resource, scale.Name, metav1.GetOptions{})
}

// Resource implements query.Source: every pod of the selector uses w.usage.
func (w *world) Resource(_ context.Context, namespace, selector string) (*metricsv1beta1.PodMetricsList, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.asked = append(w.asked, time.Now())
	list := &metricsv1beta1.PodMetricsList{}
	pods := w.pods(namespace)
	for i := range pods {
		p := &pods[i]
		if metav1.FormatLabelSelector(&metav1.LabelSelector{MatchLabels: p.Labels}) != selector {
			continue
		}
		list.Items = append(list.Items, metricsv1beta1.PodMetrics{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: p.Name},
			Timestamp:  metav1.Now(), Window: metav1.Duration{Duration: 10 * time.Second},
			Containers: []metricsv1beta1.ContainerMetrics{{Name: "web", Usage: corev1.ResourceList{
				corev1.ResourceCPU: *resource.NewMilliQuantity(w.usage, resource.DecimalSI),
			}}},
		})
	}
	return list, nil
}

// Custom implements query.Source.
func (w *world) Custom(
	ctx context.Context, query metricsapi.CustomQuery,
) (*custommetricsv1beta2.MetricValueList, error) {
	w.mu.Lock()
	f := w.custom
	w.mu.Unlock()
	if f == nil {
		return nil, errors.New("no custom metrics API")
	}
	milli, err := f(ctx)
	if err != nil {
		return nil, err
	}
	return &custommetricsv1beta2.MetricValueList{Items: []custommetricsv1beta2.MetricValue{{
		Timestamp: metav1.Now(), Value: *resource.NewMilliQuantity(milli, resource.DecimalSI),
		DescribedObject: corev1.ObjectReference{Kind: query.Kind.Kind, Name: query.Name, Namespace: query.Namespace},
		Metric:          custommetricsv1beta2.MetricIdentifier{Name: query.Metric},
	}}}, nil
}

// External implements query.Source.
func (w *world) External(
	ctx context.Context, _, metric, _ string,
) (*externalmetricsv1beta1.ExternalMetricValueList, error) {
	w.mu.Lock()
	f, measured := w.external, metav1.NewTime(w.measured)
	w.mu.Unlock()
	if measured.IsZero() {
		measured = metav1.Now()
	}
	if f == nil {
		return nil, errors.New("no external metrics API")
	}
	milli, err := f(ctx)
	if err != nil {
		return nil, err
	}
	return &externalmetricsv1beta1.ExternalMetricValueList{Items: []externalmetricsv1beta1.ExternalMetricValue{{
		MetricName: metric, Timestamp: measured, Value: *resource.NewMilliQuantity(milli, resource.DecimalSI),
	}}}, nil
}

// Event implements record.EventRecorder.
func (w *world) Event(object runtime.Object, kind, reason, message string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	name := object.(metav1.Object).GetName()
	w.events = append(w.events, fmt.Sprintf("%s %s %s: %s", name, kind, reason, message))
}

// Eventf implements record.EventRecorder.
func (w *world) Eventf(object runtime.Object, kind, reason, format string, args ...any) {
	w.Event(object, kind, reason, fmt.Sprintf(format, args...))
}

// set changes the world under its lock.
func (w *world) set(change func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	change()
}

func (w *world) scaleWrites() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.scales)
}

func (w *world) hasEvent(part string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.ContainsFunc(w.events, func(e string) bool { return strings.Contains(e, part) })
}

// decisions is how many decisions asked for the pods' metrics.
func (w *world) decisions() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.asked)
}

func (w *world) condition(name string, kind autoscalingv2.HorizontalPodAutoscalerConditionType) string {
	for _, c := range w.hpa(name).Status.Conditions {
		if c.Type == kind {
			return fmt.Sprintf("%s %s", c.Status, c.Reason)
		}
	}
	return "none"
}

// metric is the value of a series by its name and labels' values.
func (w *world) metric(name string, labels ...string) float64 {
	w.t.Helper()
	families, err := w.registry.Gather()
	if err != nil {
		w.t.Fatal(err)
	}
	for _, family := range families {
		if family.GetName() != name {
			continue
		}
		for _, m := range family.GetMetric() {
			var values []string
			for _, l := range m.GetLabel() {
				values = append(values, l.GetValue())
			}
			if slices.Equal(values, labels) {
				return m.GetGauge().GetValue() + m.GetCounter().GetValue()
			}
		}
	}
	return 0
}

func (w *world) series(name string) int {
	w.t.Helper()
	n, err := testutil.GatherAndCount(w.registry, name)
	if err != nil {
		w.t.Fatal(err)
	}
	return n
}

func (w *world) wantReplicas(name string, want int32, why string) {
	w.t.Helper()
	if got := w.replicas(name); got != want {
		w.t.Fatalf("%s has %d replicas, want %d: %s (events %q)", name, got, want, why, w.events)
	}
}
