package names

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
)

// page is an answer with these names.
func page(w http.ResponseWriter, next string, names ...string) {
	list := metav1.PartialObjectMetadataList{TypeMeta: metav1.TypeMeta{
		APIVersion: "meta.k8s.io/v1", Kind: "PartialObjectMetadataList"}}
	list.Continue = next
	for _, name := range names {
		object := metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: name}}
		if name == "web" {
			object.Annotations = map[string]string{"made-by": "x"}
		}
		list.Items = append(list.Items, object)
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(list)
}

// TestList: pages are read up to a bound, and what does not answer ends in time.
func TestList(t *testing.T) {
	reads := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		reads++
		switch {
		case r.Method != http.MethodGet:
			t.Errorf("%s %s", r.Method, r.URL)
		case r.URL.Path == "/api/v1/namespaces":
			var many []string
			for i := range pageSize {
				many = append(many, fmt.Sprintf("n%d-%d", reads, i))
			}
			page(w, "more", many...)
		case r.URL.Path == "/apis/autoscaling/v2/namespaces/shop/horizontalpodautoscalers":
			if r.URL.Query().Get("continue") == "" {
				page(w, "b", "api", "web")
			} else {
				page(w, "", "web-2", "worker")
			}
		case r.URL.Path == "/apis/keda.sh/v1alpha1/namespaces/shop/scaledobjects":
			<-r.Context().Done()
		default:
			http.NotFound(w, r)
		}
	}))
	defer server.Close()
	config := &rest.Config{Host: server.URL}
	list := func(q Query) ([]string, error) {
		q.Timeout = time.Minute
		return List(t.Context(), config, q)
	}
	if got, err := list(Query{Kind: HPAs, Namespace: "shop", Prefix: "we"}); err != nil ||
		!slices.Equal(got, []string{"web", "web-2"}) {
		t.Errorf("%q, %v", got, err)
	}
	if got, err := list(Query{Kind: HPAs, Namespace: "shop", Annotation: "made-by"}); err != nil ||
		!slices.Equal(got, []string{"web"}) {
		t.Errorf("%q, %v", got, err)
	}
	if got, err := list(Query{Kind: VPAs, Namespace: "shop"}); err == nil || len(got) > 0 {
		t.Errorf("not served: %q, %v", got, err)
	}
	if got, err := list(Query{Kind: Namespaces}); err != nil || len(got) != Most {
		t.Errorf("%d names, %v", len(got), err)
	}
	reads = 0
	if got, err := list(Query{Kind: Namespaces, Prefix: "z"}); err != nil || len(got) > 0 || reads != maxPages {
		t.Errorf("%d names in %d pages, %v", len(got), reads, err)
	}
	q := Query{Kind: ScaledObjects, Namespace: "shop", Timeout: 50 * time.Millisecond}
	if got, err := List(t.Context(), config, q); err == nil || len(got) > 0 {
		t.Errorf("a server that hangs: %q, %v", got, err)
	}
}

// TestOf knows the kinds that commands name.
func TestOf(t *testing.T) {
	for resource, want := range map[string]bool{
		"horizontalpodautoscalers.autoscaling": true, "workloadautoscalers.plimsoll.dev": true,
		"verticalpodautoscalers.autoscaling.k8s.io": true, "scaledobjects.keda.sh": true, "pods": false,
	} {
		if kind, isKnown := Of(resource); isKnown != want || want && kind.GroupResource().String() != resource {
			t.Errorf("%s: %v", resource, kind)
		}
	}
}
