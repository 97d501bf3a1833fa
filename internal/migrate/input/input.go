// Package input reads what to migrate from manifests.
package input

import (
	"errors"
	"fmt"
	"io"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/plimsoll-dev/plimsoll/internal/advise/objects"
	"github.com/plimsoll-dev/plimsoll/internal/advise/read/manifests"
	"github.com/plimsoll-dev/plimsoll/internal/migrate/keda"
)

// HPA is the kind of HorizontalPodAutoscalers.
const HPA = "HorizontalPodAutoscaler"

// collector keeps HPAs and ScaledObjects, and ignores objects of other kinds.
type collector struct {
	selector   labels.Selector
	objects    []*unstructured.Unstructured
	unreadable []error
}

// Add implements manifests.Collector.
func (c *collector) Add(raw map[string]any, _ objects.Place) {
	o := &unstructured.Unstructured{Object: raw}
	isHPA := o.GetKind() == HPA && o.GroupVersionKind().Group == "autoscaling"
	isScaledObject := o.GetKind() == keda.Kind && o.GetAPIVersion() == keda.APIVersion
	if (isHPA || isScaledObject) && c.selector.Matches(labels.Set(o.GetLabels())) {
		c.objects = append(c.objects, o)
	}
}

// LeaveOut implements manifests.Collector.
func (c *collector) LeaveOut(place objects.Place, err error) {
	c.unreadable = append(c.unreadable, fmt.Errorf("%s:%d: %w", place.File, place.Line, err))
}

// Read reads the HPAs and ScaledObjects with these labels from files and folders; - is
// standard input. The error names what cannot be read beside them.
func Read(paths []string, stdin io.Reader, selector labels.Selector) ([]*unstructured.Unstructured, error) {
	c := &collector{selector: selector}
	if err := manifests.ReadInto(c, paths, stdin); err != nil {
		return nil, err
	}
	return c.objects, errors.Join(c.unreadable...)
}
