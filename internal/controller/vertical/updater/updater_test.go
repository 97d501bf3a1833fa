package updater

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	scalefake "k8s.io/client-go/scale/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"
	"k8s.io/utils/ptr"

	vpav1 "github.com/plimsoll-dev/plimsoll/api/autoscaling/v1"
	"github.com/plimsoll-dev/plimsoll/internal/controller/vertical/updater/admission"
	"github.com/plimsoll-dev/plimsoll/internal/controller/vertical/updater/workloads"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/conflict"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/divergence"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/update"
	"github.com/plimsoll-dev/plimsoll/internal/kube/ownership"
	"github.com/plimsoll-dev/plimsoll/internal/kube/podcache"
	observevertical "github.com/plimsoll-dev/plimsoll/internal/observe/vertical"
)

const namespace = "shop"

// allAtOnce permits the eviction of all pods of a workload in the first pass: nothing replaces them here.
const allAtOnce = divergence.Default &^ divergence.CircuitBreaker

// rig is an updater on a fake API server.
type rig struct {
	*Controller
	t      *testing.T
	client *fake.Clientset
	events *record.FakeRecorder
	// written has the conditions, by the object's name; several are written at once.
	mu      sync.Mutex
	written map[string][]vpav1.VerticalPodAutoscalerCondition // guarded by mu while a pass runs
	// evicted has the names of pods.
	evicted []string
	// refuse returns the API server's error for an eviction.
	refuse func(pod string) error
}

// UpdateStatus implements Statuses.
func (r *rig) UpdateStatus(
	_ context.Context, object *vpav1.VerticalPodAutoscaler, change func(*vpav1.VerticalPodAutoscalerStatus) bool,
) (*vpav1.VerticalPodAutoscaler, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !change(&object.Status) {
		return nil, nil
	}
	r.written[object.Name] = append(r.written[object.Name], object.Status.Conditions...)
	return object, nil
}

// newRig returns a rig with workloads of two pods each that request 100m, each with an object in mode Recreate that
// recommends 500m.
func newRig(t *testing.T, change func(*Config), names ...string) *rig {
	t.Helper()
	objects := []runtime.Object{&coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "kube-system", Name: "lease", CreationTimestamp: metav1.NewTime(time.Now().Add(-time.Hour)),
		},
		Spec: coordinationv1.LeaseSpec{RenewTime: ptr.To(metav1.NowMicro())},
	}}
	var vpas []vpav1.VerticalPodAutoscaler
	for _, name := range names {
		objects = append(objects, workloadObjects(name)...)
		vpas = append(vpas, autoscaler(name))
	}
	r := &rig{
		t: t, client: fake.NewClientset(objects...), events: record.NewFakeRecorder(1000),
		written: map[string][]vpav1.VerticalPodAutoscalerCondition{},
	}
	r.client.PrependReactor("create", "pods", func(a clienttesting.Action) (bool, runtime.Object, error) {
		eviction := a.(clienttesting.CreateAction).GetObject().(*policyv1.Eviction)
		if r.refuse != nil {
			if err := r.refuse(eviction.Name); err != nil {
				return true, nil, err
			}
		}
		if uid := eviction.DeleteOptions.Preconditions.UID; string(*uid) != eviction.Name {
			t.Errorf("pod %s is evicted whatever its UID: %s", eviction.Name, *uid)
		}
		r.evicted = append(r.evicted, eviction.Name)
		return true, nil, nil
	})
	factory := informers.NewSharedInformerFactory(r.client, 0)
	owners, err := ownership.New(ownership.Config{
		Informers: factory, Scales: &scalefake.FakeScaleClient{}, Mapper: meta.NewDefaultRESTMapper(nil),
	})
	if err != nil {
		t.Fatal(err)
	}
	cfg := Config{
		Client: r.client, Statuses: r, Events: r.events, Registerer: prometheus.NewRegistry(),
		Sources: workloads.Sources{
			Informers: factory, Pods: podcache.FromInformer(factory.Core().V1().Pods().Informer()), Owners: owners,
			// The informer never runs: the test adds objects to its store.
			Autoscalers: cache.NewSharedIndexInformer(&cache.ListWatch{}, &vpav1.VerticalPodAutoscaler{}, 0,
				cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc}),
		},
		Log: logr.Discard(), Interval: time.Minute,
		Lease:    admission.Lease{Namespace: "kube-system", Name: "lease", Timeout: time.Minute},
		Defaults: update.Policy{MinReplicas: 2, Tolerance: 1, MinChange: 0.1, Lifetime: 12 * time.Hour, Divergences: allAtOnce},
		Gates:    observevertical.Gates{CPUStartupBoost: true},
	}
	if change != nil {
		change(&cfg)
	}
	if r.Controller, err = New(cfg); err != nil {
		t.Fatal(err)
	}
	factory.Start(t.Context().Done())
	for i := range vpas {
		if err := cfg.Autoscalers.GetStore().Add(&vpas[i]); err != nil {
			t.Fatal(err)
		}
	}
	if !cache.WaitForCacheSync(t.Context().Done(), synced(factory), owners.HasSynced) {
		t.Fatal("no caches")
	}
	return r
}

