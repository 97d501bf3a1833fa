package read

import (
	"cmp"
	"context"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/plimsoll-dev/plimsoll/internal/doctor"
)

// reference is how an autoscaler names its target.
type reference struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Name       string `json:"name"`
}

func (r *reference) target(namespace string) doctor.Target {
	group, _, hasGroup := strings.Cut(r.APIVersion, "/")
	if !hasGroup {
		group = ""
	}
	if group == "" && !strings.EqualFold(r.Kind, "ReplicationController") {
		group = "apps" // an HPA without apiVersion, and KEDA's default
	}
	return doctor.Target{Group: group, Kind: r.Kind, Namespace: namespace, Name: r.Name}
}

// resourceSource is a metric of type Resource or ContainerResource.
type resourceSource struct {
	Name   string `json:"name"`
	Target struct {
		Type string `json:"type"`
	} `json:"target"`
}

// horizontal is an HPA or a WorkloadAutoscaler.
type horizontal struct {
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		ScaleTargetRef reference `json:"scaleTargetRef"`
		Mode           string    `json:"mode"`
		Metrics        []struct {
			Type              string          `json:"type"`
			Resource          *resourceSource `json:"resource"`
			ContainerResource *resourceSource `json:"containerResource"`
		} `json:"metrics"`
	} `json:"spec"`
	Status struct {
		Conditions []condition `json:"conditions"`
	} `json:"status"`
}

// condition is of a WorkloadAutoscaler or a VPA. It has no time: one status with a time that does not decode would hide
// the whole list.
type condition struct {
	Type    string `json:"type"`
	Status  string `json:"status"`
	Message string `json:"message"`
}

// messageOf is the message of a condition; empty unless it is True.
func messageOf(kind string, conditions []condition) string {
	for i := range conditions {
		if c := &conditions[i]; c.Type == kind && c.Status == "True" {
			return c.Message
		}
	}
	return ""
}

func (h *horizontal) autoscaler(kind string) doctor.Autoscaler {
	a := doctor.Autoscaler{
		Object: doctor.Object{Kind: kind, Namespace: h.Namespace, Name: h.Name}, Created: h.CreationTimestamp.Time,
		Target: h.Spec.ScaleTargetRef.target(h.Namespace), Mode: h.Spec.Mode, HasStatus: len(h.Status.Conditions) > 0,
		Overridden: messageOf("ReplicasOverridden", h.Status.Conditions),
	}
	for i := range h.Spec.Metrics {
		metric := &h.Spec.Metrics[i]
		for _, source := range []*resourceSource{metric.Resource, metric.ContainerResource} {
			if source == nil {
				continue
			}
			a.UsesResources = true
			if source.Target.Type == "Utilization" {
				a.Resources = append(a.Resources, source.Name)
			}
		}
		a.UsesCustom = a.UsesCustom || metric.Type == "Pods" || metric.Type == "Object"
		a.UsesExternal = a.UsesExternal || metric.Type == "External"
	}
	if kind == "HorizontalPodAutoscaler" && len(h.Spec.Metrics) == 0 {
		a.UsesResources, a.Resources = true, []string{"cpu"} // the default
	}
	for i := range h.ManagedFields {
		if f := &h.ManagedFields[i]; f.Subresource == "status" && f.Time != nil {
			a.Writes = append(a.Writes, doctor.Write{By: f.Manager, At: f.Time.Time})
		}
	}
	a.ScaledObject = h.scaledObject()
	return a
}

func (h *horizontal) scaledObject() (name string) {
	for i := range h.OwnerReferences {
		if h.OwnerReferences[i].Kind == "ScaledObject" {
			name = h.OwnerReferences[i].Name
		}
	}
	return name
}

// vertical is a VPA.
type vertical struct {
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		TargetRef    *reference `json:"targetRef"`
		UpdatePolicy struct {
			UpdateMode string `json:"updateMode"`
		} `json:"updatePolicy"`
		ResourcePolicy struct {
			ContainerPolicies []struct {
				Mode                string    `json:"mode"`
				ControlledResources *[]string `json:"controlledResources"`
			} `json:"containerPolicies"`
		} `json:"resourcePolicy"`
	} `json:"spec"`
	Status struct {
		Conditions []condition `json:"conditions"`
	} `json:"status"`
}

