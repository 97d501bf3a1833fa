package vertical

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"

	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"

	vpav1 "github.com/plimsoll-dev/plimsoll/api/autoscaling/v1"
	"github.com/plimsoll-dev/plimsoll/internal/observe/vertical/validation"
)

// admissionClient answers no request: what is read is in the informers' stores.
var admissionClient kubernetes.Interface = fake.NewClientset()

// admissionWorld is a new pod with what decides about it, drawn from a seed.
type admissionWorld struct {
	*rand.Rand
	reached  map[string]int
	client   kubernetes.Interface
	pod      *corev1.Pod
	vpa      *vpav1.VerticalPodAutoscaler
	ranges   []corev1.LimitRangeItem
	gates    validation.Features
	maxBoost resource.Quantity
}

func newAdmissionWorld(seed uint64, reached map[string]int) *admissionWorld {
	w := &admissionWorld{Rand: rand.New(rand.NewPCG(seed, 7)), reached: reached, client: admissionClient}
	w.gates = validation.Features{CPUStartupBoost: w.one(3), PerVPAConfig: w.one(2), InPlace: w.one(2)}
	if w.one(3) {
		w.maxBoost = w.cpu()
	}
	w.pod = &corev1.Pod{ObjectMeta: metav1.ObjectMeta{GenerateName: "web-", Namespace: "default"}}
	if w.one(2) {
		w.pod.Annotations = map[string]string{"a": "b"}
	}
	for i := range 1 + w.IntN(3) {
		c := corev1.Container{Name: fmt.Sprintf("c%d", i)}
		c.Resources.Requests, c.Resources.Limits = w.list(), w.list()
		w.pod.Spec.Containers = append(w.pod.Spec.Containers, c)
	}
	w.vpa = &vpav1.VerticalPodAutoscaler{ObjectMeta: metav1.ObjectMeta{Name: "shop", Namespace: "default"}}
	w.addPolicies()
	if !w.one(8) {
		w.vpa.Status.Recommendation = &vpav1.RecommendedPodResources{ContainerRecommendations: w.recommendations()}
	}
	w.addRanges()
	return w
}

// one is true once in n.
func (w *admissionWorld) one(n int) bool { return w.IntN(n) == 0 }

// cpu is CPU in thousandths: mostly what containers have, sometimes absurd.
func (w *admissionWorld) cpu() resource.Quantity {
	switch w.IntN(12) {
	case 0:
		return resource.MustParse("0")
	case 1:
		return *resource.NewMilliQuantity(1+w.Int64N(3), resource.DecimalSI)
	case 2:
		return *resource.NewMilliQuantity(w.Int64N(1e14), resource.DecimalSI)
	case 3:
		return *resource.NewQuantity(1+w.Int64N(4), resource.DecimalSI)
	}
	return *resource.NewMilliQuantity(10*(1+w.Int64N(200)), resource.DecimalSI)
}

// memory is memory in bytes, in either format. What does not fit thousandths of
// bytes into an integer is left out: there upstream's comparisons overflow.
func (w *admissionWorld) memory() resource.Quantity {
	switch w.IntN(12) {
	case 0:
		return resource.MustParse("0")
	case 1:
		return *resource.NewQuantity(1+w.Int64N(5), resource.DecimalSI)
	case 2:
		return *resource.NewQuantity(w.Int64N(1e14), resource.DecimalSI)
	case 3:
		return *resource.NewQuantity(1+w.Int64N(1<<31), resource.DecimalSI)
	}
	return *resource.NewQuantity((1+w.Int64N(64))<<24, resource.BinarySI)
}

// list is amounts of some resources, or none.
func (w *admissionWorld) list() corev1.ResourceList {
	list := corev1.ResourceList{}
	if !w.one(3) {
		list[corev1.ResourceCPU] = w.cpu()
	}
	if !w.one(3) {
		list[corev1.ResourceMemory] = w.memory()
	}
	if len(list) == 0 {
		return nil
	}
	return list
}

// full is amounts of both resources, mostly.
func (w *admissionWorld) full() corev1.ResourceList {
	list := corev1.ResourceList{corev1.ResourceCPU: w.cpu(), corev1.ResourceMemory: w.memory()}
	if w.one(12) {
		delete(list, corev1.ResourceCPU)
	} else if w.one(12) {
		delete(list, corev1.ResourceMemory)
	}
	return list
}

func (w *admissionWorld) recommendations() []vpav1.RecommendedContainerResources {
	var all []vpav1.RecommendedContainerResources
	for _, c := range w.pod.Spec.Containers {
		if w.one(6) {
			continue
		}
		r := vpav1.RecommendedContainerResources{ContainerName: c.Name, Target: w.full()}
		if !w.one(10) {
			r.LowerBound, r.UpperBound = w.full(), w.full()
		}
		all = append(all, r)
	}
	if w.one(6) {
		all = append(all, vpav1.RecommendedContainerResources{ContainerName: "gone",
			Target: w.full(), LowerBound: w.full(), UpperBound: w.full()})
	}
	return all
}

