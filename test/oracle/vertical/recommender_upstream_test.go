package vertical

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	upstream "k8s.io/autoscaler/vertical-pod-autoscaler/pkg/apis/autoscaling.k8s.io/v1"
	vpaclient "k8s.io/autoscaler/vertical-pod-autoscaler/pkg/client/clientset/versioned/typed/autoscaling.k8s.io/v1"
	vpalisters "k8s.io/autoscaler/vertical-pod-autoscaler/pkg/client/listers/autoscaling.k8s.io/v1"
	"k8s.io/autoscaler/vertical-pod-autoscaler/pkg/recommender/checkpoint"
	"k8s.io/autoscaler/vertical-pod-autoscaler/pkg/recommender/input"
	"k8s.io/autoscaler/vertical-pod-autoscaler/pkg/recommender/input/metrics"
	"k8s.io/autoscaler/vertical-pod-autoscaler/pkg/recommender/input/oom"
	recommenderlogic "k8s.io/autoscaler/vertical-pod-autoscaler/pkg/recommender/logic"
	"k8s.io/autoscaler/vertical-pod-autoscaler/pkg/recommender/model"
	"k8s.io/autoscaler/vertical-pod-autoscaler/pkg/recommender/routines"
	controllerfetcher "k8s.io/autoscaler/vertical-pod-autoscaler/pkg/target/controller_fetcher"
	corelisters "k8s.io/client-go/listers/core/v1"

	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical"
)

const (
	historyNamespace = "shop"
	historyName      = "web"
)

// upstreamRecommender is upstream's recommender, its whole loop, between what
// stands for the API and the metrics.
type upstreamRecommender struct {
	t       *testing.T
	flags   *recommenderFlags
	scene   *scene
	object  *upstream.VerticalPodAutoscaler
	saved   map[string]upstream.VerticalPodAutoscalerCheckpointStatus
	patched bool
	ooms    oomChannel

	loop routines.Recommender
}

func newUpstreamRecommender(t *testing.T, flags *recommenderFlags) *upstreamRecommender {
	u := &upstreamRecommender{
		t: t, flags: flags, saved: map[string]upstream.VerticalPodAutoscalerCheckpointStatus{},
		object: &upstream.VerticalPodAutoscaler{
			ObjectMeta: metav1.ObjectMeta{Namespace: historyNamespace, Name: historyName, Annotations: map[string]string{}},
			Spec: upstream.VerticalPodAutoscalerSpec{
				TargetRef: &autoscalingv1.CrossVersionObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Name: "web"},
			},
		},
	}
	for _, name := range flags.wholeCPUs {
		u.object.Annotations["vpa-post-processor.kubernetes.io/"+name+"_integerCPU"] = "true"
	}
	model.InitializeAggregationsConfig(model.NewAggregationsConfig(flags.interval, flags.count,
		flags.halfLife[vertical.Memory],
		flags.halfLife[vertical.CPU], flags.oomRatio, flags.oomMinBytes))
	return u
}

// begin is a recommender that has just been started, with what is saved.
func (u *upstreamRecommender) begin() {
	cluster := model.NewClusterState(time.Hour)
	u.ooms = make(oomChannel, 100)
	feeder := input.ClusterStateFeederFactory{
		ClusterState: cluster, MetricsClient: u, VpaCheckpointClient: u, VpaCheckpointLister: checkpointLister{u: u},
		VpaLister: vpaLister{u: u},
		PodLister: podLister{u: u}, OOMObserver: u.ooms, SelectorFetcher: u, ControllerFetcher: u,
		RecommenderName: input.DefaultRecommenderName,
	}.Make()
	f := u.flags
	var processors []routines.RecommendationPostProcessor
	if f.integerCPU {
		processors = append(processors, &routines.IntegerCPUPostProcessor{})
	}
	most := corev1.ResourceList{}
	if f.maxCPUMilli > 0 {
		most[corev1.ResourceCPU] = *resource.NewMilliQuantity(f.maxCPUMilli, resource.DecimalSI)
	}
	if f.maxMemoryBytes > 0 {
		most[corev1.ResourceMemory] = *resource.NewQuantity(f.maxMemoryBytes, resource.BinarySI)
	}
	processors = append(processors, routines.NewCappingRecommendationProcessor(most))
	u.loop = routines.RecommenderFactory{
		ClusterState: cluster, ClusterStateFeeder: feeder, ControllerFetcher: u,
		CheckpointWriter: checkpoint.NewCheckpointWriter(cluster, u),
		PodResourceRecommender: recommenderlogic.CreatePodResourceRecommender(recommenderlogic.RecommendationConfig{
			SafetyMarginFraction: f.margin, PodMinCPUMillicores: f.podMinCPUMilli, PodMinMemoryMb: f.podMinMemoryMiB,
			TargetCPUPercentile: f.target[vertical.CPU], LowerBoundCPUPercentile: f.lower[vertical.CPU],
			UpperBoundCPUPercentile: f.upper[vertical.CPU],
			TargetMemoryPercentile:  f.target[vertical.Memory], LowerBoundMemoryPercentile: f.lower[vertical.Memory],
			UpperBoundMemoryPercentile: f.upper[vertical.Memory],
			ConfidenceIntervalCPU:      f.confidence[vertical.CPU], ConfidenceIntervalMemory: f.confidence[vertical.Memory],
		}),
		RecommendationFormat: recommenderlogic.RecommendationFormat{
			HumanizeMemory: f.humanize, RoundCPUMillicores: f.roundCPU, RoundMemoryBytes: f.roundMemory,
		},
		VpaClient: u, RecommendationPostProcessors: processors,
		CheckpointsGCInterval: 10 * time.Minute, CheckpointsWriteTimeout: time.Minute, UseCheckpoints: true,
		UpdateWorkerCount: 1,
	}.Make()
	feeder.InitFromCheckpoints(context.Background())
}

