package admission

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"

	vpav1 "github.com/plimsoll-dev/plimsoll/api/autoscaling/v1"
)

// TestSchemaBoundsQuantities: the API server itself, whatever webhooks answer, stores no quantity that takes hours to
// read, and all that others have always stored. No webhook is registered for these objects.
func TestSchemaBoundsQuantities(t *testing.T) {
	s := namespace(t)
	client, err := dynamic.NewForConfig(s.Cluster.RESTConfig())
	if err != nil {
		t.Fatal(err)
	}
	objects := client.Resource(vpav1.SchemeGroupVersion.WithResource(vpav1.VerticalPodAutoscalers)).Namespace(s.Name)
	create := func(cpu any) error {
		object := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": vpav1.SchemeGroupVersion.String(),
			"kind":       "VerticalPodAutoscaler", "metadata": map[string]any{"generateName": "web-"},
			"spec": map[string]any{
				"targetRef": map[string]any{"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"},
				"resourcePolicy": map[string]any{"containerPolicies": []any{
					map[string]any{"containerName": "app", "minAllowed": map[string]any{"cpu": cpu}},
				}},
			},
		}}
		_, err := objects.Create(t.Context(), object, metav1.CreateOptions{})
		return err
	}
	// Definitions are served a moment before they count.
	s.EventuallyWithin(soon, "a good object", func(context.Context) error { return create("100m") })
	for _, cpu := range []any{
		"0", "0.5", ".5", "1.", "+5", "5e3", "5E3", "1Ki", "1Ei", "1E", "1k", "12e-9", "1e+3", "1e99", "100n", "100u",
		int64(2),
		strings.Repeat("0", 63) + "1",
	} {
		if err := create(cpu); err != nil {
			t.Errorf("%v: %v", cpu, err)
		}
	}
	for cpu, words := range map[string]string{
		"1e-999999999": "should match", "1E-999999999": "should match", "1e999999999": "should match",
		"+1.5e+100":               "should match",
		"1e-00000000000999999999": "should match", "": "at least 1 chars", "1e": "should match", "1\n": "should match",
		// Kubernetes 1.30 says "may not be longer than 64", newer versions "may not be more than 64 bytes".
		strings.Repeat("9", 65): "than 64", "0." + strings.Repeat("0", 1<<16) + "1": "than 64",
	} {
		if err := refused(create(cpu), "spec.resourcePolicy.containerPolicies[0].minAllowed.cpu", words); err != nil {
			t.Errorf("%.24q: %v", cpu, err)
		}
	}
}

// refused returns how an error differs from the schema's about this field.
func refused(err error, field, words string) error {
	switch {
	case err == nil:
		return errors.New("it was stored")
	case !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), field) || !strings.Contains(err.Error(), words):
		return fmt.Errorf("want it refused for %s, which %s: %w", field, words, err)
	}
	return nil
}
