package session

import (
	"errors"
	"fmt"
	"io"
	"reflect"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/plimsoll-dev/plimsoll/internal/advise/objects"
	"github.com/plimsoll-dev/plimsoll/internal/advise/read/manifests"
	"github.com/plimsoll-dev/plimsoll/internal/migrate/keda"
	"github.com/plimsoll-dev/plimsoll/internal/typed"
)

// HPA is the kind of HorizontalPodAutoscalers.
const HPA = "HorizontalPodAutoscaler"

// Objects has the objects of the manifests.
type Objects struct {
	// Migrated has the HPAs and ScaledObjects with the labels.
	Migrated []*unstructured.Unstructured
	// Places has their positions.
	Places map[*unstructured.Unstructured]objects.Place

	authentications map[place]*unstructured.Unstructured
}

// place is the position of a TriggerAuthentication.
type place struct {
	reference keda.Reference
	namespace string
}

// Authentications returns the TriggerAuthentications that a ScaledObject names. One without a namespace belongs to the
// namespace of the objects that it is applied with.
func (o *Objects) Authentications(object *unstructured.Unstructured) map[keda.Reference]*unstructured.Unstructured {
	found := map[keda.Reference]*unstructured.Unstructured{}
	for _, to := range keda.References(object) {
		namespaces := []string{object.GetNamespace(), ""}
		if to.Kind == keda.ClusterAuthenticationKind {
			namespaces = []string{""}
		}
		for _, namespace := range namespaces {
			if read := o.authentications[place{to, namespace}]; read != nil {
				found[to] = read
				break
			}
		}
	}
	return found
}

// collector keeps the objects for a migration, and ignores objects of other kinds.
type collector struct {
	Objects

	selector   labels.Selector
	unreadable []error
}

// Add implements manifests.Collector.
func (c *collector) Add(raw map[string]any, from objects.Place) {
	o := &unstructured.Unstructured{Object: raw}
	isKEDA := o.GetAPIVersion() == keda.APIVersion
	switch kind := o.GetKind(); {
	case kind == HPA && o.GroupVersionKind().Group == "autoscaling", kind == keda.Kind && isKEDA:
		// Do not ignore an object with unreadable labels silently.
		if c.selector.Matches(labels.Set(o.GetLabels())) || typed.CheckMetadata(o.Object) != nil {
			c.Migrated = append(c.Migrated, o)
			c.Places[o] = from
		}
	case kind == HPA, kind == keda.Kind, kind == keda.JobKind:
		// These are autoscalers too, and must not appear to be migrated.
		c.unreadable = append(c.unreadable, fmt.Errorf("%s:%d: %s %s of %s: it cannot be migrated, only %s of "+
			"autoscaling/v1 and autoscaling/v2 and %s of %s can", from.File, from.Line, kind, o.GetName(), o.GetAPIVersion(),
			HPA, keda.Kind, keda.APIVersion))
	case isKEDA && kind == keda.AuthenticationKind:
		c.authenticate(o, o.GetNamespace(), from)
	case isKEDA && kind == keda.ClusterAuthenticationKind:
		c.authenticate(o, "", from)
	}
}

// authenticate keeps an authentication. Two different ones with the same name are ambiguous, such as those without a
// namespace in the folders of several environments: it is unknown with which one a ScaledObject is applied.
func (c *collector) authenticate(o *unstructured.Unstructured, namespace string, from objects.Place) {
	at := place{keda.Reference{Kind: o.GetKind(), Name: o.GetName()}, namespace}
	if other := c.authentications[at]; other != nil && !reflect.DeepEqual(other.Object["spec"], o.Object["spec"]) {
		c.unreadable = append(c.unreadable, fmt.Errorf("%s:%d: the %s is in the files twice, with another spec: "+
			"give the files of one environment at a time", from.File, from.Line, at.reference))
	}
	c.authentications[at] = o
}

// LeaveOut implements manifests.Collector.
func (c *collector) LeaveOut(place objects.Place, err error) {
	c.unreadable = append(c.unreadable, fmt.Errorf("%s:%d: %w", place.File, place.Line, err))
}

// ReadManifests reads the HPAs and ScaledObjects with these labels from files and folders, and the
// TriggerAuthentications beside them, whatever their labels; - means standard input. The error names unreadable files
// and objects.
func ReadManifests(paths []string, stdin io.Reader, selector labels.Selector) (*Objects, error) {
	c := &collector{selector: selector, Objects: Objects{
		Places: map[*unstructured.Unstructured]objects.Place{}, authentications: map[place]*unstructured.Unstructured{},
	}}
	if err := manifests.ReadInto(c, paths, stdin); err != nil {
		return &c.Objects, err
	}
	return &c.Objects, errors.Join(c.unreadable...)
}