// pass is one of the loop.
func (u *upstreamRecommender) pass(s *scene) {
	time.Sleep(time.Until(s.at)) //nolint:forbidigo // virtual time: this is what moves it
	before := u.scene
	u.scene, u.patched = s, false
	if before == nil || before.generation != s.generation {
		u.object = u.object.DeepCopy()
		u.object.Generation, u.object.Spec.ResourcePolicy = s.generation, s.policy
	}
	if before == nil || s.restart != goesOn {
		u.begin()
	}
	for _, o := range s.ooms {
		if !o.isStanding {
			u.ooms <- oom.OomInfo{
				ContainerID: containerID(o.pod, o.container), Timestamp: o.at, Memory: model.ResourceAmount(o.request),
			}
		}
	}
	u.loop.RunOnce()
}

func containerID(pod, container string) model.ContainerID {
	return model.ContainerID{PodID: model.PodID{Namespace: historyNamespace, PodName: pod}, ContainerName: container}
}

// oomChannel stands for the observer of pods.
type oomChannel chan oom.OomInfo

func (c oomChannel) GetObservedOomsChannel() chan oom.OomInfo { return c }
func (oomChannel) OnEvent(*corev1.Event)                      {}
func (oomChannel) OnAdd(any, bool)                            {}
func (oomChannel) OnUpdate(any, any)                          {}
func (oomChannel) OnDelete(any)                               {}

// GetContainersMetrics stands for the metrics API.
func (u *upstreamRecommender) GetContainersMetrics(context.Context) ([]*metrics.ContainerMetricsSnapshot, error) {
	var all []*metrics.ContainerMetricsSnapshot
	for _, s := range u.scene.samples {
		used := model.Resources{}
		if s.hasCPU {
			used[model.ResourceCPU] = model.ResourceAmount(s.cpuMilli)
		}
		if s.hasMem {
			used[model.ResourceMemory] = model.ResourceAmount(s.memory)
		}
		all = append(all, &metrics.ContainerMetricsSnapshot{ID: containerID(s.pod, s.container),
			SnapshotTime: s.at, Usage: used})
	}
	return all, nil
}

// Fetch and FindTopMostWellKnownOrScalable stand for looking up the target.
func (u *upstreamRecommender) Fetch(context.Context, *upstream.VerticalPodAutoscaler) (labels.Selector, error) {
	if rest, ok := strings.CutPrefix(u.scene.problem, "Cannot read targetRef. Reason: "); ok {
		return nil, errors.New(rest)
	}
	return labels.SelectorFromSet(labels.Set{"app": "web"}), nil
}

func (u *upstreamRecommender) FindTopMostWellKnownOrScalable(
	_ context.Context, key *controllerfetcher.ControllerKeyWithAPIVersion,
) (*controllerfetcher.ControllerKeyWithAPIVersion, error) {
	if strings.Contains(u.scene.problem, "has a parent controller") {
		return &controllerfetcher.ControllerKeyWithAPIVersion{}, nil
	}
	return key, nil
}

// podLister lists the scene's pods.
type podLister struct {
	corelisters.PodLister
	u *upstreamRecommender
}

