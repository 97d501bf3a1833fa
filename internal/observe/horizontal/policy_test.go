package horizontal

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	plimsollv1alpha1 "github.com/plimsoll-dev/plimsoll/api/plimsoll/v1alpha1"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/behavior"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/divergence"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric/source"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/surge"
)

func quantity(text string) *resource.Quantity {
	q := resource.MustParse(text)
	return &q
}

func hpaOf(spec autoscalingv2.HorizontalPodAutoscalerSpec) *autoscalingv2.HorizontalPodAutoscaler {
	return &autoscalingv2.HorizontalPodAutoscaler{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", Generation: 7},
		Spec:       spec,
	}
}

// plain is the policy of an object with max 9 and nothing else.
func plain() horizontal.Policy {
	return horizontal.Policy{
		Namespace: "shop", MinReplicas: 1, MaxReplicas: 9, Metrics: []source.Spec{},
		Tolerance:              metric.Tolerance{Up: 0.1, Down: 0.1},
		DownscaleStabilization: 5 * time.Minute, CPUInitializationPeriod: 5 * time.Minute,
		InitialReadinessDelay: 30 * time.Second, Surge: surge.Defaults(), Divergences: divergence.Default,
	}
}

func TestPolicy(t *testing.T) {
	upDefault := []behavior.RatePolicy{
		{Type: behavior.RatePods, Value: 4, Period: 15 * time.Second},
		{Type: behavior.RatePercent, Value: 100, Period: 15 * time.Second},
	}
	downDefault := []behavior.RatePolicy{{Type: behavior.RatePercent, Value: 100, Period: 15 * time.Second}}
	flagWindow := 5 * time.Minute
	cases := map[string]struct {
		reason  string
		spec    autoscalingv2.HorizontalPodAutoscalerSpec
		options func(*Options)
		want    func(*horizontal.Policy)
	}{
		"nothing set": {
			reason: "min is 1, the flags hold, and without behavior there are no rules",
			want:   func(*horizontal.Policy) {},
		},
		"min zero": {
			reason: "a set min is kept, zero too",
			spec:   autoscalingv2.HorizontalPodAutoscalerSpec{MinReplicas: ptr.To(int32(0))},
			want:   func(p *horizontal.Policy) { p.MinReplicas = 0 },
		},
		"empty behavior": {
			reason: "the API server's defaults fill both directions; the window down is the flag's",
			spec:   autoscalingv2.HorizontalPodAutoscalerSpec{Behavior: &autoscalingv2.HorizontalPodAutoscalerBehavior{}},
			want: func(p *horizontal.Policy) {
				p.Behavior = &behavior.Behavior{
					Up:   behavior.Rules{Policies: upDefault},
					Down: behavior.Rules{Policies: downDefault, Stabilization: flagWindow},
				}
			},
		},
		"flag with a fraction of a second": {
			reason:  "the window down is the flag's whole seconds, as the field would hold them",
			spec:    autoscalingv2.HorizontalPodAutoscalerSpec{Behavior: &autoscalingv2.HorizontalPodAutoscalerBehavior{}},
			options: func(o *Options) { o.DownscaleStabilization = 90*time.Second + 700*time.Millisecond },
			want: func(p *horizontal.Policy) {
				p.DownscaleStabilization = 90*time.Second + 700*time.Millisecond
				p.Behavior = &behavior.Behavior{
					Up:   behavior.Rules{Policies: upDefault},
					Down: behavior.Rules{Policies: downDefault, Stabilization: 90 * time.Second},
				}
			},
		},
		"behavior in part": {
			reason: "each part that is set replaces its default and no other; tolerance goes by direction",
			spec: autoscalingv2.HorizontalPodAutoscalerSpec{Behavior: &autoscalingv2.HorizontalPodAutoscalerBehavior{
				ScaleUp: &autoscalingv2.HPAScalingRules{
					SelectPolicy: ptr.To(autoscalingv2.MinChangePolicySelect),
					Policies:     []autoscalingv2.HPAScalingPolicy{{Type: "Percent", Value: 10, PeriodSeconds: 60}},
				},
				ScaleDown: &autoscalingv2.HPAScalingRules{
					StabilizationWindowSeconds: ptr.To(int32(0)),
					SelectPolicy:               ptr.To(autoscalingv2.DisabledPolicySelect),
					Tolerance:                  quantity("50m"),
				},
			}},
			want: func(p *horizontal.Policy) {
				p.Behavior = &behavior.Behavior{
					Up: behavior.Rules{Select: behavior.SelectMin, Policies: []behavior.RatePolicy{
						{Type: behavior.RatePercent, Value: 10, Period: time.Minute},
					}},
					Down: behavior.Rules{Select: behavior.SelectDisabled, Policies: downDefault},
				}
				p.Tolerance.Down = 0.05
			},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			tc.spec.MaxReplicas = 9
			hpa, options, want := hpaOf(tc.spec), DefaultOptions(), plain()
			before := hpa.DeepCopy()
			if tc.options != nil {
				tc.options(&options)
			}
			tc.want(&want)
			if diff := cmp.Diff(want, commonPolicy(HPA(hpa), options)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
			if diff := cmp.Diff(before, hpa); diff != "" {
				t.Errorf("the object was changed (-before +after):\n%s", diff)
			}
		})
	}
}

