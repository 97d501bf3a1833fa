package keda

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/utils/ptr"

	plimsollv1alpha1 "github.com/plimsoll-dev/plimsoll/api/plimsoll/v1alpha1"
	"github.com/plimsoll-dev/plimsoll/internal/cmderror"
	"github.com/plimsoll-dev/plimsoll/internal/quantity"
	"github.com/plimsoll-dev/plimsoll/internal/scaledobject"
)

func (c *conversion) trigger(i int, t *scaledobject.Trigger) {
	at, before := fmt.Sprintf("spec.triggers[%d]", i), len(c.out().Metrics)
	defer func() { c.name(t, before) }()
	switch t.Type {
	case scaledobject.TypeCPU, scaledobject.TypeMemory:
		c.resource(at, t)
	case scaledobject.TypeCron:
		c.cron(at, i, t)
	default:
		if c.IsNative {
			c.native(at, i, t)
			return
		}
		c.external(at, i, t)
	}
}

// name gives the first of the trigger's metrics the trigger's name, if it is valid for a metric. The others are named
// after what they measure.
func (c *conversion) name(t *scaledobject.Trigger, first int) {
	if metrics := c.out().Metrics; first < len(metrics) && len(validation.IsDNS1123Label(t.Name)) == 0 {
		metrics[first].Name = t.Name
	}
}

func (c *conversion) resource(at string, t *scaledobject.Trigger) {
	kind := t.MetricType
	if kind == "" {
		// Older versions of KEDA have the type here.
		kind = t.Metadata["type"]
	}
	target, ok := c.target(at, plimsollv1alpha1.MetricTargetType(kind), t.Metadata["value"])
	if !ok {
		return
	}
	m := plimsollv1alpha1.MetricSpec{Type: plimsollv1alpha1.ResourceMetricSourceType}
	if container := t.Metadata["containerName"]; container != "" {
		m.Type = plimsollv1alpha1.ContainerResourceMetricSourceType
		m.ContainerResource = &plimsollv1alpha1.ContainerResourceMetricSource{
			Name: t.Type, Container: container, Target: target,
		}
	} else {
		m.Resource = &plimsollv1alpha1.ResourceMetricSource{Name: t.Type, Target: target}
	}
	if activation := t.Metadata["activationValue"]; activation != "" && activation != "0" {
		c.Lose(at+".metadata.activationValue", "a metric of type Resource has no activation value")
	}
	c.out().Metrics = append(c.out().Metrics, m)
}

// target reads a metric's target from a cpu or memory trigger.
func (c *conversion) target(
	at string, kind plimsollv1alpha1.MetricTargetType, text string,
) (target plimsollv1alpha1.MetricTarget, ok bool) {
	target.Type = kind
	switch kind {
	case plimsollv1alpha1.UtilizationMetricType:
		percent, err := strconv.ParseInt(text, 10, 32)
		if err != nil || percent < 1 {
			c.Lose(at+".metadata.value", "%q is not a percentage", text)
			return target, false
		}
		target.AverageUtilization = ptr.To(int32(percent))
	case plimsollv1alpha1.AverageValueMetricType:
		value, err := quantity.Parse(text)
		if err != nil {
			c.Lose(at+".metadata.value", "%v", err)
			return target, false
		}
		target.AverageValue = &value
	default:
		c.Lose(at+".metricType", "%q: cpu and memory have Utilization or AverageValue", string(kind))
		return target, false
	}
	return target, true
}

// external converts a trigger to a metric of external.metrics.k8s.io. KEDA serves it as long as the ScaledObject
// exists.
func (c *conversion) external(at string, i int, t *scaledobject.Trigger) {
	names := c.metricNames(i)
	if len(names) == 0 && t.Type == scaledobject.TypePrometheus {
		names = []string{scaledobject.TypePrometheus}
	}
	if len(names) == 0 {
		c.loseUnnamed(at, t)
	}
	for _, name := range names {
		c.externalMetric(at, t, fmt.Sprintf("s%d-%s", i, name))
	}
	if t.Type == scaledobject.TypeExternalPush {
		c.Note(at, "%s: KEDA does not listen to the scaler while the ScaledObject is paused; with --native Plimsoll does",
			t.Type)
	}
}

// loseUnnamed is for a trigger whose metrics have no names: KEDA does not have its type, or has not run with it.
func (c *conversion) loseUnnamed(at string, t *scaledobject.Trigger) {
	if slices.Contains(scaledobject.Types, t.Type) {
		c.Lose(at, "%s: KEDA names its metric once it runs; migrate scaledobject/%s from the cluster",
			t.Type, c.object.GetName())
		return
	}
	c.loseType(at, t)
}