func (l podLister) List(labels.Selector) ([]*corev1.Pod, error) {
	var all []*corev1.Pod
	for _, p := range l.u.scene.pods {
		pod := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: historyNamespace, Name: p.name, Labels: map[string]string{"app": "web", "revision": p.revision},
			},
			Status: corev1.PodStatus{Phase: p.phase},
		}
		for _, name := range p.containers {
			pod.Spec.Containers = append(pod.Spec.Containers, corev1.Container{Name: name})
		}
		all = append(all, pod)
	}
	return all, nil
}

type vpaLister struct {
	vpalisters.VerticalPodAutoscalerLister
	u *upstreamRecommender
}

func (l vpaLister) List(labels.Selector) ([]*upstream.VerticalPodAutoscaler, error) {
	return []*upstream.VerticalPodAutoscaler{l.u.object}, nil
}

type checkpointLister struct {
	vpalisters.VerticalPodAutoscalerCheckpointLister
	u *upstreamRecommender
}

func (l checkpointLister) List(labels.Selector) ([]*upstream.VerticalPodAutoscalerCheckpoint, error) {
	var all []*upstream.VerticalPodAutoscalerCheckpoint
	for container, status := range l.u.saved {
		all = append(all, &upstream.VerticalPodAutoscalerCheckpoint{
			ObjectMeta: metav1.ObjectMeta{Namespace: historyNamespace, Name: historyName + "-" + container},
			Spec:       upstream.VerticalPodAutoscalerCheckpointSpec{VPAObjectName: historyName, ContainerName: container},
			Status:     status,
		})
	}
	slices.SortFunc(all,
		func(a, b *upstream.VerticalPodAutoscalerCheckpoint) int { return strings.Compare(a.Name, b.Name) })
	return all, nil
}

// The clients that write.

func (u *upstreamRecommender) VerticalPodAutoscalers(string) vpaclient.VerticalPodAutoscalerInterface {
	return vpaWriter{u: u}
}

func (u *upstreamRecommender) VerticalPodAutoscalerCheckpoints(
	string,
) vpaclient.VerticalPodAutoscalerCheckpointInterface {
	return checkpointWriter{u: u}
}

type vpaWriter struct {
	vpaclient.VerticalPodAutoscalerInterface
	u *upstreamRecommender
}

func (w vpaWriter) Patch( //nolint:revive // the interface has as many
	_ context.Context, _ string, _ types.PatchType, data []byte, _ metav1.PatchOptions, _ ...string,
) (*upstream.VerticalPodAutoscaler, error) {
	var patches []struct {
		Value upstream.VerticalPodAutoscalerStatus
	}
	if err := json.Unmarshal(data, &patches); err != nil {
		w.u.t.Error(err)
		return nil, err
	}
	w.u.object = w.u.object.DeepCopy()
	w.u.object.Status, w.u.patched = patches[0].Value, true
	return w.u.object, nil
}

type checkpointWriter struct {
	vpaclient.VerticalPodAutoscalerCheckpointInterface
	u *upstreamRecommender
}

func (w checkpointWriter) Patch( //nolint:revive // the interface has as many
	_ context.Context, name string, _ types.PatchType, data []byte, _ metav1.PatchOptions, _ ...string,
) (*upstream.VerticalPodAutoscalerCheckpoint, error) {
	container := strings.TrimPrefix(name, historyName+"-")
	if _, ok := w.u.saved[container]; !ok {
		return nil, fmt.Errorf("verticalpodautoscalercheckpoints %q not found", name)
	}
	var patches []struct {
		Value upstream.VerticalPodAutoscalerCheckpointStatus
	}
	if err := json.Unmarshal(data, &patches); err != nil {
		w.u.t.Error(err)
		return nil, err
	}
	w.u.saved[container] = patches[0].Value
	return &upstream.VerticalPodAutoscalerCheckpoint{}, nil
}

func (w checkpointWriter) Create(
	_ context.Context, object *upstream.VerticalPodAutoscalerCheckpoint, _ metav1.CreateOptions,
) (*upstream.VerticalPodAutoscalerCheckpoint, error) {
	w.u.saved[object.Spec.ContainerName] = throughJSON(w.u.t, object.Status)
	return object, nil
}

// throughJSON is the value as the API gives it back.
func throughJSON[T any](t *testing.T, value T) T {
	t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	var back T
	if err := json.Unmarshal(text, &back); err != nil {
		t.Fatal(err)
	}
	return back
}
