package names

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync/atomic"
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

// serve serves lists: HPAs in two pages, namespaces without end, and ScaledObjects that never come. reads counts the
// requests.
func serve(t *testing.T) (config *rest.Config, reads *atomic.Int32) {
	t.Helper()
	reads = &atomic.Int32{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n := reads.Add(1)
		switch r.Method + " " + r.URL.Path {
		case "GET /api/v1/namespaces":
			var many []string
			for i := range pageSize {
				many = append(many, fmt.Sprintf("n%d-%d", n, i))
			}
			page(w, "more", many...)
		case "GET /apis/autoscaling/v2/namespaces/shop/horizontalpodautoscalers":
			if r.URL.Query().Get("continue") == "" {
				page(w, "b", "api", "web")
				return
			}
			page(w, "", "web-2", "worker")
		case "GET /apis/keda.sh/v1alpha1/namespaces/shop/scaledobjects":
			<-r.Context().Done()
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(server.Close)
	return &rest.Config{Host: server.URL}, reads
}

// TestList: pages are read up to a bound, and a server that does not respond ends the list in time.
func TestList(t *testing.T) {
	config, reads := serve(t)
	for name, tt := range map[string]struct {
		query   Query
		want    []string
		isError bool
	}{
		"prefix":     {Query{Kind: HPAs, Namespace: "shop", Prefix: "we"}, []string{"web", "web-2"}, false},
		"annotation": {Query{Kind: HPAs, Namespace: "shop", Annotation: "made-by"}, []string{"web"}, false},
		"not served": {Query{Kind: VPAs, Namespace: "shop"}, nil, true},
		"it hangs":   {Query{Kind: ScaledObjects, Namespace: "shop", Timeout: 50 * time.Millisecond}, nil, true},
	} {
		tt.query.Timeout = cmp.Or(tt.query.Timeout, time.Minute)
		if got, err := List(t.Context(), config, tt.query); !slices.Equal(got, tt.want) || (err != nil) != tt.isError {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	if got, err := List(t.Context(), config, Query{Kind: Namespaces, Timeout: time.Minute}); err != nil ||
		len(got) != Most {
		t.Errorf("%d names, %v", len(got), err)
	}
	reads.Store(0)
	got, err := List(t.Context(), config, Query{Kind: Namespaces, Prefix: "z", Timeout: time.Minute})
	if err != nil || len(got) > 0 || reads.Load() != maxPages {
		t.Errorf("%d names in %d pages, %v", len(got), reads.Load(), err)
	}
}

// TestOf covers the kinds that commands name.
func TestOf(t *testing.T) {
	for resource, want := range map[string]bool{
		"horizontalpodautoscalers.autoscaling": true, "workloadautoscalers.plimsoll.dev": true,
		"verticalpodautoscalers.autoscaling.k8s.io": true, "scaledobjects.keda.sh": true, "pods": false,
	} {
		if kind, ok := Of(resource); ok != want || want && kind.GroupResource().String() != resource {
			t.Errorf("%s: %v", resource, kind)
		}
	}
}
