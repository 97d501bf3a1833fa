package objects

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/plimsoll-dev/plimsoll/internal/quantity"
)

// KEDA's defaults: see github.com/kedacore/keda, apis/keda/v1alpha1/scaledobject_types.go.
const (
	kedaMinReplicas = 0
	kedaMaxReplicas = 100
)

// scaledObject is a ScaledObject, as far as the HPA that KEDA makes of it depends on it.
type scaledObject struct {
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		ScaleTargetRef struct {
			APIVersion string `json:"apiVersion"`
			Kind       string `json:"kind"`
			Name       string `json:"name"`
		} `json:"scaleTargetRef"`
		MinReplicaCount *int32 `json:"minReplicaCount"`
		MaxReplicaCount *int32 `json:"maxReplicaCount"`
		Advanced        *struct {
			HorizontalPodAutoscalerConfig *struct {
				Behavior *autoscalingv2.HorizontalPodAutoscalerBehavior `json:"behavior"`
			} `json:"horizontalPodAutoscalerConfig"`
		} `json:"advanced"`
		Triggers []kedaTrigger `json:"triggers"`
	} `json:"spec"`
}

type kedaTrigger struct {
	Type       string                         `json:"type"`
	MetricType autoscalingv2.MetricTargetType `json:"metricType"`
	Metadata   map[string]string              `json:"metadata"`
}

// addScaledObject takes in a ScaledObject as the HPA that KEDA makes of it. On a cluster that HPA is there itself, so
// there the ScaledObject is only known to scale its target.
func addScaledObject(c *Collection, o *Object) error {
	known := *o
	known.isOld = true
	s, err := decode(&known, func(t *scaledObject) *metav1.ObjectMeta { return &t.ObjectMeta })
	if err != nil {
		return err
	}
	o.Meta = known.Meta
	o.noteUnknownOfScaledObject()
	ref := autoscalingv2.CrossVersionObjectReference{APIVersion: s.Spec.ScaleTargetRef.APIVersion,
		Kind: s.Spec.ScaleTargetRef.Kind, Name: s.Spec.ScaleTargetRef.Name}
	if ref.Kind == "" {
		ref.Kind = Deployment
	}
	if ref.APIVersion == "" {
		ref.APIVersion = "apps/v1"
	}
	if c.IsCluster {
		put(c, &c.Others, o, &Other{Object: *o, TargetKind: ref.Kind, TargetName: ref.Name,
			TargetField: Field{"spec", "scaleTargetRef"}})
		return nil
	}
	spec := &autoscalingv2.HorizontalPodAutoscalerSpec{ScaleTargetRef: ref, MaxReplicas: kedaMaxReplicas}
	least := int32(kedaMinReplicas)
	if s.Spec.MinReplicaCount != nil {
		least = *s.Spec.MinReplicaCount
	}
	spec.MinReplicas = &least
	if s.Spec.MaxReplicaCount != nil {
		spec.MaxReplicas = *s.Spec.MaxReplicaCount
	}
	if a := s.Spec.Advanced; a != nil && a.HorizontalPodAutoscalerConfig != nil {
		spec.Behavior = a.HorizontalPodAutoscalerConfig.Behavior
	}
	for i := range s.Spec.Triggers {
		m, err := s.Spec.Triggers[i].metric(i)
		if err != nil {
			return &TypeError{Field: Field{"spec", "triggers", strconv.Itoa(i), "metadata", "value"}, Problem: err.Error()}
		}
		spec.Metrics = append(spec.Metrics, m)
	}
	put(c, &c.Horizontals, o, &Horizontal{Object: *o, Spec: spec, IsScaledObject: true,
		Status: &autoscalingv2.HorizontalPodAutoscalerStatus{}})
	return nil
}

// metric is the metric that KEDA makes of a trigger: of CPU and memory a resource, of all else an external metric,
// which is an average unless the trigger says otherwise.
func (t *kedaTrigger) metric(index int) (autoscalingv2.MetricSpec, error) {
	if t.Type != string(corev1.ResourceCPU) && t.Type != string(corev1.ResourceMemory) {
		target := autoscalingv2.MetricTarget{Type: t.MetricType}
		if t.MetricType == "" {
			target.Type = autoscalingv2.AverageValueMetricType
		}
		name := fmt.Sprintf("s%d-%s", index, t.Type)
		return autoscalingv2.MetricSpec{Type: autoscalingv2.ExternalMetricSourceType,
			External: &autoscalingv2.ExternalMetricSource{Metric: autoscalingv2.MetricIdentifier{Name: name}, Target: target},
		}, nil
	}
	target, err := t.resourceTarget()
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

// resourceTarget is the target of a trigger of CPU or memory; its type stood in the metadata once.
func (t *kedaTrigger) resourceTarget() (autoscalingv2.MetricTarget, error) {
	kind := t.MetricType
	if kind == "" {
		kind = autoscalingv2.MetricTargetType(t.Metadata["type"])
	}
	target := autoscalingv2.MetricTarget{Type: kind}
	value := t.Metadata["value"]
	if kind == autoscalingv2.UtilizationMetricType {
		percent, err := strconv.ParseInt(value, 10, 32)
		if err != nil {
			return target, fmt.Errorf("%q is no whole number of percent", value)
		}
		target.AverageUtilization = new(int32)
		*target.AverageUtilization = int32(percent)
		return target, nil
	}
	amount, err := quantity.Parse(strings.TrimSpace(value))
	if err != nil {
		return target, fmt.Errorf("%q is no quantity", value)
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
