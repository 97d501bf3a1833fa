package oracle

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"sync"
	"testing/synctest"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/record"
)

const (
	namespace = "shop"
	target    = "web"
	object    = "web"
	rival     = "rival"
)

var (
	hpaResource        = autoscalingv2.SchemeGroupVersion.WithResource("horizontalpodautoscalers")
	deploymentResource = appsv1.SchemeGroupVersion.WithResource("deployments")
	podResource        = corev1.SchemeGroupVersion.WithResource("pods")
)

// world is a cluster with one target: an API server that counts resource
// versions and refuses conflicting writes, and metrics APIs.
type world struct {
	record.EventRecorder // of which the controllers use Event and Eventf

	client *fake.Clientset
	begun  time.Time
	// period is the controllers' sync period.
	period time.Duration

	// mu guards what follows.
	mu      sync.Mutex
	version int
	uids    int
	pods    map[string]*corev1.Pod
	now     *Situation
	// count is the target's spec.replicas, scaleVersion its resource version.
	count        int32
	scaleVersion int
	conflicts    int
	writes       []string
	events       []string
	// series reads what the controller has counted; counted is what it had at the
	// beginning of the step.
	series  func() series
	counted series
}

func newWorld() *world {
	// The newer fake keeps managedFields, by which Plimsoll recognises other writers.
	w := &world{client: fake.NewSimpleClientset(), begun: time.Now(), period: never, pods: map[string]*corev1.Pod{}}
	w.client.PrependReactor("update", "horizontalpodautoscalers",
		func(action clienttesting.Action) (bool, runtime.Object, error) {
			update, ok := action.(clienttesting.UpdateAction)
			if !ok || action.GetSubresource() != "status" {
				return false, nil, nil
			}
			hpa, ok := update.GetObject().(*autoscalingv2.HorizontalPodAutoscaler)
			if !ok {
				return false, nil, nil
			}
			stored, err := w.updateStatus(hpa)
			return true, stored, err
		})
	return w
}

// show makes the world what the situation says, short of the object itself.
func (w *world) show(s *Situation) {
	w.mu.Lock()
	previous := w.now
	w.now, w.conflicts, w.writes, w.events = s, s.Scale.Conflicts, nil, nil
	moved := previous == nil || w.count != s.Scale.Spec || previous.Scale != s.Scale
	w.count = s.Scale.Spec
	w.mu.Unlock()
	if moved {
		w.storeTarget()
	}
	w.showPods(s.Pods)
	synctest.Wait()
}

func (w *world) showPods(pods []*corev1.Pod) {
	gone := maps.Clone(w.pods)
	for i, pod := range pods {
		old, known := w.pods[pod.Name]
		delete(gone, pod.Name)
		switch {
		case !known:
			must(w.client.Tracker().Create(podResource, w.versioned(pod), namespace))
		case old != pod && !reflect.DeepEqual(old, pod):
			must(w.client.Tracker().Update(podResource, w.versioned(pod), namespace))
		}
		w.pods[pod.Name] = pod
		if i%50 == 49 {
			// The fake's watches buffer a hundred events.
			synctest.Wait()
		}
	}
	for _, name := range slices.Sorted(maps.Keys(gone)) {
		delete(w.pods, name)
		must(w.client.Tracker().Delete(podResource, namespace, name))
	}
}

func (w *world) versioned(pod *corev1.Pod) *corev1.Pod {
	pod = pod.DeepCopy()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.version++
	pod.ResourceVersion = strconv.Itoa(w.version)
	return pod
}

// storeTarget gives the target a new version, and shows a Deployment to
// watches.
func (w *world) storeTarget() {
	w.mu.Lock()
	w.version++
	w.scaleVersion = w.version
	kind, replicas := w.now.Scale.Kind, w.count
	d := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: target, UID: "target", ResourceVersion: strconv.Itoa(w.version),
		},
		Spec: appsv1.DeploymentSpec{
			Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}},
		},
		Status: appsv1.DeploymentStatus{Replicas: w.now.Scale.Status},
	}
	w.mu.Unlock()
	if kind != "Deployment" {
		return
	}
	err := w.client.Tracker().Update(deploymentResource, d, namespace)
	if apierrors.IsNotFound(err) {
		err = w.client.Tracker().Create(deploymentResource, d, namespace)
	}
	must(err)
}

