package snapshot

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	jsonserializer "k8s.io/apimachinery/pkg/runtime/serializer/json"
	"sigs.k8s.io/yaml"

	"github.com/plimsoll-dev/plimsoll/internal/quantity"
)

// maxItems bounds the objects of one document.
const maxItems = 1_000_000

// Reader reads a stream of steps.
type Reader struct {
	documents *splitter
	formats   []Format
	// read counts the documents so far.
	read int
}

// NewReader reads documents of these formats. One without any format's marks is of the first.
func NewReader(r io.Reader, formats ...Format) *Reader {
	return &Reader{documents: newSplitter(r), formats: formats}
}

// Next returns the next document's step, complete, or io.EOF. Its errors name document, item, object and field.
func (r *Reader) Next() (Step, error) {
	document, err := r.documents.next()
	if errors.Is(err, io.EOF) {
		return nil, io.EOF
	}
	r.read++
	var step Step
	if err == nil {
		step, err = r.decode(document)
	}
	if err != nil {
		return nil, fmt.Errorf("document %d: %w", r.read, err)
	}
	return step, nil
}

// ReaderOf reads a stream whose steps are all of one type.
type ReaderOf[S Step] struct {
	stream *Reader
}

// NewReaderOf reads documents of one format, whose steps are of type S.
func NewReaderOf[S Step](r io.Reader, format Format) *ReaderOf[S] {
	return &ReaderOf[S]{stream: NewReader(r, format)}
}

// Next returns the next document's step, as [Reader.Next] does.
func (r *ReaderOf[S]) Next() (S, error) {
	var none S
	next, err := r.stream.Next()
	if err != nil {
		return none, err
	}
	step, ok := next.(S)
	if !ok {
		return none, fmt.Errorf("document %d: is a %T, want a %T", r.stream.read, next, none)
	}
	return step, nil
}

func (r *Reader) decode(document []byte) (Step, error) {
	list, err := listOf(document)
	if err != nil {
		return nil, err
	}
	format := r.formatOf(list)
	step := format.New()
	if err := addAll(format.Scheme, list, step.Add); err != nil {
		return nil, err
	}
	return step, step.Complete()
}

// formatOf returns the format that follows from the list's items.
func (r *Reader) formatOf(list *corev1.List) *Format {
	for i := range r.formats {
		isMarked := func(item runtime.RawExtension) bool {
			return slices.Contains(r.formats[i].Marks, typeOf(item.Raw).Kind)
		}
		if slices.ContainsFunc(list.Items, isMarked) {
			return &r.formats[i]
		}
	}
	return &r.formats[0]
}

// typeOf returns the kind of an object that may not decode.
func typeOf(raw []byte) metav1.TypeMeta {
	var m metav1.TypeMeta
	// An unreadable object has no kind; the decoder returns the reason.
	_ = json.Unmarshal(raw, &m)
	return m
}

var listScheme = newListScheme()

func newListScheme() *runtime.Scheme {
	s := runtime.NewScheme()
	s.AddKnownTypes(corev1.SchemeGroupVersion, &corev1.List{})
	return s
}

func listOf(document []byte) (*corev1.List, error) {
	if !json.Valid(document) {
		var err error
		if document, err = yaml.YAMLToJSONStrict(document); err != nil {
			return nil, plain(err)
		}
	}
	if kind := typeOf(document).Kind; kind != "" && kind != "List" {
		return nil, fmt.Errorf("is a %s, want a v1 List", kind)
	}
	object, err := decodeObject(listScheme, document)
	if err != nil {
		return nil, err
	}
	list, ok := object.(*corev1.List)
	if !ok {
		return nil, errors.New("want a v1 List")
	}
	if len(list.Items) > maxItems {
		return nil, fmt.Errorf("items: %d, at most %d are read", len(list.Items), maxItems)
	}
	return list, nil
}

func addAll(known *runtime.Scheme, list *corev1.List, add func(runtime.Object) error) error {
	for i := range list.Items {
		item, err := decodeObject(known, list.Items[i].Raw)
		if err == nil {
			err = add(item)
		}
		if err != nil {
			return fmt.Errorf("item %d%s: %w", i+1, label(list.Items[i].Raw), err)
		}
	}
	return nil
}

// decodeObject decodes one object strictly: an unknown or doubled field is an error.
func decodeObject(known *runtime.Scheme, raw []byte) (runtime.Object, error) {
	if err := checkQuantities(known, raw); err != nil {
		return nil, err
	}
	decoder := jsonserializer.NewSerializerWithOptions(
		jsonserializer.DefaultMetaFactory, known, known, jsonserializer.SerializerOptions{Strict: true})
	object, kind, err := decoder.Decode(raw, nil, nil)
	switch {
	case runtime.IsNotRegisteredError(err) && kind != nil:
		return nil, fmt.Errorf("kind %s of %q is not part of a snapshot", kind.Kind, kind.GroupVersion())
	case runtime.IsMissingKind(err):
		return nil, errors.New("kind: Required value")
	case runtime.IsMissingVersion(err):
		return nil, errors.New("apiVersion: Required value")
	case err != nil:
		return nil, plain(err)
	}
	return object, nil
}

// checkQuantities returns an error for a quantity that takes hours to parse.
func checkQuantities(known *runtime.Scheme, raw []byte) error {
	kind := typeOf(raw)
	object, err := known.New(kind.GroupVersionKind())
	if err != nil {
		return nil //nolint:nilerr // a kind that is not known is for the decoder to say
	}
	return quantity.Check(raw, object)
}

// plain takes the decoders' names for themselves out of their errors.
func plain(err error) error {
	text := err.Error()
	for _, prefix := range []string{"strict decoding error: ", "error converting YAML to JSON: ", "json: ", "yaml: ",
		"unmarshal errors:\n  "} {
		text = strings.TrimPrefix(text, prefix)
	}
	return errors.New(text)
}

func label(raw []byte) string {
	var m struct {
		Kind     string            `json:"kind"`
		Metadata metav1.ObjectMeta `json:"metadata"`
	}
	// An unreadable object has no name.
	_ = json.Unmarshal(raw, &m)
	name := m.Metadata.Name
	if m.Metadata.Namespace != "" {
		name = m.Metadata.Namespace + "/" + name
	}
	text := strings.TrimSpace(m.Kind + " " + name)
	if text == "" {
		return ""
	}
	return " (" + text + ")"
}
