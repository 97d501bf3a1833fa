package rules

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	plimsollv1alpha1 "github.com/plimsoll-dev/plimsoll/api/plimsoll/v1alpha1"
	"github.com/plimsoll-dev/plimsoll/internal/advise/objects"
)

// reference is an autoscaler with what it refers to.
type reference struct {
	object *objects.Object
	// target is nil if it is not here.
	target              *objects.Workload
	version, kind, name string
	field               objects.Field
	isVertical, off     bool
	// isPreview says that it is a WorkloadAutoscaler in mode Preview.
	isPreview bool
	// isOther says that the autoscaler's kind is not known here.
	isOther bool
}

func references(c *objects.Collection) []reference {
	var all []reference
	for _, h := range c.Horizontals {
		ref := h.Spec.ScaleTargetRef
		all = append(all, reference{object: &h.Object, target: c.TargetOfHorizontal(h), version: ref.APIVersion,
			kind: ref.Kind, name: ref.Name, field: objects.Field{"spec", "scaleTargetRef"},
			isPreview: h.Workload != nil && h.Workload.Mode == plimsollv1alpha1.ModePreview})
	}
	for _, v := range c.Verticals {
		if ref := v.Spec.TargetRef; ref != nil {
			all = append(all, reference{
				object: &v.Object, target: c.TargetOfVertical(v), version: ref.APIVersion, kind: ref.Kind, name: ref.Name,
				field: objects.Field{"spec", "targetRef"}, isVertical: true, off: v.Mode() == "Off",
			})
		}
	}
	for _, o := range c.Others {
		if o.TargetName != "" && !makesHPA(c, o) {
			all = append(all, reference{object: &o.Object, target: c.TargetOfOther(o),
				version: o.TargetVersion, kind: o.TargetKind, name: o.TargetName,
				isOther: true, isVertical: o.Kind == objects.VPA, field: o.TargetField})
		}
	}
	return all
}

// makesHPA reports whether an HPA is made from the object, as KEDA makes one on a cluster: it is the same autoscaler.
func makesHPA(c *objects.Collection, o *objects.Other) bool {
	return slices.ContainsFunc(c.Horizontals, func(h *objects.Horizontal) bool {
		owner := metav1.GetControllerOf(h.Meta)
		return owner != nil && owner.Kind == o.Kind && owner.Name == o.Name && h.Namespace == o.Namespace
	})
}

// mayStandBy reports whether one of the two is a WorkloadAutoscaler in mode Preview and the other one is none: people
// compare the two before they migrate. Of two WorkloadAutoscalers the second one waits, whatever the modes are.
func (r *reference) mayStandBy(other *reference) bool {
	return r.isPreview && other.object.Kind != objects.WLA || other.isPreview && r.object.Kind != objects.WLA
}
