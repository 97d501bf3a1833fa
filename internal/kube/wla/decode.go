package wla

import (
	"k8s.io/apimachinery/pkg/runtime"

	plimsollv1alpha1 "github.com/plimsoll-dev/plimsoll/api/plimsoll/v1alpha1"
	"github.com/plimsoll-dev/plimsoll/internal/kube/customresource"
)

// oneOrMany is an object or a list of them.
type oneOrMany struct {
	plimsollv1alpha1.WorkloadAutoscaler `json:",inline"`

	Items []plimsollv1alpha1.WorkloadAutoscaler `json:"items"`
}

var kinds = customresource.Kinds{
	Version: plimsollv1alpha1.SchemeGroupVersion, OneOrMany: &oneOrMany{},
	Read: map[string]func(*customresource.Document) runtime.Object{
		plimsollv1alpha1.Kind: customresource.One(read),
		plimsollv1alpha1.Kind + "List": func(d *customresource.Document) runtime.Object {
			return &plimsollv1alpha1.WorkloadAutoscalerList{TypeMeta: d.TypeMeta, ListMeta: d.Metadata,
				Items: customresource.Each(d.Items, read)}
		},
	},
}

func read(text []byte) *plimsollv1alpha1.WorkloadAutoscaler {
	return customresource.WholeOrParts(text, fromParts)
}

// fromParts makes an object of what can be decoded. One whose spec cannot be decoded has none, and has the reason. A
// status that cannot be decoded is empty, and is written again.
func fromParts(p *customresource.Parts) *plimsollv1alpha1.WorkloadAutoscaler {
	object := &plimsollv1alpha1.WorkloadAutoscaler{TypeMeta: p.TypeMeta, ObjectMeta: p.ObjectMeta}
	if object.Unreadable = p.ReadSpec(&object.Spec); object.Unreadable != "" {
		object.Spec = plimsollv1alpha1.WorkloadAutoscalerSpec{}
	}
	if err := customresource.Read(p.Status, &object.Status); err != nil {
		object.Status = plimsollv1alpha1.WorkloadAutoscalerStatus{}
	}
	return object
}
