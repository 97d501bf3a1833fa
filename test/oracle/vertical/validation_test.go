package vertical

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	vpav1 "github.com/plimsoll-dev/plimsoll/api/autoscaling/v1"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/divergence"
)

// validationReach are texts that must appear in a comparison of 5000 objects.
var validationReach = []string{
	"updateMode is required", "mode is deprecated", "feature gate InPlace", "minReplicas has to be positive",
	"Unsupported value",
	"is lower than min of", "whole number of milli CPUs", "whole number of bytes",
	"controlledValues shouldn't be specified",
	"allowed only because it is present", "feature gate CPUStartupBoost", "must be >= 1 for type Factor",
	"required when type is Quantity",
	"required when type is Factor", "must be either Factor or Quantity", "feature flag PerVPAConfig is disabled",
	"must be greater than or equal to 1.0", "must be greater than or equal to 0", "must be greater than or equal to 1",
	"containerName: Required",
	"must have at most 1 item", "let in", "kept out", "let in at an update", "given the default mode",
}

// TestValidation asks both servers about random objects, absurd ones and updates of
// absurd ones: what is kept out, with which words, with which warnings, and what it
// is changed to.
func TestValidation(t *testing.T) {
	silence(t)
	reached := map[string]int{}
	for i := range *admissionObjects {
		seed := *admissionSeed + uint64(i)
		w := newAdmissionWorld(seed, reached)
		gates{}.set(t, w.gates)
		object, old := w.object(), w.object()
		if !w.one(3) {
			// Mostly what is there already, so that it is kept.
			old.Spec = *object.Spec.DeepCopy()
		}
		// An object whose spec stays what it is is let in by Plimsoll, whatever is in it.
		old.Spec.Recommenders = append(old.Spec.Recommenders, vpav1.VerticalPodAutoscalerRecommenderSelector{Name: "before"})
		body := w.review("autoscaling.k8s.io", "verticalpodautoscalers", object, nil)
		isUpdate := w.one(2)
		if isUpdate {
			body = w.review("autoscaling.k8s.io", "verticalpodautoscalers", object, old)
		}
		theirs, panicked := answerOf(t, w.upstream(t), body)
		ours, broken := answerOf(t, w.plimsoll(t, divergence.None), body)
		if panicked || broken {
			t.Fatalf("seed %d: a panic, upstream's %t, Plimsoll's %t", seed, panicked, broken)
		}
		if diff := cmp.Diff(saidOf(theirs), saidOf(ours)); diff != "" {
			t.Fatalf("seed %d: (-upstream +Plimsoll)\n%s\n%s", seed, diff, mustMarshal(object))
		}
		countSaid(reached, theirs, isUpdate)
	}
	report(t, reached, validationReach, *admissionObjects >= 5000)
	summary = append(summary, row{"admission: random objects", *admissionObjects, *admissionObjects, "none"})
	t.Logf("%d objects from seed %d were answered alike", *admissionObjects, *admissionSeed)
}

// saidOf is an answer, with the texts about maps in order.
func saidOf(response *admissionv1.AdmissionResponse) []string {
	said := []string{fmt.Sprint(response.Allowed, string(response.Patch))}
	said = append(said, response.Warnings...)
	if response.Result == nil {
		return said
	}
	before, _, _ := strings.Cut(response.Result.Message, " is invalid: ")
	said = append(said, fmt.Sprint(before, response.Result.Code, response.Result.Reason))
	var causes []string
	for _, cause := range response.Result.Details.Causes {
		causes = append(causes, fmt.Sprintf("%s %s: %s", cause.Type, cause.Field, cause.Message))
	}
	slices.Sort(causes)
	return append(said, causes...)
}

func countSaid(reached map[string]int, response *admissionv1.AdmissionResponse, isUpdate bool) {
	all := strings.Join(saidOf(response), "\n")
	for _, words := range validationReach {
		if strings.Contains(all, words) || response.Result != nil && strings.Contains(response.Result.Message, words) {
			reached[words]++
		}
	}
	switch {
	case !response.Allowed:
		reached["kept out"]++
	case isUpdate:
		reached["let in at an update"]++
	default:
		reached["let in"]++
	}
	if response.Patch != nil {
		reached["given the default mode"]++
	}
}