// touch makes the object be decided.
func (w *world) touch(name string, s *Situation) {
	hpa := w.hpa(name)
	if hpa == nil {
		w.uids++
		hpa = &autoscalingv2.HorizontalPodAutoscaler{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: namespace, Name: name, UID: types.UID(fmt.Sprintf("%s-%d", name, w.uids)), Generation: 1,
			},
			Spec: *s.Spec.DeepCopy(),
		}
		hpa.ResourceVersion = w.nextVersion()
		must(w.client.Tracker().Create(hpaResource, hpa, namespace))
		return
	}
	hpa.Spec = *s.Spec.DeepCopy()
	hpa.Generation++
	w.store(hpa)
}

func (w *world) remove(name string) {
	if w.hpa(name) != nil {
		must(w.client.Tracker().Delete(hpaResource, namespace, name))
		synctest.Wait()
	}
}

// hide takes the object away and returns what puts it back as it was.
func (w *world) hide(name string) (show func()) {
	hpa := w.hpa(name)
	must(w.client.Tracker().Delete(hpaResource, namespace, name))
	return func() { must(w.client.Tracker().Create(hpaResource, hpa, namespace)) }
}

func (w *world) nextVersion() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.version++
	return strconv.Itoa(w.version)
}

func (w *world) store(hpa *autoscalingv2.HorizontalPodAutoscaler) {
	hpa.ResourceVersion = w.nextVersion()
	must(w.client.Tracker().Update(hpaResource, hpa, namespace))
}

// hpa is the stored object; nil if there is none.
func (w *world) hpa(name string) *autoscalingv2.HorizontalPodAutoscaler {
	stored, err := w.client.Tracker().Get(hpaResource, namespace, name)
	if apierrors.IsNotFound(err) {
		return nil
	}
	must(err)
	hpa, ok := stored.(*autoscalingv2.HorizontalPodAutoscaler)
	if !ok {
		panic(fmt.Sprintf("%s is a %T", name, stored))
	}
	return hpa.DeepCopy()
}

func (w *world) updateStatus(hpa *autoscalingv2.HorizontalPodAutoscaler) (runtime.Object, error) {
	w.mu.Lock()
	refusal := w.now.StatusError
	w.mu.Unlock()
	if refusal != "" {
		return nil, errors.New(refusal)
	}
	stored := w.hpa(hpa.Name)
	if stored == nil {
		return nil, apierrors.NewNotFound(hpaResource.GroupResource(), hpa.Name)
	}
	if stored.ResourceVersion != hpa.ResourceVersion {
		return nil, apierrors.NewConflict(hpaResource.GroupResource(), hpa.Name, errors.New("the object has been modified"))
	}
	stored.Status = *hpa.Status.DeepCopy()
	w.store(stored)
	return stored.DeepCopy(), nil
}

// replicas is the target's count.
func (w *world) replicas() int32 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.count
}

// measure says where the series of the controller are that starts now.
func (w *world) measure(of func() series) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.series, w.counted = of, series{}
}

// result is what was done since show.
func (w *world) result() Result {
	counted := w.series()
	w.mu.Lock()
	before := w.counted
	w.counted = counted
	r := Result{Writes: slices.Clone(w.writes), Events: slices.Clone(w.events), Series: counted.since(before)}
	w.mu.Unlock()
	if hpa := w.hpa(object); hpa != nil {
		r.Status = hpa.Status
	}
	if other := w.hpa(rival); other != nil {
		r.Rival = &other.Status
	}
	return r
}

// Event implements record.EventRecorder.
func (w *world) Event(about runtime.Object, kind, reason, message string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	hpa, _ := about.(*autoscalingv2.HorizontalPodAutoscaler)
	w.events = append(w.events, fmt.Sprintf("%s %s %s: %s", hpa.Name, kind, reason, message))
}

// Eventf implements record.EventRecorder.
func (w *world) Eventf(about runtime.Object, kind, reason, format string, args ...any) {
	w.Event(about, kind, reason, fmt.Sprintf(format, args...))
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}
