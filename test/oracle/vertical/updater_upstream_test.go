package vertical

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/autoscaler/vertical-pod-autoscaler/pkg/admission-controller/resource/pod/patch"
	"k8s.io/autoscaler/vertical-pod-autoscaler/pkg/admission-controller/resource/pod/recommendation"
	upstream "k8s.io/autoscaler/vertical-pod-autoscaler/pkg/apis/autoscaling.k8s.io/v1"
	"k8s.io/autoscaler/vertical-pod-autoscaler/pkg/updater/inplace"
	upstreampriority "k8s.io/autoscaler/vertical-pod-autoscaler/pkg/updater/priority"
	"k8s.io/autoscaler/vertical-pod-autoscaler/pkg/updater/restriction"
	"k8s.io/autoscaler/vertical-pod-autoscaler/pkg/updater/utils"
	"k8s.io/autoscaler/vertical-pod-autoscaler/pkg/utils/limitrange"
	upstreamvpa "k8s.io/autoscaler/vertical-pod-autoscaler/pkg/utils/vpa"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"
	"k8s.io/utils/ptr"
)

// upstreamUpdater is what upstream's updater does with the pods of one
// VerticalPodAutoscaler in a pass, written again: pkg/updater/logic has it in one
// function with lists and limiters. All that decides is upstream's own code.
type upstreamUpdater struct {
	client     *fake.Clientset
	factory    restriction.PodsRestrictionFactory
	processor  upstreamvpa.RecommendationProcessor
	admission  upstreampriority.PodEvictionAdmission
	infeasible map[types.UID]*upstream.RecommendedPodResources
	world      *updaterWorld
	actions    []string
}

func newUpstreamUpdater(t *testing.T, w *updaterWorld) *upstreamUpdater {
	t.Helper()
	u := &upstreamUpdater{
		client: fake.NewClientset(), admission: upstreampriority.NewScalingDirectionPodEvictionAdmission(),
		infeasible: map[types.UID]*upstream.RecommendedPodResources{}, world: w,
	}
	var ranges limitrange.LimitRangeCalculator = fixedRange{w.limitRange}
	u.processor = upstreamvpa.NewCappingRecommendationProcessor(ranges)
	calculators := []patch.Calculator{
		inplace.NewResourceInPlaceUpdatesCalculator(recommendation.NewProvider(ranges, u.processor)),
		inplace.NewInPlaceUpdatedCalculator(), inplace.NewUnboostAnnotationCalculator(),
	}
	factory := informers.NewSharedInformerFactory(u.client, 0)
	w.fill(t, factory)
	u.factory = restriction.NewPodsRestrictionFactory(u.client, factory, w.minReplicas, w.tolerance, calculators,
		w.skipBudget)
	u.client.PrependReactor("create", "pods", func(a clienttesting.Action) (bool, runtime.Object, error) {
		eviction, ok := a.(clienttesting.CreateAction).GetObject().(*policyv1.Eviction)
		if !ok {
			return false, nil, nil
		}
		err := w.outcomes["evict/"+eviction.Name]
		u.actions = append(u.actions, "evict "+eviction.Name+" "+outcomeWord(err))
		return true, nil, err
	})
	u.client.PrependReactor("patch", "pods", func(a clienttesting.Action) (bool, runtime.Object, error) {
		p := a.(clienttesting.PatchAction)
		if p.GetSubresource() != "resize" {
			u.annotated(p)
			return true, &corev1.Pod{}, nil
		}
		err := w.outcomes["resize/"+p.GetName()]
		u.actions = append(u.actions, "resize "+p.GetName()+" "+outcomeWord(err)+" "+
			w.readPatch(t, p.GetName(), p.GetPatch()))
		if err == nil {
			return true, &corev1.Pod{}, nil
		}
		return true, nil, err
	})
	return u
}

// annotated notes which annotations go with a resize.
func (u *upstreamUpdater) annotated(p clienttesting.PatchAction) {
	var operations []struct{ Op, Path string }
	if err := json.Unmarshal(p.GetPatch(), &operations); err != nil {
		u.actions = append(u.actions, err.Error())
		return
	}
	var removed []string
	for _, o := range operations {
		if name, ok := strings.CutPrefix(o.Path, "/metadata/annotations/vpaCpuStartupBoost~1"); ok && o.Op == "remove" {
			removed = append(removed, name)
		}
	}
	slices.Sort(removed)
	u.actions[len(u.actions)-1] += " unboosts " + strings.Join(removed, ",")
}

