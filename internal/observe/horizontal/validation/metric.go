package validation

import (
	"slices"
	"strings"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

var metricTypes = []string{
	string(autoscalingv2.ContainerResourceMetricSourceType), string(autoscalingv2.ExternalMetricSourceType),
	string(autoscalingv2.ObjectMetricSourceType), string(autoscalingv2.PodsMetricSourceType),
	string(autoscalingv2.ResourceMetricSourceType),
}

func metrics(spec *autoscalingv2.HorizontalPodAutoscalerSpec, at *field.Path) field.ErrorList {
	var errs field.ErrorList
	isKnownAtZero := false
	for i := range spec.Metrics {
		m := &spec.Metrics[i]
		errs = append(errs, metric(m, at.Index(i))...)
		isKnownAtZero = isKnownAtZero || m.Type == autoscalingv2.ObjectMetricSourceType ||
			m.Type == autoscalingv2.ExternalMetricSourceType
	}
	if spec.MinReplicas != nil && *spec.MinReplicas == 0 && !isKnownAtZero {
		errs = append(errs, field.Forbidden(at,
			"must specify at least one Object or External metric to support scaling to zero replicas"))
	}
	return errs
}

// metric checks one metric: it has the source of its type, and no other. Of several sources the API server examines
// only the first.
func metric(m *autoscalingv2.MetricSpec, at *field.Path) field.ErrorList {
	var errs field.ErrorList
	want := ""
	if slices.Contains(metricTypes, string(m.Type)) {
		want = strings.ToLower(string(m.Type[:1])) + string(m.Type[1:])
	} else {
		errs = append(errs, field.NotSupported(at.Child("type"), m.Type, metricTypes))
	}
	present := sources(m)
	if len(present) > 0 {
		errs = append(errs, present[0].check(at.Child(present[0].name))...)
	}
	hasOwn := slices.ContainsFunc(present, func(s source) bool { return s.name == want })
	if want != "" && !hasOwn {
		errs = append(errs, field.Required(at.Child(want), "must populate information for the given metric source"))
	}
	for _, s := range present {
		if len(present) > 1 && s.name != want {
			errs = append(errs, field.Forbidden(at.Child(s.name), "must populate the given metric source only"))
		}
	}
	return errs
}

// source is one of the sources of a metric.
type source struct {
	name  string
	check func(*field.Path) field.ErrorList
}

// sources returns the sources of a metric, in the order in which the API server checks them.
func sources(m *autoscalingv2.MetricSpec) []source {
	var all []source
	if o := m.Object; o != nil {
		all = append(all, source{"object", func(at *field.Path) field.ErrorList {
			errs := reference(&o.DescribedObject, at.Child("describedObject"), true)
			return append(append(errs, identifier(&o.Metric, at)...), objectTarget(&o.Target, at.Child("target"))...)
		}})
	}
	if e := m.External; e != nil {
		all = append(all, source{"external", func(at *field.Path) field.ErrorList {
			return append(identifier(&e.Metric, at), externalTarget(&e.Target, at.Child("target"))...)
		}})
	}
	if p := m.Pods; p != nil {
		all = append(all, source{"pods", func(at *field.Path) field.ErrorList {
			return append(identifier(&p.Metric, at), podsTarget(&p.Target, at.Child("target"))...)
		}})
	}
	if r := m.Resource; r != nil {
		all = append(all, source{"resource", func(at *field.Path) field.ErrorList {
			var errs field.ErrorList
			if r.Name == "" {
				errs = append(errs, field.Required(at.Child("name"), "must specify a resource name"))
			}
			return append(errs, resourceTarget(&r.Target, at.Child("target"))...)
		}})
	}
	if c := m.ContainerResource; c != nil {
		all = append(all, source{"containerResource", func(at *field.Path) field.ErrorList {
			errs := append(resourceName(c.Name, at.Child("name")), container(c.Container, at.Child("container"))...)
			return append(errs, resourceTarget(&c.Target, at.Child("target"))...)
		}})
	}
	return all
}

func identifier(m *autoscalingv2.MetricIdentifier, at *field.Path) field.ErrorList {
	return segment(m.Name, at.Child("metric", "name"), "must specify a metric name")
}

func container(name string, at *field.Path) field.ErrorList {
	if name == "" {
		return field.ErrorList{field.Required(at, "must specify a container")}
	}
	var errs field.ErrorList
	for _, problem := range validation.IsDNS1123Label(name) {
		errs = append(errs, field.Invalid(at, name, problem))
	}
	return errs
}

// resourceName checks the name of a resource that a container can have.
func resourceName(name corev1.ResourceName, at *field.Path) field.ErrorList {
	if name == "" {
		return field.ErrorList{field.Required(at, "must specify a resource name")}
	}
	text := string(name)
	for _, problem := range validation.IsQualifiedName(text) {
		return field.ErrorList{field.Invalid(at, text, problem)}
	}
	isNative := !strings.Contains(text, "/") || strings.Contains(text, corev1.ResourceDefaultNamespacePrefix)
	switch {
	case !strings.Contains(text, "/"):
		standard := []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourceEphemeralStorage}
		if !slices.Contains(standard, name) && !strings.HasPrefix(text, corev1.ResourceHugePagesPrefix) {
			return field.ErrorList{field.Invalid(at, text, "must be a standard resource for containers")}
		}
	case !isNative && (strings.HasPrefix(text, corev1.DefaultResourceRequestsPrefix) ||
		len(validation.IsQualifiedName(corev1.DefaultResourceRequestsPrefix+text)) > 0):
		return field.ErrorList{field.Invalid(at, text, "doesn't follow extended resource name standard")}
	}
	return nil
}

