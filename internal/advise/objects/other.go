package objects

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Other is an autoscaler of a kind whose settings are not read.
type Other struct {
	Object
	// TargetVersion, TargetKind and TargetName are what it scales; empty where that is not known.
	TargetVersion, TargetKind, TargetName string
	// TargetField is where it says so.
	TargetField Field
}

// otherAdder records objects of kinds that are not known here: what has the template of pods is a workload, and what
// refers to something to scale is an autoscaler.
func otherAdder(o *Object) func(*Collection, *Object) error {
	switch {
	case hasTemplate(o):
		return addOtherWorkload
	case isAutoscalerOrWorkload(o):
		return addOther
	}
	return nil
}

func hasTemplate(o *Object) bool {
	return o.Value(Field{"spec", "template", "spec"}) != nil && o.Has(Field{"spec", "template", "spec", "containers"})
}

// isAutoscalerOrWorkload reports whether the object makes pods, or refers to something to scale.
func isAutoscalerOrWorkload(o *Object) bool {
	switch {
	case hasTemplate(o), o.Value(Field{"spec", "scaleTargetRef"}) != nil,
		o.Value(Field{"spec", "targetRef"}) != nil && strings.HasSuffix(o.Kind, "Autoscaler"),
		o.Kind == "ScaledJob" && groupOf(o.APIVersion) == "keda.sh":
		return true
	}
	return false
}

func addOther(c *Collection, o *Object) error {
	other := &Other{Object: *o}
	for _, name := range []string{"scaleTargetRef", "targetRef"} {
		if ref := o.Value(Field{"spec", name}); ref != nil && other.TargetName == "" {
			other.TargetVersion, _ = ref["apiVersion"].(string)
			other.TargetKind, _ = ref["kind"].(string)
			other.TargetName, _ = ref["name"].(string)
			other.TargetField = Field{"spec", name}
		}
	}
	put(c, &c.Others, o, other)
	return nil
}

// workload is what all kinds have that make pods as a Deployment does.
type workload struct {
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		Replicas    *int32                  `json:"replicas"`
		Selector    *metav1.LabelSelector   `json:"selector"`
		Template    corev1.PodTemplateSpec  `json:"template"`
		WorkloadRef *corev1.ObjectReference `json:"workloadRef"`
	} `json:"spec"`
}

// addOtherWorkload reads what can be read. A kind that has something else in these fields is not one of those.
func addOtherWorkload(c *Collection, o *Object) error {
	w, err := decodeWorkload(o)
	if err != nil {
		return nil //nolint:nilerr // see above
	}
	return c.addWorkload(o, Workload{Replicas: w.Spec.Replicas, Template: &w.Spec.Template}, w.Spec.Selector)
}

// rolloutVersion is that of Argo's Rollouts.
const rolloutVersion = "argoproj.io/v1alpha1"

// addRollout reads a Rollout. Its pods may be described by a workload that it names.
func addRollout(c *Collection, o *Object) error {
	r, err := decodeWorkload(o)
	if err != nil {
		return err
	}
	return c.addWorkload(o, Workload{Replicas: r.Spec.Replicas, Template: &r.Spec.Template, from: r.Spec.WorkloadRef},
		r.Spec.Selector)
}

// decodeWorkload reads the fields of a workload, and no others.
func decodeWorkload(o *Object) (*workload, error) {
	known := *o
	known.IsUnserved = true
	w, err := decode(&known, func(t *workload) *metav1.ObjectMeta { return &t.ObjectMeta })
	o.Meta = known.Meta
	return w, err
}