func outcomeWord(err error) string {
	switch {
	case err == nil:
		return "done"
	case apierrors.IsTooManyRequests(err):
		return "disallowed"
	case isNodeCapacity(err):
		return "infeasible"
	}
	return "failed"
}

func isNodeCapacity(err error) bool {
	var status *apierrors.StatusError
	return errors.As(err, &status) && status.ErrStatus.Details != nil &&
		slices.ContainsFunc(status.ErrStatus.Details.Causes,
			func(c metav1.StatusCause) bool { return c.Type == utils.InfeasibleCauseNodeCapacity })
}

// pass returns what was done, after what was wanted in which order.
func (u *upstreamUpdater) pass(vpa *upstream.VerticalPodAutoscaler, live []*corev1.Pod) (wanted, actions []string) {
	u.actions = nil
	maps.DeleteFunc(u.infeasible, func(uid types.UID, _ *upstream.RecommendedPodResources) bool {
		return !slices.ContainsFunc(live, func(p *corev1.Pod) bool { return p.UID == uid })
	})
	u.admission.LoopInit(live, map[*upstream.VerticalPodAutoscaler][]*corev1.Pod{vpa: live})
	groups, creators, err := u.factory.GetCreatorMaps(live, vpa)
	if err != nil {
		return nil, []string{err.Error()}
	}
	available := live
	if upstreamvpa.HasStartupBoost(vpa) {
		available = keep(live, func(p *corev1.Pod) bool { return !upstreamvpa.PodHasCPUBoostInProgressAnnotation(p) })
	}
	recorder := &record.FakeRecorder{}
	resizer := u.factory.NewPodsInPlaceRestriction(groups, creators)
	evicter := u.factory.NewPodsEvictionRestriction(groups, creators)
	var order, evict []*corev1.Pod
	switch mode := upstreamvpa.GetUpdateMode(vpa); mode {
	case upstream.UpdateModeOff, upstream.UpdateModeInitial:
		return nil, nil
	case upstream.UpdateModeInPlace, upstream.UpdateModeInPlaceOrRecreate:
		order = u.order(vpa, keep(available, func(p *corev1.Pod) bool { return u.mayResize(resizer, vpa, p) }))
		for _, pod := range order {
			if u.resize(resizer, vpa, pod, recorder) {
				evict = append(evict, pod)
			}
		}
	default:
		order = u.order(vpa, keep(available, evicter.CanEvict))
		evict = order
	}
	for _, pod := range evict {
		if evicter.CanEvict(pod) {
			_ = evicter.Evict(pod, vpa, recorder) // The reactor notes what came of it.
		}
	}
	for _, pod := range order {
		wanted = append(wanted, pod.Name)
	}
	return wanted, u.actions
}

func (u *upstreamUpdater) mayResize(
	resizer restriction.PodsInPlaceRestriction, vpa *upstream.VerticalPodAutoscaler, pod *corev1.Pod,
) bool {
	mode := upstreamvpa.GetUpdateMode(vpa)
	decision := resizer.CanInPlaceUpdate(pod, vpa, u.infeasible)
	u.world.reached[fmt.Sprintf("%s in mode %s", decision, mode)]++
	switch decision {
	case utils.InPlaceApproved:
		return true
	case utils.InPlaceInfeasible, utils.InPlaceDeferred:
		return mode == upstream.UpdateModeInPlace
	case utils.InPlaceEvict:
		return mode == upstream.UpdateModeInPlaceOrRecreate
	}
	return false
}

// resize returns whether the pod is to be evicted.
func (u *upstreamUpdater) resize(
	resizer restriction.PodsInPlaceRestriction, vpa *upstream.VerticalPodAutoscaler, pod *corev1.Pod,
	recorder record.EventRecorder,
) bool {
	inPlace := upstreamvpa.GetUpdateMode(vpa) == upstream.UpdateModeInPlace
	switch resizer.CanInPlaceUpdate(pod, vpa, u.infeasible) {
	case utils.InPlaceDeferred:
		if !inPlace {
			return false
		}
	case utils.InPlaceEvict:
		return true
	case utils.InPlaceInfeasibleCached:
		return false
	case utils.InPlaceInfeasible:
		u.infeasible[pod.UID] = vpa.Status.Recommendation
	}
	err := resizer.InPlaceUpdate(pod, vpa, recorder)
	if err != nil && inPlace && isNodeCapacity(err) {
		u.infeasible[pod.UID] = vpa.Status.Recommendation
	}
	return err != nil && !inPlace
}