func TestSpec(t *testing.T) {
	selector := &metav1.LabelSelector{MatchLabels: map[string]string{"queue": "orders"}}
	const selectorText = "&LabelSelector{MatchLabels:map[string]string{queue: orders,},MatchExpressions:[]LabelSelectorRequirement{},}"
	bogus := &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "a", Operator: "Near"}}}
	const bogusText = "&LabelSelector{MatchLabels:map[string]string{},MatchExpressions:[]LabelSelectorRequirement{LabelSelectorRequirement{Key:a,Operator:Near,Values:[],},},}"
	both := autoscalingv2.MetricTarget{
		Type: "Value", Value: quantity("5"), AverageValue: quantity("200m"), AverageUtilization: ptr.To(int32(60)),
	}
	average := source.Target{Type: source.AverageValue, Milli: 200}
	resourceSpec := func(target autoscalingv2.MetricTarget) autoscalingv2.MetricSpec {
		return autoscalingv2.MetricSpec{
			Type: "Resource", Resource: &autoscalingv2.ResourceMetricSource{Name: "cpu", Target: target},
		}
	}
	object := func(target autoscalingv2.MetricTarget) autoscalingv2.MetricSpec {
		return autoscalingv2.MetricSpec{Type: "Object", Object: &autoscalingv2.ObjectMetricSource{
			DescribedObject: autoscalingv2.CrossVersionObjectReference{Kind: "Service", Name: "web", APIVersion: "v1"},
			Metric:          autoscalingv2.MetricIdentifier{Name: "rps"}, Target: target,
		}}
	}
	objectWant := func(target source.Target) source.Spec {
		return source.Spec{
			Type: source.Object, Name: "rps", Object: source.ObjectRef{Kind: "Service", Name: "web"},
			SelectorText: "nil", Target: target,
		}
	}
	external := func(s *metav1.LabelSelector, target autoscalingv2.MetricTarget) autoscalingv2.MetricSpec {
		return autoscalingv2.MetricSpec{Type: "External", External: &autoscalingv2.ExternalMetricSource{
			Metric: autoscalingv2.MetricIdentifier{Name: "depth", Selector: s}, Target: target,
		}}
	}
	cases := map[string]struct {
		reason string
		metric autoscalingv2.MetricSpec
		want   source.Spec
	}{
		"resource, both set": {
			reason: "an average value wins over a utilization, whatever the type says",
			metric: resourceSpec(both),
			want:   source.Spec{Type: source.Resource, Name: "cpu", Target: average},
		},
		"resource, utilization": {
			reason: "else the utilization holds",
			metric: resourceSpec(autoscalingv2.MetricTarget{AverageUtilization: ptr.To(int32(60))}),
			want: source.Spec{
				Type: source.Resource, Name: "cpu", Target: source.Target{Type: source.Utilization, Percent: 60},
			},
		},
		"resource, value only": {
			reason: "a value is no target for a resource",
			metric: resourceSpec(autoscalingv2.MetricTarget{Type: "Value", Value: quantity("5")}),
			want:   source.Spec{Type: source.Resource, Name: "cpu"},
		},
		"container resource": {
			reason: "as a resource, with its container",
			metric: autoscalingv2.MetricSpec{Type: "ContainerResource",
				ContainerResource: &autoscalingv2.ContainerResourceMetricSource{
					Name: "memory", Container: "app", Target: both,
				}},
			want: source.Spec{Type: source.ContainerResource, Name: "memory", Container: "app", Target: average},
		},
		"pods": {
			reason: "the selector is printed as upstream's messages do",
			metric: autoscalingv2.MetricSpec{Type: "Pods", Pods: &autoscalingv2.PodsMetricSource{
				Metric: autoscalingv2.MetricIdentifier{Name: "rps", Selector: selector}, Target: both,
			}},
			want: source.Spec{Type: source.Pods, Name: "rps", SelectorText: selectorText, Target: average},
		},
		"pods without average value": {
			reason: "upstream dereferences nil; here the metric has no target",
			metric: autoscalingv2.MetricSpec{Type: "Pods", Pods: &autoscalingv2.PodsMetricSource{
				Metric: autoscalingv2.MetricIdentifier{Name: "rps"},
			}},
			want: source.Spec{Type: source.Pods, Name: "rps", SelectorText: "nil"},
		},
		"object, value": {
			reason: "an object metric goes by the target's type",
			metric: object(both),
			want:   objectWant(source.Target{Type: source.Value, Milli: 5000}),
		},
		"object, average": {
			reason: "an object metric goes by the target's type",
			metric: object(autoscalingv2.MetricTarget{Type: "AverageValue", Value: both.Value, AverageValue: both.AverageValue}),
			want:   objectWant(average),
		},
		"object, type and field differ": {
			reason: "validation lets this pass; nothing fits",
			metric: object(autoscalingv2.MetricTarget{Type: "AverageValue", Value: both.Value}),
			want:   objectWant(source.Target{}),
		},
		"object, type utilization": {
			reason: "a utilization is no target for an object",
			metric: object(autoscalingv2.MetricTarget{Type: "Utilization", Value: both.Value}),
			want:   objectWant(source.Target{}),
		},
		"external, both set": {
			reason: "the average value wins, whatever the type says",
			metric: external(selector, both),
			want:   source.Spec{Type: source.External, Name: "depth", SelectorText: selectorText, Target: average},
		},
		"external, value": {
			reason: "else the value, whatever the type says",
			metric: external(nil, autoscalingv2.MetricTarget{Type: "AverageValue", Value: both.Value}),
			want: source.Spec{
				Type: source.External, Name: "depth", SelectorText: "nil", Target: source.Target{Type: source.Value, Milli: 5000},
			},
		},
		"bogus selector": {
			reason: "validation lets a bogus operator pass; the metric carries the error",
			metric: external(bogus, both),
			want: source.Spec{
				Type: source.External, Name: "depth", SelectorText: bogusText,
				SelectorError: `"Near" is not a valid label selector operator`, Target: average,
			},
		},
		"source missing": {
			reason: "a source that is not there must not end the program",
			metric: autoscalingv2.MetricSpec{Type: "Object"},
			want:   source.Spec{Type: source.Object},
		},
		"unknown type": {
			reason: "the type is kept for the message",
			metric: autoscalingv2.MetricSpec{Type: "Moon"},
			want:   source.Spec{Type: "Moon"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			hpa := hpaOf(autoscalingv2.HorizontalPodAutoscalerSpec{Metrics: []autoscalingv2.MetricSpec{tc.metric}})
			got := commonPolicy(HPA(hpa), DefaultOptions()).Metrics
			if diff := cmp.Diff([]source.Spec{tc.want}, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

func TestFirstState(t *testing.T) {
	hpa := &autoscalingv2.HorizontalPodAutoscaler{}
	if s := FirstState(HPA(hpa)); !s.Count.ChangedAt.IsZero() || s.Version != horizontal.StateVersion {
		t.Errorf("an object that was never scaled: %+v", s)
	}
	at := metav1.NewTime(noon)
	hpa.Status.LastScaleTime = &at
	if s := FirstState(HPA(hpa)); !s.Count.ChangedAt.Equal(noon) {
		t.Errorf("scaled at %v, want what status says", s.Count.ChangedAt)
	}
}

func TestScaledToZero(t *testing.T) {
	cases := map[string]struct {
		conditions []autoscalingv2.HorizontalPodAutoscalerCondition
		want       bool
	}{
		"no condition": {nil, false},
		"true": {[]autoscalingv2.HorizontalPodAutoscalerCondition{{Type: "ScaledToZero",
			Status: corev1.ConditionTrue}}, true},
		"false": {[]autoscalingv2.HorizontalPodAutoscalerCondition{{Type: "ScaledToZero", Status: corev1.ConditionFalse}},
			false},
		"another": {[]autoscalingv2.HorizontalPodAutoscalerCondition{{Type: "AbleToScale", Status: corev1.ConditionTrue}},
			false},
	}
	for name, tc := range cases {
		hpa := hpaOf(autoscalingv2.HorizontalPodAutoscalerSpec{})
		hpa.Status.Conditions = tc.conditions
		if got := HPA(hpa).ScaledToZero(); got != tc.want {
			t.Errorf("%s: got %v", name, got)
		}
	}
}

// TestSelectorErrorNamesItsField: a selector that no metrics API takes is an error of its metric, by the field's path.
// The API server refuses nearly all of them.
func TestSelectorErrorNamesItsField(t *testing.T) {
	bogus := plimsollv1alpha1.MetricIdentifier{Name: "hits", Selector: &plimsollv1alpha1.LabelSelector{
		MatchExpressions: []plimsollv1alpha1.LabelSelectorRequirement{{Key: "a", Operator: "Near"}}}}
	a := WorkloadAutoscaler(&plimsollv1alpha1.WorkloadAutoscaler{Spec: plimsollv1alpha1.WorkloadAutoscalerSpec{
		Metrics: []plimsollv1alpha1.MetricSpec{
			{Name: "a", Type: "Pods", Pods: &plimsollv1alpha1.PodsMetricSource{Metric: bogus}},
			{Name: "b", Type: "Object", Object: &plimsollv1alpha1.ObjectMetricSource{Metric: bogus}},
			{Name: "c", Type: "External", External: &plimsollv1alpha1.ExternalMetricSource{Metric: bogus}},
		},
	}})
	p, _, _ := PolicyOf(a, DefaultOptions())
	for i, want := range []string{"spec.metrics[0].pods", "spec.metrics[1].object", "spec.metrics[2].external"} {
		want += `.metric.selector: "Near" is not a valid label selector operator`
		if got := p.Metrics[i].SelectorError; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
