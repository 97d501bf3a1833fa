package vpa

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	vpav1 "github.com/plimsoll-dev/plimsoll/api/autoscaling/v1"
	"github.com/plimsoll-dev/plimsoll/internal/quantity"
)

// tolerant reads what can be read. The API server stores the text of a custom resource
// as it is: one object that cannot be decoded, or that takes hours to decode, must not
// keep the others from being read.
type tolerant struct{ runtime.NegotiatedSerializer }

var _ runtime.NegotiatedSerializer = tolerant{}

// DecoderToVersion implements runtime.NegotiatedSerializer.
func (t tolerant) DecoderToVersion(decoder runtime.Decoder, version runtime.GroupVersioner) runtime.Decoder {
	return tolerantDecoder{t.NegotiatedSerializer.DecoderToVersion(decoder, version)}
}

type tolerantDecoder struct{ runtime.Decoder }

// oneOrMany is an object or a list of them: which, the text is not asked before it is
// checked, and it is checked once.
type oneOrMany struct {
	vpav1.VerticalPodAutoscaler `json:",inline"`

	Items []vpav1.VerticalPodAutoscaler `json:"items"`
}

// Decode implements runtime.Decoder. It decodes objects one by one only where the text
// as a whole is not fit for it.
func (d tolerantDecoder) Decode(
	text []byte, defaults *schema.GroupVersionKind, into runtime.Object,
) (runtime.Object, *schema.GroupVersionKind, error) {
	unfit := quantity.Check(text, &oneOrMany{})
	if unfit == nil {
		object, kind, err := d.Decoder.Decode(text, defaults, into)
		if err == nil {
			return object, kind, nil
		}
		unfit = err
	}
	object, kind := readable(text)
	if object == nil || into != nil && reflect.TypeOf(into) != reflect.TypeOf(object) {
		return nil, kind, fmt.Errorf("decoding: %w", unfit)
	}
	if into == nil {
		return object, kind, nil
	}
	reflect.ValueOf(into).Elem().Set(reflect.ValueOf(object).Elem())
	return into, kind, nil
}

// readable is what can be read of a text; nil if it is about something else.
func readable(text []byte) (runtime.Object, *schema.GroupVersionKind) {
	var document struct {
		metav1.TypeMeta `json:",inline"`
		Metadata        metav1.ListMeta   `json:"metadata"`
		Items           []json.RawMessage `json:"items"`
	}
	// A single object's metadata are no list's, and are read anew.
	if err := utiljson.Unmarshal(text, &document); err != nil && document.Kind == "" {
		return nil, nil
	}
	kind := document.GroupVersionKind()
	if kind.GroupVersion() != vpav1.SchemeGroupVersion {
		return nil, &kind
	}
	switch kind.Kind {
	case "VerticalPodAutoscaler":
		return nonNil(autoscalerOf(text)), &kind
	case "VerticalPodAutoscalerCheckpoint":
		return nonNil(checkpointOf(text)), &kind
	case "VerticalPodAutoscalerList":
		list := &vpav1.VerticalPodAutoscalerList{TypeMeta: document.TypeMeta, ListMeta: document.Metadata}
		list.Items = each(document.Items, autoscalerOf)
		return list, &kind
	case "VerticalPodAutoscalerCheckpointList":
		list := &vpav1.VerticalPodAutoscalerCheckpointList{TypeMeta: document.TypeMeta, ListMeta: document.Metadata}
		list.Items = each(document.Items, checkpointOf)
		return list, &kind
	}
	return nil, &kind
}

func nonNil[T any, P interface {
	*T
	runtime.Object
}](object P) runtime.Object {
	if object == nil {
		return nil
	}
	return object
}

// each leaves out what has not even metadata, which the API server does not store.
func each[T any](items []json.RawMessage, read func([]byte) *T) []T {
	objects := make([]T, 0, len(items))
	for _, item := range items {
		if object := read(item); object != nil {
			objects = append(objects, *object)
		}
	}
	return objects
}

// parts are an object whose spec and status are not looked at.
type parts struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              json.RawMessage `json:"spec"`
	Status            json.RawMessage `json:"status"`
}

// autoscalerOf is the object, which is taken apart only where it must be. One whose spec cannot be read says why, and
// asks for nothing: it names no workload. A status that cannot be read is none, and is written anew.
func autoscalerOf(text []byte) *vpav1.VerticalPodAutoscaler {
	if whole := (&vpav1.VerticalPodAutoscaler{}); read(text, whole) == nil {
		return whole
	}
	var p parts
	if err := utiljson.Unmarshal(text, &p); err != nil {
		return nil
	}
	object := &vpav1.VerticalPodAutoscaler{TypeMeta: p.TypeMeta, ObjectMeta: p.ObjectMeta}
	if err := read(p.Spec, &object.Spec); err != nil {
		object.Spec, object.Unreadable = vpav1.VerticalPodAutoscalerSpec{},
			strings.Replace("spec."+err.Error(), "spec. ", "spec: ", 1)
	}
	if err := read(p.Status, &object.Status); err != nil {
		object.Status = vpav1.VerticalPodAutoscalerStatus{}
	}
	return object
}

// UnreadableVersion is the version of a checkpoint whose status cannot be read: an unknown one.
const UnreadableVersion = "unreadable"

func checkpointOf(text []byte) *vpav1.VerticalPodAutoscalerCheckpoint {
	if whole := (&vpav1.VerticalPodAutoscalerCheckpoint{}); read(text, whole) == nil {
		return whole
	}
	var p parts
	if err := utiljson.Unmarshal(text, &p); err != nil {
		return nil
	}
	object := &vpav1.VerticalPodAutoscalerCheckpoint{TypeMeta: p.TypeMeta, ObjectMeta: p.ObjectMeta}
	if err := read(p.Spec, &object.Spec); err != nil {
		object.Spec = vpav1.VerticalPodAutoscalerCheckpointSpec{}
	}
	if err := read(p.Status, &object.Status); err != nil {
		object.Status = vpav1.VerticalPodAutoscalerCheckpointStatus{Version: UnreadableVersion}
	}
	return object
}

func read(text []byte, into any) error {
	if len(text) == 0 {
		return nil
	}
	if err := quantity.Check(text, into); err != nil {
		return err
	}
	if err := utiljson.Unmarshal(text, into); err != nil {
		return fmt.Errorf(" %s", strings.TrimPrefix(err.Error(), "json: "))
	}
	return nil
}