// namespaceOf returns the namespace of a workload: bank's are in one of their own.
func namespaceOf(workload string) string {
	if strings.HasPrefix(workload, "bank") {
		return "bank"
	}
	return namespace
}

func workloadObjects(name string) []runtime.Object {
	selector := &metav1.LabelSelector{MatchLabels: map[string]string{"app": name}}
	owned := func(kind, owner string) []metav1.OwnerReference {
		return []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: kind, Name: owner, Controller: ptr.To(true)}}
	}
	objects := []runtime.Object{
		&appsv1.Deployment{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespaceOf(name), Name: name},
			Spec:       appsv1.DeploymentSpec{Replicas: ptr.To[int32](2), Selector: selector},
		},
		&appsv1.ReplicaSet{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: namespaceOf(name), Name: name + "-1", OwnerReferences: owned("Deployment", name),
			},
			Spec: appsv1.ReplicaSetSpec{Replicas: ptr.To[int32](2), Selector: selector},
		},
	}
	for _, pod := range []string{name + "-1-a", name + "-1-b"} {
		objects = append(objects, &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: namespaceOf(name), Name: pod, UID: types.UID(pod), Labels: selector.MatchLabels,
				OwnerReferences: owned("ReplicaSet", name+"-1"),
			},
			Spec: corev1.PodSpec{NodeName: "node",
				Containers: []corev1.Container{{Name: "app", Resources: corev1.ResourceRequirements{
					Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("100m")},
				}}}},
			Status: corev1.PodStatus{
				Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}},
			},
		})
	}
	return objects
}

func autoscaler(name string) vpav1.VerticalPodAutoscaler {
	target := corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("500m")}
	return vpav1.VerticalPodAutoscaler{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespaceOf(name), Name: name, UID: types.UID("vpa-" + name)},
		Spec: vpav1.VerticalPodAutoscalerSpec{
			TargetRef:    &autoscalingv1.CrossVersionObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Name: name},
			UpdatePolicy: &vpav1.PodUpdatePolicy{UpdateMode: ptr.To(vpav1.UpdateModeRecreate)},
		},
		Status: vpav1.VerticalPodAutoscalerStatus{
			Recommendation: &vpav1.RecommendedPodResources{ContainerRecommendations: []vpav1.RecommendedContainerResources{
				{ContainerName: "app", Target: target, LowerBound: target, UpperBound: target},
			}},
			Conditions: []vpav1.VerticalPodAutoscalerCondition{{Type: vpav1.RecommendationProvided,
				Status: corev1.ConditionTrue}},
		},
	}
}

func (r *rig) passOnce() {
	ctx, cancel := context.WithTimeout(r.t.Context(), r.cfg.Interval)
	defer cancel()
	r.passes.pass(ctx)
	for r.conditions.Waiting() > 0 {
		r.conditions.WriteNext(ctx)
	}
}

func (r *rig) reasonsOf(name string) []string {
	var reasons []string
	for _, c := range r.written[name] {
		if c.Type == "UpdateBlocked" {
			reasons = append(reasons, string(c.Status)+" "+c.Reason)
		}
	}
	return reasons
}

func TestPassEvictsAndSaysSo(t *testing.T) {
	r := newRig(t, nil, "web")
	r.passOnce()
	slices.Sort(r.evicted)
	if !slices.Equal(r.evicted, []string{"web-1-a", "web-1-b"}) {
		t.Errorf("evicted: %v", r.evicted)
	}
	close(r.events.Events)
	var events []string
	for event := range r.events.Events {
		events = append(events, strings.Fields(event)[1])
	}
	if want := []string{"EvictedByVPA", "EvictedPod", "EvictedByVPA", "EvictedPod"}; !slices.Equal(events, want) {
		t.Errorf("events: %v, want %v", events, want)
	}
	if got := testutil.ToFloat64(r.passes.metrics.evicted.WithLabelValues("1", "Recreate", "web", namespace)); got != 2 {
		t.Errorf("evicted_pods_total is %g", got)
	}
	if got := r.reasonsOf("web"); !slices.Equal(got, []string{"False Updating"}) {
		t.Errorf("conditions: %v", got)
	}
}

// The condition about blocked pods is written once, not in each pass, and keeps the conditions of other writers.
func TestConditionIsWrittenOnce(t *testing.T) {
	r := newRig(t, func(c *Config) { c.Defaults.MinReplicas = 3 }, "web")
	for range 3 {
		r.passOnce()
	}
	if got := r.reasonsOf("web"); !slices.Equal(got, []string{"True MinReplicas"}) || len(r.evicted) > 0 {
		t.Errorf("conditions: %v, evicted: %v", got, r.evicted)
	}
	if got := r.written["web"][0].Type; got != vpav1.RecommendationProvided {
		t.Errorf("the other condition is gone: %s", got)
	}
	if got := testutil.ToFloat64(r.passes.metrics.blocked.WithLabelValues("MinReplicas")); got != 2 {
		t.Errorf("%g pods are held back", got)
	}
}

