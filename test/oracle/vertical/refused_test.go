package vertical

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"
	core "k8s.io/kubernetes/pkg/apis/core"
	corev1defaults "k8s.io/kubernetes/pkg/apis/core/v1"
	corevalidation "k8s.io/kubernetes/pkg/apis/core/validation"
	"k8s.io/kubernetes/plugin/pkg/admission/limitranger"

	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/divergence"
)

// TestRefusedAsTheAPIServer: a new pod gets what the API server's validation and LimitRanger let in, or nothing; and it
// gets nothing only where they would refuse it. What they refuse without any change is not Plimsoll's.
func TestRefusedAsTheAPIServer(t *testing.T) {
	silence(t)
	reached := map[string]int{}
	for i := range *admissionPods {
		seed := *admissionSeed + uint64(i)
		w := newAdmissionWorld(seed, map[string]int{})
		w.addWhole()
		for i := range w.ranges {
			corev1defaults.SetDefaults_LimitRangeItem(&w.ranges[i])
		}
		w.pod = w.limited(t, w.pod)
		body := w.review("", "pods", w.pod, nil)
		given := w.given(t, body, divergence.Default)
		isKept := equality.Semantic.DeepEqual(given.Spec.Containers, w.pod.Spec.Containers)
		problem, left := w.problem(t, given), given.Annotations["plimsoll.dev/not-updated"]
		switch {
		case problem != "" && !isKept && w.problem(t, w.pod) != "":
			reached["refused anyway"]++
		case problem != "" && !isKept:
			t.Fatalf("seed %d: a pod that is changed is refused: %s\n%s", seed, problem, w)
		case left != "":
			reached["left out"]++
			without := w.given(t, body, divergence.Default&^divergence.AdmissiblePods)
			if refused := w.problem(t, without); refused == "" {
				t.Fatalf("seed %d: the API server refuses nothing, but it is left out: %s\n%s", seed, left, w)
			}
		case !isKept:
			reached["changed"]++
		}
	}
	report(t, reached, []string{"left out", "changed", "refused anyway"}, true)
}

// addWhole adds what the comparison with upstream has not: init containers, resources of the pod, ratios.
func (w *admissionWorld) addWhole() {
	always := corev1.ContainerRestartPolicyAlways
	for _, name := range []string{"i0", "i1"} {
		if !w.one(3) {
			continue
		}
		c := corev1.Container{Name: name, Resources: corev1.ResourceRequirements{Requests: w.list(), Limits: w.list()}}
		if w.one(2) {
			c.RestartPolicy = &always
		}
		w.pod.Spec.InitContainers = append(w.pod.Spec.InitContainers, c)
	}
	if w.one(4) {
		w.pod.Spec.Resources = &corev1.ResourceRequirements{Requests: w.list(), Limits: w.list()}
	}
	for i := range w.ranges {
		if w.one(4) {
			w.ranges[i].MaxLimitRequestRatio = corev1.ResourceList{
				corev1.ResourceCPU: *resource.NewMilliQuantity(1000+w.Int64N(20000), resource.DecimalSI),
			}
		}
	}
}

// limited is the pod as the LimitRanger hands it on to webhooks.
func (w *admissionWorld) limited(t *testing.T, p *corev1.Pod) *corev1.Pod {
	t.Helper()
	limited := &corev1.Pod{}
	if err := corev1defaults.Convert_core_Pod_To_v1_Pod(w.mutated(t, p), limited, nil); err != nil {
		t.Fatal(err)
	}
	return limited
}

func (w *admissionWorld) mutated(t *testing.T, p *corev1.Pod) *core.Pod {
	t.Helper()
	defaulted, internal := p.DeepCopy(), &core.Pod{}
	corev1defaults.SetObjectDefaults_Pod(defaulted)
	if err := corev1defaults.Convert_v1_Pod_To_core_Pod(defaulted, internal, nil); err != nil {
		t.Fatal(err)
	}
	for _, lr := range w.limitRanges() {
		if err := limitranger.PodMutateLimitFunc(lr, internal); err != nil {
			t.Fatal(err)
		}
	}
	return internal
}

// given is the pod after Plimsoll's patch.
func (w *admissionWorld) given(t *testing.T, body []byte, d divergence.Set) *corev1.Pod {
	t.Helper()
	response, _ := answerOf(t, w.plimsoll(t, d), body)
	return w.patched(t, response)
}

// problem is what the API server has against the pod's resources; empty if it lets the pod in.
func (w *admissionWorld) problem(t *testing.T, p *corev1.Pod) string {
	t.Helper()
	internal := w.mutated(t, p)
	var problems []string
	for _, err := range corevalidation.ValidatePodCreate(internal, corevalidation.PodValidationOptions{
		PodLevelResourcesEnabled: true,
	}) {
		if strings.Contains(err.Field, "resources") {
			problems = append(problems, err.Error())
		}
	}
	for _, lr := range w.limitRanges() {
		if err := limitranger.PodValidateLimitFunc(lr, internal); err != nil {
			problems = append(problems, err.Error())
		}
	}
	return strings.Join(problems, "; ")
}
