package scale

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
)

// tills is an API server with one kind that has a scale.
type tills struct{}

// RoundTrip implements http.RoundTripper.
func (tills) RoundTrip(r *http.Request) (*http.Response, error) {
	body := map[string]string{
		"/api":  `{"kind":"APIVersions","versions":[]}`,
		"/apis": `{"kind":"APIGroupList","apiVersion":"v1","groups":[{"name":"shop.example","versions":[{"groupVersion":"shop.example/v1","version":"v1"}]}]}`,
		"/apis/shop.example/v1": `{"kind":"APIResourceList","apiVersion":"v1","groupVersion":"shop.example/v1","resources":[
			{"name":"tills","namespaced":true,"kind":"Till"},
			{"name":"tills/scale","namespaced":true,"group":"autoscaling","version":"v1","kind":"Scale"}]}`,
		"/apis/shop.example/v1/namespaces/shop/tills/web/scale": `{"kind":"Scale","apiVersion":"autoscaling/v1","metadata":{"name":"web","namespace":"shop"}}`,
	}[r.URL.Path]
	if body == "" {
		return nil, fmt.Errorf("unexpected %s", r.URL.Path)
	}
	return &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}}, Request: r,
		Body: io.NopCloser(strings.NewReader(body)),
	}, nil
}

// TestScaleWritesWaitBeforeTheyBegin: with --kube-api-qps, reads of scales wait in their client, and writes wait for
// the same limiter before the final check; in the client they wait neither for it nor for discovery.
func TestScaleWritesWaitBeforeTheyBegin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		access, err := NewAccess(&rest.Config{Host: "http://api.example", Transport: tills{}, QPS: 0.1, Burst: 1})
		if err != nil {
			t.Fatal(err)
		}
		resource := schema.GroupResource{Group: "shop.example", Resource: "tills"}
		read := func() {
			if _, err := access.Scales.Scales("shop").Get(t.Context(), resource, "web", metav1.GetOptions{}); err != nil {
				t.Fatal(err)
			}
		}
		write := func() {
			scale := &autoscalingv1.Scale{ObjectMeta: metav1.ObjectMeta{Name: "web"}}
			if _, err := access.Writes.Scales("shop").Update(t.Context(), resource, scale, metav1.UpdateOptions{}); err != nil {
				t.Fatal(err)
			}
		}
		took := func(do func()) time.Duration {
			began := time.Now()
			do()
			return time.Since(began).Round(time.Second)
		}
		read()
		if _, err := access.Kinds.ScaleForResource(resource.WithVersion("v1")); err != nil {
			t.Fatal(err)
		}
		for range 3 {
			if got := took(write); got != 0 {
				t.Errorf("a write waits for %s in its client", got)
			}
		}
		read() // a token for one is there
		if got := took(read); got == 0 {
			t.Error("a reading does not wait")
		}
		wait := func() {
			if err := access.Limiter.Wait(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if got := took(wait); got != 10*time.Second {
			t.Errorf("the limiter lets the next one pass after %s; readings and writes share it", got)
		}
	})
}
