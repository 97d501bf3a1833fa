package cluster

import (
	"context"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// CheckTarget implements steps.Cluster. A target that the user may not read, or of a version that the API server does
// not serve, is left to the controllers.
func (c *Client) CheckTarget(ctx context.Context, hpa *unstructured.Unstructured) error {
	field := func(name string) string {
		value, _, _ := unstructured.NestedString(hpa.Object, "spec", "scaleTargetRef", name)
		return value
	}
	kind, name := field("kind"), field("name")
	version, err := schema.ParseGroupVersion(field("apiVersion"))
	if err != nil {
		return nil //nolint:nilerr // the controllers say so
	}
	resource, isScalable := c.resourceOf(ctx, version, kind)
	switch {
	case resource == "":
		return nil
	case !isScalable:
		return fmt.Errorf("its target is a %s, which has no scale: correct spec.scaleTargetRef", kind)
	}
	_, err = c.dynamic.Resource(version.WithResource(resource)).Namespace(hpa.GetNamespace()).Get(ctx, name,
		metav1.GetOptions{}, "scale")
	if apierrors.IsNotFound(err) {
		return fmt.Errorf("its target, %s %s, does not exist: correct spec.scaleTargetRef, or create the target", kind, name)
	}
	return nil
}

// resourceOf returns the resource of a kind, and whether it has a scale; empty if unknown.
func (c *Client) resourceOf(
	ctx context.Context, version schema.GroupVersion, kind string,
) (name string, isScalable bool) {
	served, err := c.access.Discovery().ServerResourcesForGroupVersionWithContext(ctx, version.String())
	if err != nil {
		return "", false
	}
	at := slices.IndexFunc(served.APIResources, func(r metav1.APIResource) bool {
		return strings.EqualFold(r.Kind, kind) && !strings.Contains(r.Name, "/")
	})
	if at < 0 {
		return "", false
	}
	name = served.APIResources[at].Name
	isScale := func(r metav1.APIResource) bool { return r.Name == name+"/scale" }
	return name, slices.ContainsFunc(served.APIResources, isScale)
}
