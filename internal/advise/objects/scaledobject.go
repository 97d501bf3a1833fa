package objects

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/plimsoll-dev/plimsoll/internal/quantity"
	"github.com/plimsoll-dev/plimsoll/internal/scaledobject"
	"github.com/plimsoll-dev/plimsoll/internal/typed"
)

// addScaledObject adds a ScaledObject as the HPA that KEDA makes of it. On a cluster that HPA is there itself, so
// there the ScaledObject is only known to scale its target.
func addScaledObject(c *Collection, o *Object) error {
	known := *o
	// KEDA may be newer.
	known.IsUnserved = true
	s, err := decode(&known, func(t *scaledobject.Object) *metav1.ObjectMeta { return &t.ObjectMeta })
	if err != nil {
		return err
	}
	o.Meta = known.Meta
	o.noteUnknownOfScaledObject()
	ref := s.Spec.Target()
	if c.IsCluster {
		put(c, &c.Others, o, &Other{Object: *o, TargetVersion: ref.APIVersion, TargetKind: ref.Kind,
			TargetName: ref.Name, TargetField: Field{"spec", "scaleTargetRef"}})
		return nil
	}
	least, most := s.Spec.Bounds()
	spec := &autoscalingv2.HorizontalPodAutoscalerSpec{ScaleTargetRef: ref, MinReplicas: &least, MaxReplicas: most}
	if raw := s.Spec.Behavior(); raw != nil {
		spec.Behavior = &autoscalingv2.HorizontalPodAutoscalerBehavior{}
		at := field.NewPath("spec", "advanced", "horizontalPodAutoscalerConfig", "behavior")
		if _, err := typed.Decode(raw, spec.Behavior, at); err != nil {
			return err
		}
	}
	for i := range s.Spec.Triggers {
		m, err := kedaMetric(&s.Spec.Triggers[i], i)
		if err != nil {
			return &typed.Error{Field: field.NewPath("spec", "triggers").Index(i).Child("metadata").Key("value"),
				Problem: err.Error()}
		}
		spec.Metrics = append(spec.Metrics, m)
	}
	put(c, &c.Horizontals, o, &Horizontal{Object: *o, Spec: spec, IsScaledObject: true, Scaled: &s.Spec,
		Status: &autoscalingv2.HorizontalPodAutoscalerStatus{}})
	return nil
}

// kedaMetric is the metric that KEDA makes of a trigger: of CPU and memory a resource, of all else an external metric,
// which is an average unless the trigger says otherwise.
func kedaMetric(t *scaledobject.Trigger, index int) (autoscalingv2.MetricSpec, error) {
	if !t.IsResource() {
		target := autoscalingv2.MetricTarget{
			Type: cmp.Or(autoscalingv2.MetricTargetType(t.MetricType), autoscalingv2.AverageValueMetricType)}
		name := fmt.Sprintf("s%d-%s", index, t.Type)
		return autoscalingv2.MetricSpec{Type: autoscalingv2.ExternalMetricSourceType,
			External: &autoscalingv2.ExternalMetricSource{Metric: autoscalingv2.MetricIdentifier{Name: name}, Target: target},
		}, nil
	}
	target, err := kedaResourceTarget(t)
	if err != nil {
		return autoscalingv2.MetricSpec{}, err
	}
	name := corev1.ResourceName(t.Type)
	if container := t.Metadata["containerName"]; container != "" {
		return autoscalingv2.MetricSpec{Type: autoscalingv2.ContainerResourceMetricSourceType,
			ContainerResource: &autoscalingv2.ContainerResourceMetricSource{Name: name, Container: container, Target: target},
		}, nil
	}
	return autoscalingv2.MetricSpec{Type: autoscalingv2.ResourceMetricSourceType,
		Resource: &autoscalingv2.ResourceMetricSource{Name: name, Target: target}}, nil
}

// kedaResourceTarget is the target of a trigger of CPU or memory; its type stood in the metadata once.
func kedaResourceTarget(t *scaledobject.Trigger) (autoscalingv2.MetricTarget, error) {
	kind := autoscalingv2.MetricTargetType(cmp.Or(t.MetricType, t.Metadata["type"]))
	target := autoscalingv2.MetricTarget{Type: kind}
	value := t.Metadata["value"]
	if kind == autoscalingv2.UtilizationMetricType {
		percent, err := strconv.ParseInt(value, 10, 32)
		if err != nil {
			return target, fmt.Errorf("is %q, which is no whole number of percent", value)
		}
		target.AverageUtilization = new(int32)
		*target.AverageUtilization = int32(percent)
		return target, nil
	}
	amount, err := quantity.Parse(strings.TrimSpace(value))
	if err != nil {
		return target, fmt.Errorf("is %q, which is no quantity", value)
	}
	target.AverageValue = &resource.Quantity{}
	*target.AverageValue = amount
	return target, nil
}

// ScaledField is the field of a ScaledObject that becomes a field of the HPA that KEDA makes of it; false where no
// single one does. A field of the ScaledObject itself stays what it is.
func ScaledField(f Field) (Field, bool) {
	renamed := map[string]Field{
		"minReplicas": {"spec", "minReplicaCount"}, "maxReplicas": {"spec", "maxReplicaCount"},
		"behavior":       {"spec", "advanced", "horizontalPodAutoscalerConfig", "behavior"},
		"scaleTargetRef": {"spec", "scaleTargetRef"},
	}
	if len(f) < 2 || f[0] != "spec" {
		return f, true
	}
	if to, ok := renamed[f[1]]; ok {
		return to.In(f[2:]...), true
	}
	if f[1] == "metrics" {
		return append(Field{"spec", "triggers"}, f[2:min(len(f), 3)]...), false
	}
	return f, true
}

// The fields of a ScaledObject's spec and of a trigger: see github.com/kedacore/keda, apis/keda/v1alpha1.
var (
	scaledObjectFields = []string{"scaleTargetRef", "pollingInterval", "initialCooldownPeriod", "cooldownPeriod",
		"idleReplicaCount", "minReplicaCount", "maxReplicaCount", "advanced", "triggers", "fallback"}
	triggerFields = []string{"type", "name", "useCachedMetrics", "metadata", "authenticationRef", "metricType"}
)

// noteUnknownOfScaledObject notes fields that a cluster ignores, as minReplicas. On a cluster KEDA may be newer.
func (o *Object) noteUnknownOfScaledObject() {
	if o.Place.File == "" {
		return
	}
	note := func(at Field, known []string) {
		for _, name := range slices.Sorted(maps.Keys(o.Value(at))) {
			if !slices.Contains(known, name) {
				o.unknown = append(o.unknown, at.In(name).String())
			}
		}
	}
	spec := Field{"spec"}
	note(spec, scaledObjectFields)
	triggers, _ := o.Value(spec)["triggers"].([]any)
	for i := range triggers {
		note(spec.In("triggers", strconv.Itoa(i)), triggerFields)
	}
}