// loseType is for a trigger of a type that KEDA does not have.
func (c *conversion) loseType(at string, t *scaledobject.Trigger) {
	why := fmt.Sprintf("%q: KEDA %s has no triggers of this type", t.Type, scaledobject.Version)
	if near := scaledobject.NearestTypes(t.Type); len(near) > 0 {
		why += ", " + cmderror.DidYouMean(near)
	}
	c.Lose(at+".type", "%s", why)
}

// externalMetric adds the metric with this name. A scaler may have several.
func (c *conversion) externalMetric(at string, t *scaledobject.Trigger, name string) {
	target, found := c.targetOfHPA(name)
	if !found {
		var why string
		if target, why = externalTarget(t); why != "" {
			c.Lose(at, "%s: %s", t.Type, why)
			return
		}
	}
	m := plimsollv1alpha1.MetricSpec{
		Type: plimsollv1alpha1.ExternalMetricSourceType,
		External: &plimsollv1alpha1.ExternalMetricSource{
			Metric: plimsollv1alpha1.MetricIdentifier{
				Name: name, Selector: &plimsollv1alpha1.LabelSelector{MatchLabels: map[string]plimsollv1alpha1.LabelValue{
					nameLabel: plimsollv1alpha1.LabelValue(c.object.GetName()),
				}},
			},
			Target: target,
		},
	}
	c.activation(at, t, &m)
	c.out().Metrics = append(c.out().Metrics, m)
	c.Note(at, "%s: read as %s from external.metrics.k8s.io, which KEDA serves while the ScaledObject exists",
		t.Type, name)
}

// targetOfHPA returns the target that KEDA computed.
func (c *conversion) targetOfHPA(name string) (target plimsollv1alpha1.MetricTarget, found bool) {
	if c.HPA == nil {
		return target, false
	}
	for i := range c.HPA.Spec.Metrics {
		if e := c.HPA.Spec.Metrics[i].External; e != nil && e.Metric.Name == name {
			return plimsollv1alpha1.MetricTarget{
				Type:  plimsollv1alpha1.MetricTargetType(e.Target.Type),
				Value: e.Target.Value, AverageValue: e.Target.AverageValue,
			}, true
		}
	}
	return target, false
}

// maxThreshold is the largest that fits into thousandths.
const maxThreshold = 9e15

func externalTarget(t *scaledobject.Trigger) (target plimsollv1alpha1.MetricTarget, why string) {
	fields, known := scaledobject.Thresholds[t.Type]
	if !known {
		return target, "its target is not known; migrate it from the cluster, where KEDA's HPA has it"
	}
	text := t.Metadata[fields.Target]
	if text == "" {
		text = fields.Default
	}
	number, err := parse(text)
	if err != nil {
		return target, fmt.Sprintf("metadata.%s: %v", fields.Target, err)
	}
	if number > maxThreshold {
		return target, fmt.Sprintf("metadata.%s: %q is more than %g", fields.Target, text, maxThreshold)
	}
	// KEDA has thousandths, and no negative values.
	value := *resource.NewMilliQuantity(int64(math.Round(max(0, number)*1000)), resource.DecimalSI)
	switch target.Type = plimsollv1alpha1.MetricTargetType(t.MetricType); target.Type {
	case "", plimsollv1alpha1.AverageValueMetricType:
		target.Type, target.AverageValue = plimsollv1alpha1.AverageValueMetricType, &value
	case plimsollv1alpha1.ValueMetricType:
		target.Value = &value
	default:
		return target, fmt.Sprintf("metricType: %q: external metrics have AverageValue or Value", t.MetricType)
	}
	return target, ""
}

func (c *conversion) activation(at string, t *scaledobject.Trigger, m *plimsollv1alpha1.MetricSpec) {
	fields, known := scaledobject.Thresholds[t.Type]
	if !known {
		for key := range t.Metadata {
			if strings.HasPrefix(key, "activation") {
				c.Lose(at+".metadata."+key, "the unit of this activation value is not known")
			}
		}
		return
	}
	text := t.Metadata[fields.Activation]
	if text == "" {
		return
	}
	_, err := parse(text)
	if err != nil {
		c.Lose(at+".metadata."+fields.Activation, "%v", err)
		return
	}
	value, err := quantity.Parse(strings.TrimSpace(text))
	if err != nil {
		c.Lose(at+".metadata."+fields.Activation, "%q: %v", text, err)
		return
	}
	m.ActivationValue = &value
}

// parse parses a number as KEDA does, without the suffixes of quantities.
func parse(text string) (number float64, err error) {
	if text = strings.TrimSpace(text); text == "" {
		return 0, errors.New("it is missing")
	}
	if json.Unmarshal([]byte(text), &number) != nil {
		return 0, fmt.Errorf("%q is not a number, and KEDA refuses it", text)
	}
	return number, nil
}
