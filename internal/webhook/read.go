package webhook

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical"
	observevertical "github.com/plimsoll-dev/plimsoll/internal/observe/vertical"
	"github.com/plimsoll-dev/plimsoll/internal/quantity"
)

// maxEntries bounds the containers, init containers, labels and owners of a pod that are read. No running pod has as
// many. Three bytes of text make a container of a hundred, whose patch takes thousands.
const maxEntries = 250

// readBody reads a whole request, up to its Content-Length.
func readBody(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	var body bytes.Buffer
	if r.ContentLength > 0 {
		body.Grow(int(min(r.ContentLength, MaxBodyBytes)) + bytes.MinRead)
	}
	_, err := body.ReadFrom(http.MaxBytesReader(w, r.Body, MaxBodyBytes))
	return body.Bytes(), err
}

// parseReview returns the request of an AdmissionReview without its user and options, which are not used.
func parseReview(body []byte) (*admissionv1.AdmissionRequest, error) {
	var review struct {
		Request *struct {
			UID         types.UID                   `json:"uid"`
			Resource    metav1.GroupVersionResource `json:"resource"`
			RequestKind *metav1.GroupVersionKind    `json:"requestKind"`
			Name        string                      `json:"name"`
			Namespace   string                      `json:"namespace"`
			Operation   admissionv1.Operation       `json:"operation"`
			Object      runtime.RawExtension        `json:"object"`
			OldObject   runtime.RawExtension        `json:"oldObject"`
		} `json:"request"`
	}
	if err := json.Unmarshal(body, &review); err != nil {
		return nil, err
	}
	asked := review.Request
	if asked == nil {
		return nil, errors.New("an AdmissionReview without a request")
	}
	return &admissionv1.AdmissionRequest{
		UID: asked.UID, Resource: asked.Resource, RequestKind: asked.RequestKind, Name: asked.Name,
		Namespace: asked.Namespace,
		Operation: asked.Operation, Object: asked.Object, OldObject: asked.OldObject,
	}, nil
}

// newPod has the fields of a pod that are decoded. Everything else, and the resources that nothing here changes, is
// skipped in the text: it allocates no objects.
type newPod struct {
	Metadata struct {
		Name            string                      `json:"name"`
		GenerateName    string                      `json:"generateName"`
		Labels          labelSet                    `json:"labels"`
		Annotations     isPresent                   `json:"annotations"`
		OwnerReferences list[metav1.OwnerReference] `json:"ownerReferences"`
	} `json:"metadata"`
	Spec struct {
		Containers     list[newContainer] `json:"containers"`
		InitContainers list[newContainer] `json:"initContainers"`
		Resources      *newResources      `json:"resources"`
	} `json:"spec"`
}

type newContainer struct {
	Name          string                         `json:"name"`
	Resources     newResources                   `json:"resources"`
	RestartPolicy *corev1.ContainerRestartPolicy `json:"restartPolicy"`
}

type newResources struct {
	Requests resourceList `json:"requests"`
	Limits   resourceList `json:"limits"`
	Claims   isPresent    `json:"claims"`
}

func (r *newResources) isBare() bool { return r.Requests == nil && r.Limits == nil && !bool(r.Claims) }

func parsePod(raw []byte) (*newPod, error) {
	pod := &newPod{}
	if err := quantity.Check(raw, pod); err != nil {
		return nil, err
	}
	return pod, json.Unmarshal(raw, pod)
}

// matched returns the fields that a Matcher reads. The API server sends neither name nor namespace in the object of a
// pod with generateName.
func (pod *newPod) matched(namespace string) *corev1.Pod {
	m := &pod.Metadata
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Name: m.Name, GenerateName: m.GenerateName, Namespace: namespace, Labels: m.Labels,
		OwnerReferences: m.OwnerReferences,
	}}
}

// resourceList has the CPU and the memory of a ResourceList; nil if it is absent.
type resourceList corev1.ResourceList

// UnmarshalJSON implements json.Unmarshaler.
func (l *resourceList) UnmarshalJSON(text []byte) error {
	var read *struct {
		CPU    *resource.Quantity `json:"cpu"`
		Memory *resource.Quantity `json:"memory"`
	}
	// A name in capitals is that of another resource.
	if err := utiljson.Unmarshal(text, &read); err != nil || read == nil {
		return err
	}
	if *l == nil {
		*l = resourceList{}
	}
	if read.CPU != nil {
		(*l)[corev1.ResourceCPU] = *read.CPU
	}
	if read.Memory != nil {
		(*l)[corev1.ResourceMemory] = *read.Memory
	}
	return nil
}

func (l resourceList) amounts() vertical.Amounts {
	return observevertical.AmountsOf(corev1.ResourceList(l))
}

// isPresent is the presence of a field whose value does not matter.
type isPresent bool

// UnmarshalJSON implements json.Unmarshaler.
func (is *isPresent) UnmarshalJSON(text []byte) error {
	*is = string(text) != "null"
	return nil
}

// list is an array of at most maxEntries.
type list[T any] []T

// UnmarshalJSON implements json.Unmarshaler.
func (l *list[T]) UnmarshalJSON(text []byte) error {
	if n := countEntries(text, 1); n > maxEntries {
		return fmt.Errorf("%d entries, more than %d", n, maxEntries)
	}
	return json.Unmarshal(text, (*[]T)(l))
}

// labelSet is a map of at most maxEntries.
type labelSet map[string]string

// UnmarshalJSON implements json.Unmarshaler.
func (s *labelSet) UnmarshalJSON(text []byte) error {
	if n := countEntries(text, 1); n > maxEntries {
		return fmt.Errorf("%d labels, more than %d", n, maxEntries)
	}
	if err := json.Unmarshal(text, (*map[string]string)(s)); err != nil {
		return err
	}
	if n := len(*s); n > maxEntries {
		return fmt.Errorf("%d labels in several maps, more than %d", n, maxEntries)
	}
	return nil
}

// countEntries counts the entries of the arrays and objects in a valid JSON text down to a depth, without decoding
// them. An empty one counts as one.
func countEntries(text []byte, deepest int) (n int) {
	depth, isString := 0, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case isString && c == '\\':
			i++
		case c == '"':
			isString = !isString
		case isString:
		case c == '{' || c == '[':
			if depth++; depth <= deepest {
				n++
			}
		case c == '}' || c == ']':
			depth--
		case c == ',' && depth <= deepest:
			n++
		}
	}
	return n
}
