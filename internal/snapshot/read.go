package snapshot

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
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
)

// maxItems bounds the objects of one document.
const maxItems = 1_000_000

// Reader reads a stream of steps.
type Reader struct {
	documents *splitter
	decoder   runtime.Decoder
	// read is how many documents came before.
	read int
}

// NewReader reads steps from r.
func NewReader(r io.Reader) *Reader {
	return &Reader{
		documents: newSplitter(r),
		decoder: jsonserializer.NewSerializerWithOptions(jsonserializer.DefaultMetaFactory, scheme, scheme,
			jsonserializer.SerializerOptions{Strict: true}),
	}
}

// Next is the next step, checked and with the API's defaults, or io.EOF. Its
// errors name document, item, object and field.
func (r *Reader) Next() (*Step, error) {
	document, err := r.documents.next()
	if errors.Is(err, io.EOF) {
		return nil, io.EOF
	}
	r.read++
	if err != nil {
		return nil, fmt.Errorf("document %d: %w", r.read, err)
	}
	step, err := r.decode(document)
	if err == nil {
		err = step.complete()
	}
	if err != nil {
		return nil, fmt.Errorf("document %d: %w", r.read, err)
	}
	return step, nil
}

func (r *Reader) decode(document []byte) (*Step, error) {
	if !json.Valid(document) {
		var err error
		if document, err = yaml.YAMLToJSONStrict(document); err != nil {
			return nil, plain(err)
		}
	}
	object, err := r.object(document)
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
	step := &Step{}
	for i := range list.Items {
		item, err := r.object(list.Items[i].Raw)
		if err == nil {
			err = step.add(item)
		}
		if err != nil {
			return nil, fmt.Errorf("item %d%s: %w", i+1, label(list.Items[i].Raw), err)
		}
	}
	return step, nil
}

// object decodes one object strictly: an unknown or doubled field is an error.
func (r *Reader) object(raw []byte) (runtime.Object, error) {
	object, kind, err := r.decoder.Decode(raw, nil, nil)
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
			return errors.New("second of its kind, a step has one")
		}
		s.Snapshot = item
	case *autoscalingv2.HorizontalPodAutoscaler:
		if s.HPA != nil {
			return errors.New("second of its kind, a step has one")
		}
		s.HPA = item
	case *autoscalingv1.Scale:
		if s.Scale != nil {
			return errors.New("second of its kind, a step has one")
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
		return errors.New("a list within the list")
	}
	return nil
}
