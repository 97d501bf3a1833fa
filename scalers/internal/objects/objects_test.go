package objects

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/tools/cache"

	"github.com/plimsoll-dev/plimsoll/scalers/internal/job"
)

func autoscaler(metrics ...any) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "plimsoll.dev/v1alpha1", "kind": "WorkloadAutoscaler",
		"metadata": map[string]any{"namespace": "shop", "name": "jobs", "annotations": map[string]any{"a": "b"}},
		"spec": map[string]any{
			"scaleTargetRef": map[string]any{"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"},
			"metrics":        metrics,
		},
	}}
}

func metric(name, list string) map[string]any {
	return map[string]any{"name": name, "type": "Scaler", "scaler": map[string]any{
		"type": "redis", "metadata": map[string]any{"listName": list}, "intervalSeconds": int64(5),
		"authenticationRef": map[string]any{"name": "redis-auth"},
	}}
}

func TestJob(t *testing.T) {
	client := fake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(),
		map[schema.GroupVersionResource]string{resource: "WorkloadAutoscalerList"},
		autoscaler(metric("queue", "orders"), map[string]any{"name": "cpu", "type": "Resource"}))
	objects, err := New(client, func(string, string) {})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); objects.Run(ctx) }()
	defer func() { cancel(); <-ended }()
	waitFor(t, objects.HasSynced)
	scaler := job.Scaler{
		Type: "redis", Metadata: map[string]string{"listName": "orders"},
		AuthenticationRef: &job.AuthenticationRef{Name: "redis-auth"},
	}
	text := textOf(t, scaler)
	got, err := objects.Job("shop", "jobs", "queue", text)
	want := job.Job{
		Namespace: "shop", Object: "jobs", Metric: "queue", Scaler: scaler,
		Target: job.Target{APIVersion: "apps/v1", Kind: "Deployment", Name: "web"},
	}
	if err != nil || got.Encode() != want.Encode() {
		t.Errorf("got %+v, %v", got, err)
	}
	newer := `{"authenticationRef":{"name":"redis-auth"},"other":1,"metadata":{"listName":"orders"},"type":"redis"}`
	if _, err := objects.Job("shop", "jobs", "queue", newer); err != nil {
		t.Errorf("as a newer controller has it: %v", err)
	}
	other := scaler
	other.AuthenticationRef = &job.AuthenticationRef{Name: "of-somebody-else"}
	for _, refused := range []struct{ namespace, name, metric, text string }{
		{"shop", "jobs", "queue", textOf(t, other)}, {"shop", "jobs", "queue", ""}, {"shop", "jobs", "cpu", text},
		{"shop", "other", "queue", text}, {"kube-system", "jobs", "queue", text},
	} {
		if _, err := objects.Job(refused.namespace, refused.name, refused.metric, refused.text); !errors.Is(err, ErrNotSeen) {
			t.Errorf("%v: got %v, want that the server has not seen it", refused, err)
		}
	}
	edited := autoscaler(metric("queue", "returns"))
	if _, err := client.Resource(resource).Namespace("shop").Update(ctx, edited, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	waitFor(t, func() bool { _, err := objects.Job("shop", "jobs", "queue", text); return errors.Is(err, ErrNotSeen) })
	kept, _, _ := objects.informer.GetStore().GetByKey("shop/jobs")
	if short, ok := kept.(*object); !ok || len(short.GetAnnotations()) != 0 || short.Object["spec"] != nil {
		t.Errorf("the cache keeps %v", kept)
	}
}

// The metrics of objects that are deleted or edited are removed, each once.
func TestRemoved(t *testing.T) {
	edited := metric("edited", "a")
	other := metric("other", "a")
	client := fake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(),
		map[schema.GroupVersionResource]string{resource: "WorkloadAutoscalerList"},
		autoscaler(metric("stays", "a"), edited, other, metric("goes", "a")))
	removed := make(chan string, 10)
	objects, err := New(client, func(id, trigger string) { removed <- id + " " + trigger })
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); objects.Run(ctx) }()
	defer func() { cancel(); <-ended }()
	waitFor(t, objects.HasSynced)
	changed := metric("other", "a")
	changed["scaler"].(map[string]any)["type"] = "kafka"
	autoscalers := client.Resource(resource).Namespace("shop")
	update := autoscaler(metric("stays", "a"), metric("edited", "b"), changed)
	if _, err := autoscalers.Update(ctx, update, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	receive(t, removed, "shop/jobs/goes redis", "shop/jobs/other redis")
	if err := autoscalers.Delete(ctx, "jobs", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	receive(t, removed, "shop/jobs/edited redis", "shop/jobs/other kafka", "shop/jobs/stays redis")
	// A deletion that the cache has not seen.
	short, err := shorten(autoscaler(metric("queue", "a")))
	if err != nil {
		t.Fatal(err)
	}
	compare(cache.DeletedFinalStateUnknown{Obj: short}, nil, func(id, trigger string) { removed <- id + " " + trigger })
	receive(t, removed, "shop/jobs/queue redis")
}

// receive expects these values, in any order.
func receive(t *testing.T, values chan string, want ...string) {
	t.Helper()
	var got []string
	for range want {
		select {
		case value := <-values:
			got = append(got, value)
		case <-time.After(10 * time.Second):
			t.Fatalf("got %q, want %q", got, want)
		}
	}
	if slices.Sort(got); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func waitFor(t *testing.T, condition func() bool) {
	t.Helper()
	ticker := time.NewTicker(time.Millisecond)
	defer ticker.Stop()
	for deadline := time.After(10 * time.Second); !condition(); {
		select {
		case <-ticker.C:
		case <-deadline:
			t.Fatal("too late")
		}
	}
}

func textOf(t *testing.T, scaler job.Scaler) string {
	t.Helper()
	text, err := json.Marshal(scaler)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
