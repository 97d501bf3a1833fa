package customresource

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/plimsoll-dev/plimsoll/internal/quantity"
)

// Kinds has the kinds of one group and version, with a function for each that reads an object that cannot be decoded as
// a whole.
type Kinds struct {
	Version schema.GroupVersion
	// OneOrMany has the fields of an object and of a list of them. A text is checked once, before its kind is known.
	OneOrMany any
	// Read has a function for each kind, lists included. It returns nil if not even metadata can be decoded, which never
	// happens for stored objects.
	Read map[string]func(*Document) runtime.Object
}

// Document is a text with the decoded metadata of a list and its items.
type Document struct {
	metav1.TypeMeta `json:",inline"`
	Metadata        metav1.ListMeta   `json:"metadata"`
	Items           []json.RawMessage `json:"items"`

	Text []byte `json:"-"`
}

// Serializer wraps a serializer so that it decodes objects as far as possible.
func (k Kinds) Serializer(of runtime.NegotiatedSerializer) runtime.NegotiatedSerializer {
	return tolerant{of, k}
}

// Decoder wraps a decoder likewise.
func (k Kinds) Decoder(of runtime.Decoder) runtime.Decoder { return tolerantDecoder{of, k} }

type tolerant struct {
	runtime.NegotiatedSerializer

	kinds Kinds
}

var _ runtime.NegotiatedSerializer = tolerant{}

// DecoderToVersion implements runtime.NegotiatedSerializer.
func (t tolerant) DecoderToVersion(decoder runtime.Decoder, version runtime.GroupVersioner) runtime.Decoder {
	return t.kinds.Decoder(t.NegotiatedSerializer.DecoderToVersion(decoder, version))
}

type tolerantDecoder struct {
	runtime.Decoder

	kinds Kinds
}

// Decode implements runtime.Decoder. It decodes objects one by one only if decoding the whole text fails.
func (d tolerantDecoder) Decode(
	text []byte, defaults *schema.GroupVersionKind, into runtime.Object,
) (runtime.Object, *schema.GroupVersionKind, error) {
	unfit := quantity.Check(text, d.kinds.OneOrMany)
	if unfit == nil {
		object, kind, err := d.Decoder.Decode(text, defaults, into)
		if err == nil {
			return object, kind, nil
		}
		unfit = err
	}
	object, kind := d.kinds.readable(text)
	if object == nil || into != nil && reflect.TypeOf(into) != reflect.TypeOf(object) {
		return nil, kind, fmt.Errorf("decoding: %w", unfit)
	}
	if into == nil {
		return object, kind, nil
	}
	reflect.ValueOf(into).Elem().Set(reflect.ValueOf(object).Elem())
	return into, kind, nil
}

// readable decodes a text as far as possible; nil for other kinds.
func (k Kinds) readable(text []byte) (runtime.Object, *schema.GroupVersionKind) {
	document := &Document{Text: text}
	// A single object's metadata are not a list's, and are decoded again.
	if err := utiljson.Unmarshal(text, document); err != nil && document.Kind == "" {
		return nil, nil
	}
	kind := document.GroupVersionKind()
	read := k.Read[kind.Kind]
	if read == nil || kind.GroupVersion() != k.Version {
		return nil, &kind
	}
	return read(document), &kind
}

// One makes a function for Kinds.Read from one that decodes a single object.
func One[T any, P interface {
	*T
	runtime.Object
}](read func([]byte) P) func(*Document) runtime.Object {
	return func(d *Document) runtime.Object {
		// A nil pointer is not a nil object.
		if object := read(d.Text); object != nil {
			return object
		}
		return nil
	}
}

// Each decodes the items, and omits those without valid metadata.
func Each[T any](items []json.RawMessage, read func([]byte) *T) []T {
	objects := make([]T, 0, len(items))
	for _, item := range items {
		if object := read(item); object != nil {
			objects = append(objects, *object)
		}
	}
	return objects
}

// Parts is an object whose spec and status are not decoded.
type Parts struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              json.RawMessage `json:"spec"`
	Status            json.RawMessage `json:"status"`
}

// PartsOf returns the parts of a text, nil if it is not an object.
func PartsOf(text []byte) *Parts {
	p := &Parts{}
	if err := utiljson.Unmarshal(text, p); err != nil {
		return nil
	}
	return p
}

// WholeOrParts decodes an object, from its parts only if it must; nil if the text is not an object.
func WholeOrParts[T any](text []byte, fromParts func(*Parts) *T) *T {
	if whole := new(T); Read(text, whole) == nil {
		return whole
	}
	p := PartsOf(text)
	if p == nil {
		return nil
	}
	return fromParts(p)
}

// ReadSpec decodes the spec. It returns the error's text, with the field's path; empty if it succeeds.
func (p *Parts) ReadSpec(into any) string {
	err := Read(p.Spec, into)
	if err == nil {
		return ""
	}
	return strings.Replace("spec."+err.Error(), "spec. ", "spec: ", 1)
}

// Read checks a text and decodes it. It ignores an empty text.
func Read(text []byte, into any) error {
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
