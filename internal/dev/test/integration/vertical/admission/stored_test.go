package admission

import (
	"context"
	"fmt"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	vpav1 "github.com/plimsoll-dev/plimsoll/api/autoscaling/v1"
)

// TestInvalidObjectFromBeforeCanBeLabelledAndDeleted: what was stored without validation can be labelled, kept by a
// finalizer and deleted with one, once the server refuses its like. Its spec cannot be changed to another that is
// wrong.
func TestInvalidObjectFromBeforeCanBeLabelledAndDeleted(t *testing.T) {
	s := namespace(t)
	client, err := dynamic.NewForConfig(s.Cluster.RESTConfig())
	if err != nil {
		t.Fatal(err)
	}
	objects := client.Resource(vpav1.SchemeGroupVersion.WithResource(vpav1.VerticalPodAutoscalers)).Namespace(s.Name)
	create := func(name string) error {
		object := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": vpav1.SchemeGroupVersion.String(),
			"kind":       "VerticalPodAutoscaler", "metadata": map[string]any{"name": name},
			"spec": map[string]any{
				"targetRef": map[string]any{"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"},
				"resourcePolicy": map[string]any{"containerPolicies": []any{
					// The schema takes it; it is finer than a millicore.
					map[string]any{"containerName": "app", "minAllowed": map[string]any{"cpu": "1.0005"}},
				}},
			},
		}}
		_, err := objects.Create(t.Context(), object, metav1.CreateOptions{})
		return err
	}
	// A server that another test has ended is not waited for, and refuses nothing.
	s.EventuallyWithin(soon, "an object that is not validated", func(context.Context) error { return create("before") })
	server := start(t, s, "admission-stored")
	server.registered(s)
	s.EventuallyWithin(soon, "its like is refused", func(context.Context) error {
		return refused(create("after"), "minAllowed", "is invalid")
	})
	patch := func(body string) error {
		_, err := objects.Patch(t.Context(), "before", types.MergePatchType, []byte(body), metav1.PatchOptions{})
		return err
	}
	for _, change := range [][2]string{
		{"a label", `{"metadata":{"labels":{"team":"shop"}}}`}, {"an annotation", `{"metadata":{"annotations":{"a":"b"}}}`},
		{"a finalizer", `{"metadata":{"finalizers":["example.com/held"]}}`},
		{"no finalizer", `{"metadata":{"finalizers":null}}`},
		{"a finalizer again", `{"metadata":{"finalizers":["example.com/held"]}}`},
	} {
		if err := patch(change[1]); err != nil {
			t.Errorf("%s is refused: %v", change[0], err)
		}
	}
	if err := patch(`{"spec":{"targetRef":{"name":"other"}}}`); !apierrors.IsInvalid(err) ||
		!strings.Contains(err.Error(), "minAllowed") {
		t.Errorf("a spec that stays wrong is taken: %v", err)
	}
	if err := objects.Delete(t.Context(), "before", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	held, err := objects.Get(t.Context(), "before", metav1.GetOptions{})
	if err != nil || held.GetDeletionTimestamp() == nil || held.GetLabels()["team"] != "shop" {
		t.Fatalf("held by its finalizer: %v, %v", held, err)
	}
	if err := patch(`{"metadata":{"finalizers":null}}`); err != nil {
		t.Errorf("its finalizer stays: %v", err)
	}
	s.EventuallyWithin(soon, "the object is gone", func(ctx context.Context) error {
		if _, err := objects.Get(ctx, "before", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
			return fmt.Errorf("it is there: %w", err)
		}
		return nil
	})
}