func (u *upstreamUpdater) order(vpa *upstream.VerticalPodAutoscaler, pods []*corev1.Pod) []*corev1.Pod {
	calculator := upstreampriority.NewUpdatePriorityCalculator(vpa, upstreampriority.UpdateConfig{
		MinChangePriority: u.world.minChange, PodLifetimeUpdateThreshold: u.world.lifetime,
		EvictAfterOOMThreshold: u.world.afterOOM,
	}, u.processor, upstreampriority.NewProcessor())
	for _, pod := range pods {
		calculator.AddPod(pod, time.Now(), u.infeasible)
	}
	return calculator.GetSortedPods(u.admission)
}

// unboost ends start-up boosts; each pod's budget is counted for itself.
func (u *upstreamUpdater) unboost(vpa *upstream.VerticalPodAutoscaler, live []*corev1.Pod) []string {
	u.actions = nil
	for _, pod := range live {
		groups, creators, err := u.factory.GetCreatorMaps(live, vpa)
		if err != nil {
			return []string{err.Error()}
		}
		resizer := u.factory.NewPodsInPlaceRestriction(groups, creators)
		if upstreamvpa.PodHasCPUBoostInProgressAnnotation(pod) && resizer.CanUnboost(pod, vpa) {
			_ = resizer.InPlaceUpdate(pod, vpa, &record.FakeRecorder{})
		}
	}
	return u.actions
}

func keep(pods []*corev1.Pod, is func(*corev1.Pod) bool) []*corev1.Pod {
	return slices.DeleteFunc(slices.Clone(pods), func(p *corev1.Pod) bool { return !is(p) })
}

// readPatch is what a patch of pods/resize sets, as describe writes it.
func (w *updaterWorld) readPatch(t *testing.T, pod string, body []byte) string {
	t.Helper()
	var operations []struct {
		Op, Path string
		Value    any
	}
	if err := json.Unmarshal(body, &operations); err != nil {
		t.Fatal(err)
	}
	var set []string
	for _, o := range operations {
		parts := strings.Split(o.Path, "/") // "", spec, containers, 0, resources, requests, cpu
		if len(parts) != 7 {
			continue
		}
		quantity := resource.MustParse(o.Value.(string))
		amount := quantity.Value()
		if parts[6] == "cpu" {
			amount = quantity.MilliValue()
		}
		set = append(set, fmt.Sprintf("%s.%s.%s=%d", w.containers[mustInt(t, parts[3])], parts[5], parts[6], amount))
	}
	slices.Sort(set)
	return strings.Join(set, " ")
}

func mustInt(t *testing.T, text string) int {
	t.Helper()
	var n int
	if _, err := fmt.Sscan(text, &n); err != nil || n > math.MaxInt32 {
		t.Fatal(text, err)
	}
	return n
}

// fixedRange is the LimitRange of containers of the only namespace.
type fixedRange struct{ container *corev1.LimitRangeItem }

func (f fixedRange) GetContainerLimitRangeItem(string) (*corev1.LimitRangeItem, error) {
	return f.container, nil
}
func (f fixedRange) GetPodLimitRangeItem(string) (*corev1.LimitRangeItem, error) { return nil, nil }

// fill puts the pods' creators into the caches.
func (w *updaterWorld) fill(t *testing.T, factory informers.SharedInformerFactory) {
	t.Helper()
	add := func(informer interface{ GetStore() cache.Store }, object any) {
		if err := informer.GetStore().Add(object); err != nil {
			t.Fatal(err)
		}
	}
	for creator, configured := range w.creators {
		kind, name, _ := strings.Cut(creator, "/")
		meta := metav1.ObjectMeta{Namespace: w.namespace, Name: name}
		replicas := ptr.To(configured)
		switch {
		case configured < 0: // It is gone.
		case kind == "ReplicaSet":
			add(factory.Apps().V1().ReplicaSets().Informer(),
				&appsv1.ReplicaSet{ObjectMeta: meta, Spec: appsv1.ReplicaSetSpec{Replicas: replicas}})
		case kind == "StatefulSet":
			add(factory.Apps().V1().StatefulSets().Informer(),
				&appsv1.StatefulSet{ObjectMeta: meta, Spec: appsv1.StatefulSetSpec{Replicas: replicas}})
		case kind == "ReplicationController":
			add(factory.Core().V1().ReplicationControllers().Informer(),
				&corev1.ReplicationController{ObjectMeta: meta, Spec: corev1.ReplicationControllerSpec{Replicas: replicas}})
		case kind == "DaemonSet":
			add(factory.Apps().V1().DaemonSets().Informer(),
				&appsv1.DaemonSet{ObjectMeta: meta, Status: appsv1.DaemonSetStatus{DesiredNumberScheduled: configured}})
		}
	}
}
