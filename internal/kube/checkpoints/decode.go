package checkpoints

import (
	"k8s.io/apimachinery/pkg/runtime"

	plimsollv1alpha1 "github.com/plimsoll-dev/plimsoll/api/plimsoll/v1alpha1"
	"github.com/plimsoll-dev/plimsoll/internal/kube/customresource"
)

// oneOrMany is an object or a list of them.
type oneOrMany struct {
	plimsollv1alpha1.AutoscalerCheckpoint `json:",inline"`

	Items []plimsollv1alpha1.AutoscalerCheckpoint `json:"items"`
}

var kinds = customresource.Kinds{
	Version: plimsollv1alpha1.SchemeGroupVersion, OneOrMany: &oneOrMany{},
	Read: map[string]func(*customresource.Document) runtime.Object{
		plimsollv1alpha1.CheckpointKind: customresource.One(read),
		plimsollv1alpha1.CheckpointKind + "List": func(d *customresource.Document) runtime.Object {
			return &plimsollv1alpha1.AutoscalerCheckpointList{TypeMeta: d.TypeMeta, ListMeta: d.Metadata,
				Items: customresource.Each(d.Items, read)}
		},
	},
}

// read decodes an object alone, after decoding its list has failed. An object whose spec cannot be decoded has the
// reason instead.
func read(text []byte) *plimsollv1alpha1.AutoscalerCheckpoint {
	p := customresource.PartsOf(text)
	if p == nil {
		return nil
	}
	object := &plimsollv1alpha1.AutoscalerCheckpoint{TypeMeta: p.TypeMeta, ObjectMeta: p.ObjectMeta}
	if object.Unreadable = p.ReadSpec(&object.Spec); object.Unreadable != "" {
		object.Spec = plimsollv1alpha1.AutoscalerCheckpointSpec{}
	}
	return object
}