// object is a VerticalPodAutoscaler as a user may have written it who did not read
// what is allowed.
func (w *admissionWorld) object() *vpav1.VerticalPodAutoscaler {
	vpa := &vpav1.VerticalPodAutoscaler{}
	vpa.Name, vpa.Namespace = "it", "default"
	spec := &vpa.Spec
	if !w.one(3) {
		spec.UpdatePolicy = &vpav1.PodUpdatePolicy{
			UpdateMode: chosen(w, vpav1.UpdateModeOff, vpav1.UpdateModeInPlace, vpav1.UpdateModeAuto, vpav1.UpdateMode("Never"),
				vpav1.UpdateModeInPlaceOrRecreate, vpav1.UpdateModeInitial),
			MinReplicas: chosen[int32](w, 0, -3, 2, 4), EvictAfterOOMSeconds: chosen[int32](w, 0, 60),
		}
		if w.one(2) {
			spec.UpdatePolicy.EvictAfterOOMSeconds = nil
		}
	}
	if w.one(5) {
		spec.StartupBoost = w.absurdBoost()
	}
	for range w.IntN(3) * w.IntN(2) {
		spec.Recommenders = append(spec.Recommenders, vpav1.VerticalPodAutoscalerRecommenderSelector{Name: "mine"})
	}
	if w.one(3) {
		return vpa
	}
	spec.ResourcePolicy = &vpav1.PodResourcePolicy{}
	for range w.IntN(3) {
		spec.ResourcePolicy.ContainerPolicies = append(spec.ResourcePolicy.ContainerPolicies, w.absurdPolicy())
	}
	return vpa
}

func (w *admissionWorld) absurdPolicy() vpav1.ContainerResourcePolicy {
	p := vpav1.ContainerResourcePolicy{
		ContainerName: []string{"c0", "*", ""}[w.IntN(3)],
		Mode: chosen(w, vpav1.ContainerScalingModeAuto, vpav1.ContainerScalingModeOff,
			vpav1.ContainerScalingMode("Some")),
		ControlledValues: chosen(w, vpav1.ContainerControlledValuesRequestsOnly,
			vpav1.ContainerControlledValuesRequestsAndLimits),
		MinAllowed: w.absurdList(), MaxAllowed: w.absurdList(),
	}
	if w.one(2) {
		p.ControlledResources = &[]corev1.ResourceName{[]corev1.ResourceName{"cpu", "memory", "storage", "gpu"}[w.IntN(4)],
			"memory"}
	}
	if w.one(4) {
		p.StartupBoost = w.absurdBoost()
	}
	if w.one(2) {
		return p
	}
	p.OOMBumpUpRatio = chosen(w, resource.MustParse("900m"), resource.MustParse("1"), resource.MustParse("1.2"))
	p.OOMMinBumpUp = chosen(w, resource.MustParse("-1"), resource.MustParse("0"), resource.MustParse("100Mi"))
	p.MemoryAggregationIntervalSeconds = chosen[int32](w, 0, 3600)
	p.MemoryAggregationIntervalCount = chosen[int64](w, -1, 8)
	return p
}

func (w *admissionWorld) absurdList() corev1.ResourceList {
	list := corev1.ResourceList{}
	for _, name := range []corev1.ResourceName{"cpu", "memory", "storage"} {
		if w.one(3) {
			list[name] = resource.MustParse([]string{"1", "0", "100m", "2Gi", "100u", "1500m", "-1", "1e3"}[w.IntN(8)])
		}
	}
	return list
}

func (w *admissionWorld) absurdBoost() *vpav1.StartupBoost {
	if w.one(6) {
		return &vpav1.StartupBoost{}
	}
	return &vpav1.StartupBoost{CPU: &vpav1.GenericStartupBoost{
		Type:     []vpav1.StartupBoostType{"Factor", "Quantity", "", "Twice"}[w.IntN(4)],
		Factor:   chosen[int32](w, 0, -1, 2),
		Quantity: chosen(w, resource.MustParse("1"), resource.MustParse("1u")),
	}}
}