var targetTypes = []autoscalingv2.MetricTargetType{
	autoscalingv2.UtilizationMetricType, autoscalingv2.ValueMetricType, autoscalingv2.AverageValueMetricType,
}

func target(t *autoscalingv2.MetricTarget, at *field.Path) field.ErrorList {
	var errs field.ErrorList
	if t.Type == "" {
		errs = append(errs, field.Required(at.Child("type"), "must be either Utilization, Value, or AverageValue"))
	} else if !slices.Contains(targetTypes, t.Type) {
		errs = append(errs, field.Invalid(at.Child("type"), t.Type, "must be either Utilization, Value, or AverageValue"))
	}
	if t.Value != nil && t.Value.Sign() != 1 {
		errs = append(errs, field.Invalid(at.Child("value"), t.Value.String(), "must be positive"))
	}
	if t.AverageValue != nil && t.AverageValue.Sign() != 1 {
		errs = append(errs, field.Invalid(at.Child("averageValue"), t.AverageValue.String(), "must be positive"))
	}
	if t.AverageUtilization != nil && *t.AverageUtilization < 1 {
		errs = append(errs, field.Invalid(at.Child("averageUtilization"), *t.AverageUtilization, "must be greater than 0"))
	}
	return errs
}

func objectTarget(t *autoscalingv2.MetricTarget, at *field.Path) field.ErrorList {
	errs := target(t, at)
	if t.Value == nil && t.AverageValue == nil {
		errs = append(errs, field.Required(at.Child("averageValue"), "must set either a target value or averageValue"))
	}
	return errs
}

func externalTarget(t *autoscalingv2.MetricTarget, at *field.Path) field.ErrorList {
	errs := objectTarget(t, at)
	if t.Value != nil && t.AverageValue != nil {
		errs = append(errs, field.Forbidden(at.Child("value"),
			"may not set both a target value for metric and a per-pod target"))
	}
	return errs
}

func podsTarget(t *autoscalingv2.MetricTarget, at *field.Path) field.ErrorList {
	errs := target(t, at)
	if t.AverageValue == nil {
		errs = append(errs, field.Required(at.Child("averageValue"), "must specify a positive target averageValue"))
	}
	return errs
}

func resourceTarget(t *autoscalingv2.MetricTarget, at *field.Path) field.ErrorList {
	errs := target(t, at)
	switch {
	case t.AverageUtilization == nil && t.AverageValue == nil:
		errs = append(errs, field.Required(at.Child("averageUtilization"),
			"must set either a target raw value or a target utilization"))
	case t.AverageUtilization != nil && t.AverageValue != nil:
		errs = append(errs, field.Forbidden(at.Child("averageValue"),
			"may not set both a target raw value and a target utilization"))
	}
	return errs
}
