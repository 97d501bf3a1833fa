package metricsapi

import (
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta/testrestmapper"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	metricsv1 "k8s.io/metrics/pkg/apis/metrics/v1"
	metricsv1beta1 "k8s.io/metrics/pkg/apis/metrics/v1beta1"
)

const (
	resourceGroup = "/apis/metrics.k8s.io"
	ofShop        = "/namespaces/shop/pods"
)

// serving is a cluster that lists some versions of metrics.k8s.io, and serves some.
func serving(listed string, served ...string) map[string]string {
	answers := map[string]string{}
	if listed != "" {
		var versions []string
		for version := range strings.FieldsSeq(listed) {
			versions = append(versions, `{"groupVersion":"metrics.k8s.io/`+version+`","version":"`+version+`"}`)
		}
		answers[resourceGroup] = `{"kind":"APIGroup","apiVersion":"v1","name":"metrics.k8s.io","versions":[` +
			strings.Join(versions, ",") + `],"preferredVersion":` + versions[0] + `}`
	}
	for _, version := range served {
		answers[resourceGroup+"/"+version+ofShop] = strings.Replace(podMetrics, "v1beta1", version, 1)
	}
	return answers
}

func wantPod(t *testing.T, c *Client) {
	t.Helper()
	pods, err := c.Resource(t.Context(), "shop", "")
	if err != nil || len(pods.Items) != 1 || pods.Items[0].Name != "web-1" || pods.Items[0].Window.Seconds() != 15 ||
		pods.Items[0].Containers[0].Usage.Cpu().MilliValue() != 250 {
		t.Errorf("%+v, %v", pods, err)
	}
}

// TestVersionsOfResourceMetrics: v1 where it is served, otherwise v1beta1, whichever the cluster prefers.
func TestVersionsOfResourceMetrics(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		served map[string]string
		asked  []string
	}{
		"v1 alone":      {"after v1beta1 was removed", serving("v1", "v1"), []string{"v1"}},
		"v1beta1 alone": {"before Kubernetes 1.37", serving("v1beta1", "v1beta1"), []string{"v1beta1"}},
		"both":          {"v1beta1 is deprecated", serving("v1beta1 v1", "v1", "v1beta1"), []string{"v1"}},
		"unknown one":   {"what is not known is not asked", serving("v2 v1beta1", "v2", "v1beta1"), []string{"v1beta1"}},
		"no discovery":  {"the oldest that is known", serving("", "v1beta1"), []string{"v1beta1"}},
		"v1 is listed": {
			"its APIService is left of a newer server", serving("v1 v1beta1", "v1beta1"), []string{"v1", "v1beta1"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := &server{answers: tc.served}
			c := start(t, s, nil)
			wantPod(t, c)
			var asked []string
			for _, path := range s.asked {
				if version, ok := strings.CutSuffix(strings.TrimPrefix(path, resourceGroup+"/"), ofShop); ok {
					asked = append(asked, version)
				}
			}
			if !slices.Equal(asked, tc.asked) {
				t.Errorf("%s: asked %q, want %q", tc.reason, asked, tc.asked)
			}
			wantPod(t, c)
			if last := tc.asked[len(tc.asked)-1]; s.asked[len(s.asked)-1] != resourceGroup+"/"+last+ofShop {
				t.Errorf("then asked %q, want %s at once", s.asked, last)
			}
		})
	}
}

// TestVersionChanges: replacing a server by one of the other version costs no decision its samples.
func TestVersionChanges(t *testing.T) {
	for name, change := range map[string][2]map[string]string{
		"upgrade":                 {serving("v1beta1", "v1beta1"), serving("v1", "v1")},
		"downgrade":               {serving("v1", "v1"), serving("v1beta1", "v1beta1")},
		"downgrade, v1 is listed": {serving("v1 v1beta1", "v1", "v1beta1"), serving("v1 v1beta1", "v1beta1")},
	} {
		t.Run(name, func(t *testing.T) {
			var now atomic.Pointer[server]
			now.Store(&server{answers: change[0]})
			h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				now.Load().ServeHTTP(w, r)
			}))
			t.Cleanup(h.Close)
			c, err := New(Config{Rest: &rest.Config{Host: h.URL, QPS: -1},
				Mapper: testrestmapper.TestOnlyStaticRESTMapper(scheme.Scheme)})
			if err != nil {
				t.Fatal(err)
			}
			wantPod(t, c)
			now.Store(&server{answers: change[1]})
			wantPod(t, c)
		})
	}
}

// TestUnavailableVersion: the API server answers 503 for a version that is listed and not served.
func TestUnavailableVersion(t *testing.T) {
	s := &server{answers: serving("v1 v1beta1", "v1beta1")}
	h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, resourceGroup+"/v1/") {
			http.Error(w, "service unavailable", http.StatusServiceUnavailable)
			return
		}
		s.ServeHTTP(w, r)
	}))
	t.Cleanup(h.Close)
	c, err := New(Config{Rest: &rest.Config{Host: h.URL, QPS: -1},
		Mapper: testrestmapper.TestOnlyStaticRESTMapper(scheme.Scheme)})
	if err != nil {
		t.Fatal(err)
	}
	wantPod(t, c)
}

// TestNoResourceMetrics: the error is that of upstream's client, which requests v1beta1.
func TestNoResourceMetrics(t *testing.T) {
	c := start(t, &server{}, nil)
	const want = "the server could not find the requested resource (get pods.metrics.k8s.io)"
	for range 2 {
		if _, err := c.Resource(t.Context(), "shop", ""); err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

// TestVersionsAreTheSame: answers of v1 are decoded into the types of v1beta1, so that all fields must be the same.
func TestVersionsAreTheSame(t *testing.T) {
	if !reflect.TypeFor[metricsv1.ContainerMetrics]().ConvertibleTo(reflect.TypeFor[metricsv1beta1.ContainerMetrics]()) {
		t.Error("the containers' metrics differ")
	}
	for _, pair := range [][2]reflect.Type{
		{reflect.TypeFor[metricsv1.PodMetricsList](), reflect.TypeFor[metricsv1beta1.PodMetricsList]()},
		{reflect.TypeFor[metricsv1.PodMetrics](), reflect.TypeFor[metricsv1beta1.PodMetrics]()},
		{reflect.TypeFor[metricsv1.ContainerMetrics](), reflect.TypeFor[metricsv1beta1.ContainerMetrics]()},
	} {
		if pair[0].NumField() != pair[1].NumField() {
			t.Fatalf("%v has other fields than %v", pair[0], pair[1])
		}
		for i := range pair[0].NumField() {
			a, b := pair[0].Field(i), pair[1].Field(i)
			if a.Name != b.Name || a.Tag.Get("json") != b.Tag.Get("json") || a.Type.Kind() != b.Type.Kind() {
				t.Errorf("%v.%s is %q, and %q in v1beta1", pair[0], a.Name, a.Tag, b.Tag)
			}
		}
	}
}
