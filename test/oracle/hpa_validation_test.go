package oracle

import (
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	fielderrors "k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/kubernetes/pkg/apis/autoscaling"
	upstreamv2 "k8s.io/kubernetes/pkg/apis/autoscaling/v2"
	apivalidation "k8s.io/kubernetes/pkg/apis/autoscaling/validation"

	"github.com/plimsoll-dev/plimsoll/internal/observe/horizontal/validation"
)

// TestHPAValidation compares what is refused of HPAs that are made up with what the API server refuses: the same
// fields.
func TestHPAValidation(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	refused := 0
	const objects = 50_000
	for range objects {
		hpa := anyHPA(r)
		want := fields(upstreamErrors(t, hpa.DeepCopy()))
		got := fields(validation.Validate(hpa.DeepCopy()))
		if !slices.Equal(got, want) {
			t.Fatalf("refused of\n%+v\nare\n%s\nwant\n%s", hpa, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
		if len(want) > 0 {
			refused++
		}
	}
	if refused == 0 || refused == objects {
		t.Errorf("the API server refuses %d of %d", refused, objects)
	}
}

// upstreamErrors are the API server's, for an object that is created with its defaults (registry/autoscaling/
// horizontalpodautoscaler, with its feature gates as of 1.37).
func upstreamErrors(t *testing.T, hpa *autoscalingv2.HorizontalPodAutoscaler) fielderrors.ErrorList {
	upstreamv2.SetDefaults_HorizontalPodAutoscaler(hpa)
	internal := &autoscaling.HorizontalPodAutoscaler{}
	if err := upstreamv2.Convert_v2_HorizontalPodAutoscaler_To_autoscaling_HorizontalPodAutoscaler(hpa, internal,
		nil); err != nil {
		t.Fatal(err)
	}
	if internal.Namespace == "" {
		internal.Namespace = "default"
	}
	var options apivalidation.HorizontalPodAutoscalerSpecValidationOptions
	options.ObjectMetricsValidationOptions.AllowEmptyAPIGroup = true
	return apivalidation.ValidateHorizontalPodAutoscaler(internal, options)
}

// fields are the fields that errors are about. Several about one say the same of it.
func fields(errs fielderrors.ErrorList) []string {
	all := map[string]bool{}
	for _, err := range errs {
		all[err.Field] = true
	}
	return slices.Sorted(maps.Keys(all))
}

// one is one of the values. Mostly it is the first, so that a whole object is fine now and then.
func one[T any](r *rand.Rand, values ...T) T {
	if r.IntN(4) > 0 {
		return values[0]
	}
	return values[r.IntN(len(values))]
}

// maybe is one of the values, or none.
func maybe[T any](r *rand.Rand, values ...T) *T {
	if r.IntN(2) == 0 {
		return nil
	}
	value := one(r, values...)
	return &value
}

func anyHPA(r *rand.Rand) *autoscalingv2.HorizontalPodAutoscaler {
	hpa := &autoscalingv2.HorizontalPodAutoscaler{
		ObjectMeta: metav1.ObjectMeta{
			Name: one(r, "web", "Web", "", "web.shop"), Namespace: one(r, "shop", "", "A"),
		},
		Spec: autoscalingv2.HorizontalPodAutoscalerSpec{
			ScaleTargetRef: anyReference(r), MinReplicas: maybe[int32](r, 1, -1, 0, 3),
			MaxReplicas: one[int32](r, 9, -1, 0, 1, 3),
		},
	}
	if r.IntN(2) == 0 {
		hpa.Labels = map[string]string{one(r, "app", "a b"): one(r, "web", "w/w")}
	}
	for range r.IntN(4) {
		hpa.Spec.Metrics = append(hpa.Spec.Metrics, anyMetric(r))
	}
	if r.IntN(2) == 0 {
		hpa.Spec.Behavior = &autoscalingv2.HorizontalPodAutoscalerBehavior{ScaleUp: anyRules(r), ScaleDown: anyRules(r)}
	}
	return hpa
}

func anyReference(r *rand.Rand) autoscalingv2.CrossVersionObjectReference {
	return autoscalingv2.CrossVersionObjectReference{
		APIVersion: one(r, "apps/v1", "v1", "", "a/b/c"),
		Kind:       one(r, "Deployment", "", "a/b", "..", "ReplicationController"), Name: one(r, "web", "", "a/b", "."),
	}
}

func anyRules(r *rand.Rand) *autoscalingv2.HPAScalingRules {
	if r.IntN(2) == 0 {
		return nil
	}
	rules := &autoscalingv2.HPAScalingRules{
		StabilizationWindowSeconds: maybe[int32](r, 0, -1, 3600, 3601),
		SelectPolicy:               maybe[autoscalingv2.ScalingPolicySelect](r, "Max", "Min", "Disabled", "max", ""),
		Tolerance:                  maybe(r, amounts("100m", "0", "-1")...),
	}
	if r.IntN(2) == 0 {
		rules.Policies = []autoscalingv2.HPAScalingPolicy{}
		for range r.IntN(3) {
			rules.Policies = append(rules.Policies, autoscalingv2.HPAScalingPolicy{
				Type:  one[autoscalingv2.HPAScalingPolicyType](r, "Pods", "Percent", "percent", ""),
				Value: one[int32](r, 100, -1, 0, 1), PeriodSeconds: one[int32](r, 60, -1, 0, 1, 1800, 1801),
			})
		}
	}
	return rules
}

func anyMetric(r *rand.Rand) autoscalingv2.MetricSpec {
	m := autoscalingv2.MetricSpec{Type: one[autoscalingv2.MetricSourceType](r, "Resource", "ContainerResource",
		"Pods", "Object", "External", "resource", "")}
	identifier := func() autoscalingv2.MetricIdentifier {
		return autoscalingv2.MetricIdentifier{Name: one(r, "requests", "", "a/b", "a%")}
	}
	names := []corev1.ResourceName{"cpu", "memory", "ephemeral-storage", "hugepages-2Mi", "nvidia.com/gpu", "pods", "",
		"a b", "kubernetes.io/x", "requests.a/b", "x.kubernetes.io/y"}
	has := func(source string) bool {
		// Mostly the source of the type, now and then another one.
		isOwn := strings.EqualFold(source, string(m.Type))
		return r.IntN(10) == 0 != isOwn
	}
	if has("Resource") {
		m.Resource = &autoscalingv2.ResourceMetricSource{Name: one(r, names...), Target: anyTarget(r)}
	}
	if has("ContainerResource") {
		m.ContainerResource = &autoscalingv2.ContainerResourceMetricSource{Name: one(r, names...),
			Container: one(r, "app", "", "App", "a.b"), Target: anyTarget(r)}
	}
	if has("Pods") {
		m.Pods = &autoscalingv2.PodsMetricSource{Metric: identifier(), Target: anyTarget(r)}
	}
	if has("Object") {
		m.Object = &autoscalingv2.ObjectMetricSource{DescribedObject: anyReference(r), Metric: identifier(),
			Target: anyTarget(r)}
	}
	if has("External") {
		m.External = &autoscalingv2.ExternalMetricSource{Metric: identifier(), Target: anyTarget(r)}
	}
	return m
}

func amounts(texts ...string) []resource.Quantity {
	var all []resource.Quantity
	for _, text := range texts {
		all = append(all, resource.MustParse(text))
	}
	return all
}

func anyTarget(r *rand.Rand) autoscalingv2.MetricTarget {
	values := amounts("5", "100m", "0", "-1")
	return autoscalingv2.MetricTarget{
		Type:  one[autoscalingv2.MetricTargetType](r, "Utilization", "Value", "AverageValue", "value", ""),
		Value: maybe(r, values...), AverageValue: maybe(r, values...),
		AverageUtilization: maybe[int32](r, 50, -1, 0, 1, 500),
	}
}
