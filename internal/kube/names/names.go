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
	// pageSize is the number of objects in one request, maxPages the number of pages.
	pageSize = 500
	maxPages = 20
	// Most is the maximum of names in a result.
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

// Of returns the kind of a resource with its API group, such as horizontalpodautoscalers.autoscaling.
func Of(resource string) (schema.GroupVersionResource, bool) {
	for _, kind := range []schema.GroupVersionResource{HPAs, VPAs, ScaledObjects, WLAs} {
		if kind.GroupResource().String() == resource {
			return kind, true
		}
	}
	return schema.GroupVersionResource{}, false
}

// Query selects the names to list.
type Query struct {
	Kind schema.GroupVersionResource
	// Namespace is that of the objects; empty for cluster-scoped ones.
	Namespace string
	// Prefix is a prefix of the names.
	Prefix string
	// Annotation is one that the objects have; empty for all.
	Annotation string
	// Timeout bounds all requests together.
	Timeout time.Duration
}

// List lists names in the API server's order, which is alphabetical. After an error it also returns the names that were
// read before.
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