func (v *vertical) autoscaler() doctor.Autoscaler {
	a := doctor.Autoscaler{
		Object:  doctor.Object{Kind: "VerticalPodAutoscaler", Namespace: v.Namespace, Name: v.Name},
		Created: v.CreationTimestamp.Time, Mode: cmp.Or(v.Spec.UpdatePolicy.UpdateMode, "Auto"),
		HasStatus: len(v.Status.Conditions) > 0, Ineffective: messageOf("ConfigIneffective", v.Status.Conditions),
	}
	if v.Spec.TargetRef != nil {
		a.Target = v.Spec.TargetRef.target(v.Namespace)
	}
	both := []string{"cpu", "memory"}
	policies := v.Spec.ResourcePolicy.ContainerPolicies
	if len(policies) == 0 {
		a.Resources = both
	}
	for i := range policies {
		switch p := &policies[i]; {
		case p.Mode == "Off":
		case p.ControlledResources == nil:
			a.Resources = append(a.Resources, both...)
		default:
			a.Resources = append(a.Resources, *p.ControlledResources...)
		}
	}
	return a
}

// autoscalers reads all three kinds side by side.
func (r *reader) autoscalers(ctx context.Context) {
	each([]func(){
		func() {
			r.facts.HPAs = listed(ctx, r, request{verb: "list", group: "autoscaling", resource: "horizontalpodautoscalers"},
				"/apis/autoscaling/v2/horizontalpodautoscalers",
				func(h *horizontal) doctor.Autoscaler { return h.autoscaler("HorizontalPodAutoscaler") })
		},
		func() {
			r.facts.WLAs = listed(ctx, r, request{verb: "list", group: "plimsoll.dev", resource: "workloadautoscalers"},
				"/apis/plimsoll.dev/v1alpha1/workloadautoscalers",
				func(h *horizontal) doctor.Autoscaler { return h.autoscaler("WorkloadAutoscaler") })
		},
		func() {
			r.facts.VPAs = listed(ctx, r,
				request{verb: "list", group: "autoscaling.k8s.io", resource: "verticalpodautoscalers"},
				"/apis/autoscaling.k8s.io/v1/verticalpodautoscalers",
				func(v *vertical) doctor.Autoscaler { return v.autoscaler() })
		},
	}, func(_ int, read *func()) { (*read)() })
}

// listed reads all objects of a kind; there are none of one that is not served.
func listed[From, To any](
	ctx context.Context, r *reader, what request, path string, convert func(*From) To,
) doctor.Reading[[]To] {
	return reading(ctx, r, what, func(ctx context.Context) ([]To, error) {
		var all []To
		err := list(ctx, r.api, path, nil, func(from *From) { all = append(all, convert(from)) })
		if isUnserved(err) {
			return nil, nil
		}
		return all, err
	})
}

// scaledObject is one of KEDA's.
type scaledObject struct {
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		ScaleTargetRef reference `json:"scaleTargetRef"`
	} `json:"spec"`
}

func (r *reader) scaledObjects(ctx context.Context) {
	what := request{verb: "list", group: "keda.sh", resource: "scaledobjects"}
	r.facts.ScaledObjects = reading(ctx, r, what, func(ctx context.Context) (doctor.ScaledObjects, error) {
		read := doctor.ScaledObjects{IsServed: true}
		err := list(ctx, r.api, "/apis/keda.sh/v1alpha1/scaledobjects", nil, func(s *scaledObject) {
			ref := s.Spec.ScaleTargetRef
			ref.Kind = cmp.Or(ref.Kind, "Deployment")
			read.All = append(read.All, doctor.Autoscaler{
				Object: doctor.Object{Kind: "ScaledObject", Namespace: s.Namespace, Name: s.Name},
				Target: ref.target(s.Namespace), Created: s.CreationTimestamp.Time,
			})
		})
		if isUnserved(err) {
			return doctor.ScaledObjects{}, nil
		}
		return read, err
	})
}