func chosen[T any](w *admissionWorld, values ...T) *T {
	if i := w.IntN(len(values) + 1); i < len(values) {
		return &values[i]
	}
	return nil
}

func (w *admissionWorld) addPolicies() {
	spec := &w.vpa.Spec
	if !w.one(3) {
		spec.UpdatePolicy = &vpav1.PodUpdatePolicy{UpdateMode: chosen(w,
			vpav1.UpdateModeOff, vpav1.UpdateModeInitial, vpav1.UpdateModeRecreate, vpav1.UpdateModeAuto)}
	}
	if w.one(3) {
		spec.StartupBoost = w.boost()
	}
	if w.one(3) {
		return
	}
	spec.ResourcePolicy = &vpav1.PodResourcePolicy{}
	for _, name := range []string{"c0", "*", "c1", "gone"} {
		if !w.one(2) {
			continue
		}
		p := vpav1.ContainerResourcePolicy{
			ContainerName: name,
			Mode: chosen(w, vpav1.ContainerScalingModeAuto, vpav1.ContainerScalingModeAuto,
				vpav1.ContainerScalingModeOff),
			ControlledValues: chosen(w, vpav1.ContainerControlledValuesRequestsOnly,
				vpav1.ContainerControlledValuesRequestsAndLimits),
			MinAllowed: w.list(), MaxAllowed: w.list(),
		}
		if w.one(3) {
			p.StartupBoost = w.boost()
		}
		spec.ResourcePolicy.ContainerPolicies = append(spec.ResourcePolicy.ContainerPolicies, p)
	}
}

func (w *admissionWorld) boost() *vpav1.StartupBoost {
	if w.one(2) {
		factor := 1 + w.Int32N(5)
		return &vpav1.StartupBoost{CPU: &vpav1.GenericStartupBoost{Type: vpav1.FactorStartupBoostType, Factor: &factor}}
	}
	quantity := w.cpu()
	return &vpav1.StartupBoost{CPU: &vpav1.GenericStartupBoost{Type: vpav1.QuantityStartupBoostType, Quantity: &quantity}}
}

func (w *admissionWorld) addRanges() {
	if w.one(3) {
		return
	}
	for range 1 + w.IntN(3) {
		item := corev1.LimitRangeItem{Type: corev1.LimitTypeContainer}
		if w.one(2) {
			item.Type = corev1.LimitTypePod
		}
		if w.one(2) {
			item.Max = w.list()
		}
		if w.one(2) {
			item.Min = w.list()
		}
		if w.one(2) {
			item.Default = w.list()
		}
		w.ranges = append(w.ranges, item)
	}
}

// limitRanges is one object: in which order upstream reads several is chance.
func (w *admissionWorld) limitRanges() []*corev1.LimitRange {
	if len(w.ranges) == 0 {
		return nil
	}
	return []*corev1.LimitRange{{
		ObjectMeta: metav1.ObjectMeta{Name: "limits", Namespace: "default"}, Spec: corev1.LimitRangeSpec{Limits: w.ranges},
	}}
}

// review is a request about an object; old is nil at its creation.
func (w *admissionWorld) review(group, plural string, object, old any) []byte {
	request := &admissionv1.AdmissionRequest{
		UID: "u", Name: "it", Namespace: "default", Operation: admissionv1.Create,
		Resource:    metav1.GroupVersionResource{Group: group, Version: "v1", Resource: plural},
		RequestKind: &metav1.GroupVersionKind{Group: group, Version: "v1", Kind: "VerticalPodAutoscaler"},
	}
	request.Object = runtime.RawExtension{Raw: mustMarshal(object)}
	if old != nil {
		request.Operation, request.OldObject = admissionv1.Update, runtime.RawExtension{Raw: mustMarshal(old)}
	}
	return mustMarshal(admissionv1.AdmissionReview{
		TypeMeta: metav1.TypeMeta{Kind: "AdmissionReview", APIVersion: "admission.k8s.io/v1"}, Request: request,
	})
}

func mustMarshal(object any) []byte {
	raw, err := json.Marshal(object)
	if err != nil {
		panic(err) // the API's types can be encoded
	}
	return raw
}

// String is the world, to find out why the two differ.
func (w *admissionWorld) String() string {
	return fmt.Sprintf("pod %s\nobject %s\nLimitRanges %s\nfeatures %+v, boost at most %s",
		mustMarshal(w.pod.Spec), mustMarshal(w.vpa), mustMarshal(w.ranges), w.gates, w.maxBoost.String())
}
