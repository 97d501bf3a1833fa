package manifests

import (
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/discovery"
)

// Served is nil once the API server serves the kind of each CustomResourceDefinition, in each version that it is to
// serve.
func Served(server discovery.ServerResourcesInterface, definitions []*unstructured.Unstructured) error {
	for _, definition := range definitions {
		group, _, _ := unstructured.NestedString(definition.Object, "spec", "group")
		plural, _, _ := unstructured.NestedString(definition.Object, "spec", "names", "plural")
		versions, _, _ := unstructured.NestedSlice(definition.Object, "spec", "versions")
		for i := range versions {
			version, _ := versions[i].(map[string]any)
			if version["served"] != true {
				continue
			}
			if err := serves(server, fmt.Sprintf("%s/%s", group, version["name"]), plural); err != nil {
				return err
			}
		}
	}
	return nil
}

func serves(server discovery.ServerResourcesInterface, groupVersion, plural string) error {
	served, err := server.ServerResourcesForGroupVersion(groupVersion)
	if err != nil {
		return fmt.Errorf("discover %s: %w", groupVersion, err)
	}
	if !slices.ContainsFunc(served.APIResources, func(r metav1.APIResource) bool { return r.Name == plural }) {
		return fmt.Errorf("%s does not have %s yet", groupVersion, plural)
	}
	return nil
}
