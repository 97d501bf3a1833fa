// Package names lists the names of objects, for shell completion and for suggestions: bounded in number and in time,
// and never an object's content.
package names

import (
	"context"
	"fmt"
	"strings"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"

	vpav1 "github.com/plimsoll-dev/plimsoll/api/autoscaling/v1"
	plimsollv1alpha1 "github.com/plimsoll-dev/plimsoll/api/plimsoll/v1alpha1"
)

const (
	// pageSize is how many objects are requested at once, maxPages how many pages are read.
	pageSize = 500
	maxPages = 20
	// Most is how many names are returned at most.
	Most = 200
)

// The kinds whose names are listed.
var (
	HPAs          = autoscalingv2.SchemeGroupVersion.WithResource("horizontalpodautoscalers")
	VPAs          = vpav1.SchemeGroupVersion.WithResource("verticalpodautoscalers")
	ScaledObjects = schema.GroupVersionResource{Group: "keda.sh", Version: "v1alpha1", Resource: "scaledobjects"}
	Namespaces    = corev1.SchemeGroupVersion.WithResource("namespaces")
	WLAs          = plimsollv1alpha1.SchemeGroupVersion.WithResource("workloadautoscalers")
)

// Of is the kind of a resource with its API group, such as horizontalpodautoscalers.autoscaling.
func Of(resource string) (schema.GroupVersionResource, bool) {
	for _, kind := range []schema.GroupVersionResource{HPAs, VPAs, ScaledObjects, WLAs} {
		if kind.GroupResource().String() == resource {
			return kind, true
		}
	}
	return schema.GroupVersionResource{}, false
}

// Query is which names are listed.
type Query struct {
	Kind schema.GroupVersionResource
	// Namespace is that of the objects; empty for objects that have none.
	Namespace string
	// Prefix is what the names begin with.
	Prefix string
	// Annotation is one that the objects have; empty for all.
	Annotation string
	// Timeout is how long all of it may take.
	Timeout time.Duration
}

// List lists names, in the order of the API server, which is that of the alphabet. What was read before an error is
// returned with it.
func List(ctx context.Context, config *rest.Config, q Query) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, q.Timeout)
	defer cancel()
	own := rest.CopyConfig(config)
	own.Timeout, own.WarningHandler, own.QPS = q.Timeout, rest.NoWarnings{}, -1
	client, err := metadata.NewForConfig(own)
	if err != nil {
		return nil, fmt.Errorf("making a client: %w", err)
	}
	var found []string
	options := metav1.ListOptions{Limit: pageSize}
	for range maxPages {
		page, err := client.Resource(q.Kind).Namespace(q.Namespace).List(ctx, options)
		if err != nil {
			return found, err
		}
		for i := range page.Items {
			if q.has(&page.Items[i]) {
				found = append(found, page.Items[i].Name)
			}
		}
		options.Continue = page.Continue
		if len(found) >= Most || options.Continue == "" {
			break
		}
	}
	return found[:min(len(found), Most)], nil
}

func (q *Query) has(object *metav1.PartialObjectMetadata) bool {
	_, isAnnotated := object.Annotations[q.Annotation]
	return strings.HasPrefix(object.Name, q.Prefix) && (q.Annotation == "" || isAnnotated)
}