// With a rate limit of one eviction a pass, each of several objects gets its turn.
func TestTurns(t *testing.T) {
	r := newRig(t, func(c *Config) { c.EvictionRate, c.EvictionBurst, c.Interval = 0.0001, 1, time.Second }, "a", "b", "c")
	for range 3 {
		r.passes.actor.limits = newRateLimits(&r.cfg)
		r.passOnce()
	}
	var turns []string
	for _, pod := range r.evicted {
		turns = append(turns, pod[:1])
	}
	slices.Sort(turns)
	if !slices.Equal(turns, []string{"a", "b", "c"}) {
		t.Errorf("evicted: %v", r.evicted)
	}
	if got := testutil.ToFloat64(r.passes.metrics.blocked.WithLabelValues("RateLimit")); got == 0 {
		t.Error("no pod waits for the rate limit")
	}
}

func TestStaleLease(t *testing.T) {
	r := newRig(t, func(c *Config) { c.Lease.Timeout = time.Nanosecond }, "web")
	r.passOnce()
	if got := r.reasonsOf("web"); len(got) > 0 {
		t.Errorf("a Lease that is late once is told: %v", got)
	}
	r.passOnce()
	if got := r.reasonsOf("web"); !slices.Equal(got, []string{"True LeaseStale"}) || len(r.evicted) > 0 {
		t.Errorf("conditions: %v, evicted: %v", got, r.evicted)
	}
	if got := testutil.ToFloat64(r.passes.metrics.lease.WithLabelValues("invalid")); got != 2 {
		t.Errorf("%g passes were left out", got)
	}
}

// A panic over one object does not stop the others.
func TestOneObjectDoesNotStopOthers(t *testing.T) {
	r := newRig(t, func(c *Config) {
		c.Conflicts = func(vpa *vpav1.VerticalPodAutoscaler, _ []string) []conflict.Conflict {
			if vpa.Name == "bad" {
				panic("a defect")
			}
			return nil
		}
	}, "bad", "good")
	r.passOnce()
	if !slices.ContainsFunc(r.evicted, func(pod string) bool { return strings.HasPrefix(pod, "good") }) {
		t.Errorf("evicted: %v", r.evicted)
	}
	if got := testutil.ToFloat64(r.passes.metrics.panics); got != 1 {
		t.Errorf("%g panics are counted", got)
	}
}

func TestRefusals(t *testing.T) {
	for why, c := range map[string]struct {
		err  error
		want string
	}{
		"a budget": {apierrors.NewTooManyRequests("the disruption budget", 10), "True PodDisruptionBudget"},
		"trouble":  {apierrors.NewInternalError(errors.New("broken")), "True Failed"},
	} {
		r := newRig(t, nil, "web")
		r.refuse = func(string) error { return c.err }
		r.passOnce()
		if got := r.reasonsOf("web"); !slices.Equal(got, []string{c.want}) {
			t.Errorf("%s: %v, want %s", why, got, c.want)
		}
	}
}

// The state and the series of a deleted object are dropped.
func TestForgets(t *testing.T) {
	r := newRig(t, nil, "web")
	r.passOnce()
	if len(r.passes.decider.states.states) != 1 {
		t.Fatalf("%d states", len(r.passes.decider.states.states))
	}
	vpa := autoscaler("web")
	if err := r.cfg.Autoscalers.GetStore().Delete(&vpa); err != nil {
		t.Fatal(err)
	}
	r.passOnce()
	if len(r.passes.decider.states.states) != 0 || testutil.CollectAndCount(r.passes.metrics.evicted) != 0 {
		t.Errorf("%d states, %d series", len(r.passes.decider.states.states), testutil.CollectAndCount(r.passes.metrics.evicted))
	}
}

// If several objects have one workload, the oldest controls the pods.
func TestTheOldestControls(t *testing.T) {
	r := newRig(t, nil, "web")
	younger := autoscaler("web")
	younger.Name, younger.UID, younger.CreationTimestamp = "a-younger", "2", metav1.Now()
	if err := r.cfg.Autoscalers.GetStore().Add(&younger); err != nil {
		t.Fatal(err)
	}
	for _, w := range r.workloads.Find(t.Context()) {
		if want := map[string]int{"web": 2, "a-younger": 0}[w.VPA.Name]; len(w.Pods) != want {
			t.Errorf("%s has %d pods", w.VPA.Name, len(w.Pods))
		}
	}
}

func TestConfigIsChecked(t *testing.T) {
	if _, err := New(Config{}); err == nil {
		t.Error("an updater without anything")
	}
}

// synced reports that every cache of the factory is filled.
func synced(factory informers.SharedInformerFactory) cache.InformerSynced {
	return func() bool {
		return factory.Core().V1().Pods().Informer().HasSynced() && factory.Core().V1().Nodes().Informer().HasSynced() &&
			factory.Core().V1().ResourceQuotas().Informer().HasSynced() &&
			factory.Core().V1().LimitRanges().Informer().HasSynced() &&
			factory.Apps().V1().Deployments().Informer().HasSynced() && factory.Apps().V1().ReplicaSets().Informer().HasSynced()
	}
}
