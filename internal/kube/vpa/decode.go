package vpa

import (
	"k8s.io/apimachinery/pkg/runtime"

	vpav1 "github.com/plimsoll-dev/plimsoll/api/autoscaling/v1"
	"github.com/plimsoll-dev/plimsoll/internal/kube/customresource"
)

// oneOrMany is an object or a list of them.
type oneOrMany struct {
	vpav1.VerticalPodAutoscaler `json:",inline"`

	Items []vpav1.VerticalPodAutoscaler `json:"items"`
}

var kinds = customresource.Kinds{
	Version: vpav1.SchemeGroupVersion, OneOrMany: &oneOrMany{},
	Read: map[string]func(*customresource.Document) runtime.Object{
		"VerticalPodAutoscaler":           customresource.One(autoscalerOf),
		"VerticalPodAutoscalerCheckpoint": customresource.One(checkpointOf),
		"VerticalPodAutoscalerList": func(d *customresource.Document) runtime.Object {
			return &vpav1.VerticalPodAutoscalerList{TypeMeta: d.TypeMeta, ListMeta: d.Metadata,
				Items: customresource.Each(d.Items, autoscalerOf)}
		},
		"VerticalPodAutoscalerCheckpointList": func(d *customresource.Document) runtime.Object {
			return &vpav1.VerticalPodAutoscalerCheckpointList{TypeMeta: d.TypeMeta, ListMeta: d.Metadata,
				Items: customresource.Each(d.Items, checkpointOf)}
		},
	},
}

func autoscalerOf(text []byte) *vpav1.VerticalPodAutoscaler {
	return customresource.WholeOrParts(text, autoscalerFromParts)
}

// autoscalerFromParts makes an object of what can be decoded. One whose spec cannot be decoded has the reason, and no
// effect: it names no workload. A status that cannot be decoded is empty, and is written again.
func autoscalerFromParts(p *customresource.Parts) *vpav1.VerticalPodAutoscaler {
	object := &vpav1.VerticalPodAutoscaler{TypeMeta: p.TypeMeta, ObjectMeta: p.ObjectMeta}
	if object.Unreadable = p.ReadSpec(&object.Spec); object.Unreadable != "" {
		object.Spec = vpav1.VerticalPodAutoscalerSpec{}
	}
	if err := customresource.Read(p.Status, &object.Status); err != nil {
		object.Status = vpav1.VerticalPodAutoscalerStatus{}
	}
	return object
}

// UnreadableVersion is the version of a checkpoint whose status cannot be read: an unknown one.
const UnreadableVersion = "unreadable"

func checkpointOf(text []byte) *vpav1.VerticalPodAutoscalerCheckpoint {
	return customresource.WholeOrParts(text, checkpointFromParts)
}

func checkpointFromParts(p *customresource.Parts) *vpav1.VerticalPodAutoscalerCheckpoint {
	object := &vpav1.VerticalPodAutoscalerCheckpoint{TypeMeta: p.TypeMeta, ObjectMeta: p.ObjectMeta}
	if err := customresource.Read(p.Spec, &object.Spec); err != nil {
		object.Spec = vpav1.VerticalPodAutoscalerCheckpointSpec{}
	}
	if err := customresource.Read(p.Status, &object.Status); err != nil {
		object.Status = vpav1.VerticalPodAutoscalerCheckpointStatus{Version: UnreadableVersion}
	}
	return object
}
