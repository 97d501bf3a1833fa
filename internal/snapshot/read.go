package snapshot

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	jsonserializer "k8s.io/apimachinery/pkg/runtime/serializer/json"
	custommetricsv1beta2 "k8s.io/metrics/pkg/apis/custom_metrics/v1beta2"
	externalmetricsv1beta1 "k8s.io/metrics/pkg/apis/external_metrics/v1beta1"
	metricsv1beta1 "k8s.io/metrics/pkg/apis/metrics/v1beta1"
	"sigs.k8s.io/yaml"

	"github.com/plimsoll-dev/plimsoll/internal/quantity"
)

// maxItems bounds the objects of one document.
const maxItems = 1_000_000

// Reader reads a stream of steps.
type Reader struct {
	documents *splitter
	// decoder and vertical know the kinds of the two kinds of documents.
	decoder, vertical runtime.Decoder
	// read is how many documents came before.
	read int
}

// NewReader reads steps from r.
func NewReader(r io.Reader) *Reader {
	return &Reader{documents: newSplitter(r), decoder: decoderOf(scheme), vertical: decoderOf(verticalScheme)}
}

func decoderOf(s *runtime.Scheme) runtime.Decoder {
	return jsonserializer.NewSerializerWithOptions(jsonserializer.DefaultMetaFactory, s, s, jsonserializer.SerializerOptions{Strict: true})
}

// Document is a document of a stream: a step of a HorizontalPodAutoscaler, or one of
// a VerticalPodAutoscaler.
type Document struct {
	Horizontal *Step
	Vertical   *VerticalStep
}

// Next is the next step, in a stream about HorizontalPodAutoscalers alone; see
// NextDocument.
func (r *Reader) Next() (*Step, error) {
	document, err := r.NextDocument()
	if err != nil {
		return nil, err
	}
	if document.Horizontal == nil {
		return nil, fmt.Errorf("document %d: is about a VerticalPodAutoscaler, want a HorizontalPodAutoscaler", r.read)
	}
	return document.Horizontal, nil
}

// NextDocument is the next document, checked and with the API's defaults, or io.EOF.
// Its errors name document, item, object and field.
func (r *Reader) NextDocument() (Document, error) {
	document, err := r.documents.next()
	if errors.Is(err, io.EOF) {
		return Document{}, io.EOF
	}
	r.read++
	if err != nil {
		return Document{}, fmt.Errorf("document %d: %w", r.read, err)
	}
	step, err := r.decode(document)
	if err != nil {
		return Document{}, fmt.Errorf("document %d: %w", r.read, err)
	}
	return step, nil
}

func (r *Reader) decode(document []byte) (Document, error) {
	list, err := r.list(document)
	if err != nil {
		return Document{}, err
	}
	if slices.ContainsFunc(list.Items, isVertical) {
		step := &VerticalStep{}
		if err := addAll(r.vertical, list, step.add); err != nil {
			return Document{}, err
		}
		return Document{Vertical: step}, step.complete()
	}
	step := &Step{}
	if err := addAll(r.decoder, list, step.add); err != nil {
		return Document{}, err
	}
	return Document{Horizontal: step}, step.complete()
}

// isVertical reports that the item is one that only a vertical step has.
func isVertical(item runtime.RawExtension) bool {
	var m metav1.TypeMeta
	// What cannot be read is of no kind.
	_ = json.Unmarshal(item.Raw, &m)
	return m.Kind == "VerticalSnapshot" || m.Kind == "VerticalPodAutoscaler"
}

func (r *Reader) list(document []byte) (*corev1.List, error) {
	if !json.Valid(document) {
		var err error
		if document, err = yaml.YAMLToJSONStrict(document); err != nil {
			return nil, plain(err)
		}
	}
	object, err := decodeObject(r.decoder, document)
	if err != nil {
		return nil, err
	}
	list, ok := object.(*corev1.List)
	if !ok {
		return nil, fmt.Errorf("is a %s, want a v1 List", object.GetObjectKind().GroupVersionKind().Kind)
	}
	if len(list.Items) > maxItems {
		return nil, fmt.Errorf("items: %d, at most %d are read", len(list.Items), maxItems)
	}
	return list, nil
}

// addAll decodes the items, and gives each to add.
func addAll(decoder runtime.Decoder, list *corev1.List, add func(runtime.Object) error) error {
	for i := range list.Items {
		item, err := decodeObject(decoder, list.Items[i].Raw)
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
func decodeObject(decoder runtime.Decoder, raw []byte) (runtime.Object, error) {
	if err := checkQuantities(raw); err != nil {
		return nil, err
	}
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

// checkQuantities finds one that takes hours to read.
func checkQuantities(raw []byte) error {
	var m metav1.TypeMeta
	// What cannot be read is for the decoder to say.
	_ = json.Unmarshal(raw, &m)
	for _, s := range []*runtime.Scheme{scheme, verticalScheme} {
		if object, err := s.New(m.GroupVersionKind()); err == nil {
			return quantity.Check(raw, object)
		}
	}
	return nil
}

// plain takes the decoders' names for themselves out of their errors.
func plain(err error) error {
	text := err.Error()
	for _, prefix := range []string{"strict decoding error: ", "error converting YAML to JSON: ", "json: ", "yaml: ", "unmarshal errors:\n  "} {
		text = strings.TrimPrefix(text, prefix)
	}
	return errors.New(text)
}

// label names an item that may not decode.
func label(raw []byte) string {
	var m struct {
		Kind     string            `json:"kind"`
		Metadata metav1.ObjectMeta `json:"metadata"`
	}
	// What cannot be read has no name.
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

func (s *Step) add(item runtime.Object) error {
	switch item := item.(type) {
	case *Snapshot:
		if s.Snapshot != nil {
			return errSecond
		}
		s.Snapshot = item
	case *autoscalingv2.HorizontalPodAutoscaler:
		if s.HPA != nil {
			return errSecond
		}
		s.HPA = item
	case *autoscalingv1.Scale:
		if s.Scale != nil {
			return errSecond
		}
		s.Scale = item
	case *corev1.Pod:
		s.Pods = append(s.Pods, item)
	case *metricsv1beta1.PodMetrics:
		s.PodMetrics = append(s.PodMetrics, *item)
	case *custommetricsv1beta2.MetricValueList:
		s.Custom = append(s.Custom, item.Items...)
	case *externalmetricsv1beta1.ExternalMetricValueList:
		s.External = append(s.External, item.Items...)
	default:
		return errListInList
	}
	return nil
}
