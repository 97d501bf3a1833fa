package metricsapi

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta/testrestmapper"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
)

const (
	podMetrics = `{"kind":"PodMetricsList","apiVersion":"metrics.k8s.io/v1beta1","items":[
		{"metadata":{"name":"web-1","namespace":"shop"},"timestamp":"2026-11-20T12:00:00Z","window":"15s","containers":[{"name":"web","usage":{"cpu":"250m"}}]}]}`
	customV2 = `{"kind":"MetricValueList","apiVersion":"custom.metrics.k8s.io/v1beta2","items":[
		{"describedObject":{"kind":"Service","name":"web"},"metric":{"name":"hits"},"timestamp":"2026-11-20T12:00:00Z","value":"7"}]}`
	customV1 = `{"kind":"MetricValueList","apiVersion":"custom.metrics.k8s.io/v1beta1","items":[
		{"describedObject":{"kind":"Service","name":"web"},"metricName":"hits","timestamp":"2026-11-20T12:00:00Z","window":30,"value":"7","selector":null}]}`
	external = `{"kind":"ExternalMetricValueList","apiVersion":"external.metrics.k8s.io/v1beta1","items":[
		{"metricName":"queue","metricLabels":{},"timestamp":"2026-11-20T12:00:00Z","value":"12"}]}`
	groupV2 = `{"kind":"APIGroup","apiVersion":"v1","name":"custom.metrics.k8s.io","versions":[{"groupVersion":"custom.metrics.k8s.io/v1beta1"},{"groupVersion":"custom.metrics.k8s.io/v1beta2"}],"preferredVersion":{"groupVersion":"custom.metrics.k8s.io/v1beta2"}}`
	groupV1 = `{"kind":"APIGroup","apiVersion":"v1","name":"custom.metrics.k8s.io","versions":[{"groupVersion":"custom.metrics.k8s.io/v1beta1"}],"preferredVersion":{"groupVersion":"custom.metrics.k8s.io/v1beta1"}}`
)

// server responds with the texts by path and query, and records the requests.
type server struct {
	answers map[string]string

	// mu guards asked.
	mu    sync.Mutex
	asked []string
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	path := r.URL.RequestURI()
	s.mu.Lock()
	s.asked = append(s.asked, path)
	s.mu.Unlock()
	answer, known := s.answers[path]
	switch {
	case !known:
		http.NotFound(w, r)
	case answer == "hang":
		<-r.Context().Done()
	default:
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, answer)
	}
}

func start(t *testing.T, s *server, change func(*Config)) *Client {
	t.Helper()
	h := httptest.NewServer(s)
	t.Cleanup(h.Close)
	cfg := Config{Rest: &rest.Config{Host: h.URL, QPS: -1}, Mapper: testrestmapper.TestOnlyStaticRESTMapper(scheme.Scheme)}
	if change != nil {
		change(&cfg)
	}
	c, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

var ofService = CustomQuery{Namespace: "shop", Kind: schema.GroupKind{Kind: "Service"}, Name: "web", Metric: "hits"}

func TestQuestionsAndAnswers(t *testing.T) {
	const custom = "/apis/custom.metrics.k8s.io"
	s := &server{answers: map[string]string{
		"/apis/metrics.k8s.io/v1beta1/namespaces/shop/pods?labelSelector=app%3Dweb": podMetrics,
		custom: groupV2,
		custom + "/v1beta2/namespaces/shop/services/web/hits":                                           customV2,
		custom + "/v1beta2/namespaces/shop/pods/%2A/hits?labelSelector=app%3Dweb&metricLabelSelector=a": customV2,
		custom + "/v1beta2/namespaces/shop/deployments.apps/web/hits":                                   customV2,
		custom + "/v1beta2/namespaces/shop/metrics/hits":                                                customV2,
		"/apis/external.metrics.k8s.io/v1beta1/namespaces/shop/queue?labelSelector=a%3Db":               external,
	}}
	c := start(t, s, nil)
	pods, err := c.Resource(t.Context(), "shop", "app=web")
	if err != nil || len(pods.Items) != 1 || pods.Items[0].Containers[0].Usage.Cpu().MilliValue() != 250 {
		t.Errorf("resource: %v, %v", pods, err)
	}
	queries := map[string]CustomQuery{
		"service": ofService,
		"pods": {Namespace: "shop", Kind: schema.GroupKind{Kind: "Pod"}, Name: AllObjects, Selector: "app=web",
			Metric: "hits", MetricSelector: "a"},
		"deployment": {Namespace: "shop", Kind: schema.GroupKind{Group: "apps", Kind: "Deployment"},
			Name: "web", Metric: "hits"},
		"namespace": {Namespace: "shop", Kind: schema.GroupKind{Kind: "Namespace"}, Name: "shop", Metric: "hits"},
	}
	for name, query := range queries {
		list, err := c.Custom(t.Context(), query)
		if err != nil || len(list.Items) != 1 || list.Items[0].Value.Value() != 7 {
			t.Errorf("%s: %v, %v; asked %q", name, list, err, s.asked)
		}
	}
	series, err := c.External(t.Context(), "shop", "queue", "a=b")
	if err != nil || len(series.Items) != 1 || series.Items[0].Value.Value() != 12 {
		t.Errorf("external: %v, %v", series, err)
	}
	discoveries := 0
	for _, path := range s.asked {
		if path == custom {
			discoveries++
		}
	}
	if discoveries != 1 {
		t.Errorf("the version was looked up %d times, want once", discoveries)
	}
}

func TestOlderVersionIsTranslated(t *testing.T) {
	c := start(t, &server{answers: map[string]string{
		"/apis/custom.metrics.k8s.io":                                           groupV1,
		"/apis/custom.metrics.k8s.io/v1beta1/namespaces/shop/services/web/hits": customV1,
	}}, nil)
	list, err := c.Custom(t.Context(), ofService)
	if err != nil {
		t.Fatal(err)
	}
	item := list.Items[0]
	if item.Metric.Name != "hits" || item.Value.Value() != 7 || *item.WindowSeconds != 30 ||
		item.DescribedObject.Name != "web" {
		t.Errorf("got %+v", item)
	}
}

// Any defect of a response is an error, never an empty list.
func TestBadAnswersAreErrors(t *testing.T) {
	const path = "/apis/metrics.k8s.io/v1beta1/namespaces/shop/pods"
	tests := map[string]struct {
		answer string
		want   string
	}{
		"no JSON":         {answer: "oops", want: "cannot be read"},
		"cut off":         {answer: podMetrics[:100], want: "cannot be read"},
		"another kind":    {answer: external, want: "instead of"},
		"unknown kind":    {answer: `{"kind":"Shoe","apiVersion":"v1"}`, want: "cannot be read"},
		"not a quantity":  {answer: strings.Replace(podMetrics, "250m", "NaN", 1), want: "cannot be read"},
		"larger than all": {answer: podMetrics + strings.Repeat(" ", 1<<20), want: "larger than"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			c := start(t, &server{answers: map[string]string{path: test.answer}},
				func(cfg *Config) { cfg.MaxResponseBytes = 1 << 16 })
			list, err := c.Resource(t.Context(), "shop", "")
			if err == nil || !strings.Contains(err.Error(), test.want) || list != nil {
				t.Errorf("got %v, %v; want an error with %q", list, err, test.want)
			}
		})
	}
}

// A quantity that would take hours to parse or compare is refused; the other pods are read. A sum fails as a whole.
func TestQuantitiesThatTakeHours(t *testing.T) {
	for _, hostile := range []string{`"1e-999999999"`, `"1e999999999"`, `1E-1000000`, `"1\u0065-999999999"`, `"` +
		strings.Repeat("9", 1<<20) + `"`} {
		const custom = "/apis/custom.metrics.k8s.io"
		const item = `{"metadata":{"name":"b"},"timestamp":"2026-11-20T12:00:00Z","window":"15s","containers":[{"name":"app","usage":{"cpu":`
		c := start(t, &server{answers: map[string]string{
			"/apis/metrics.k8s.io/v1beta1/namespaces/shop/pods": strings.Replace(podMetrics, `"items":[`, `"items":[`+
				item+hostile+"}}]},", 1),
			custom: groupV2,
			custom + "/v1beta2/namespaces/shop/services/web/hits": strings.Replace(customV2,
				`"value":"7"`, `"value":`+hostile, 1),
			"/apis/external.metrics.k8s.io/v1beta1/namespaces/shop/queue": strings.Replace(external, `"value":"12"`, `"value":`+
				hostile, 1),
		}}, nil)
		done := make(chan struct{})
		go func() {
			defer close(done)
			if list, err := c.Resource(t.Context(), "shop", ""); err != nil || len(list.Items) != 1 ||
				list.Items[0].Containers[0].Usage.Cpu().MilliValue() != 250 {
				t.Errorf("pods: %v, %v", list, err)
			}
			if list, err := c.Custom(t.Context(), ofService); err == nil || !strings.Contains(err.Error(), "items[0].value") {
				t.Errorf("custom: %v, %v", list, err)
			}
			if list, err := c.External(t.Context(), "shop", "queue", ""); err == nil ||
				!strings.Contains(err.Error(), "items[0].value") {
				t.Errorf("external: %v, %v", list, err)
			}
		}()
		select {
		case <-done:
		case <-time.After(20 * time.Second):
			t.Fatalf("%.20s: not done within 20 s", hostile)
		}
	}
}

// A response that is not JSON is refused: its quantities have not been checked.
func TestOnlyJSONIsRead(t *testing.T) {
	const inYAML = "kind: ExternalMetricValueList\napiVersion: external.metrics.k8s.io/v1beta1\nitems:\n- value: \"1\"\n"
	// The same, with an empty list.
	const inProtobuf = "k8s\x00\n:\n\x1fexternal.metrics.k8s.io/v1beta1\x12\x17ExternalMetricValueList\x12\x02\n\x00"
	for name, text := range map[string]string{"YAML": inYAML, "protobuf": inProtobuf} {
		c := start(t,
			&server{answers: map[string]string{"/apis/external.metrics.k8s.io/v1beta1/namespaces/shop/queue": text}}, nil)
		if list, err := c.External(t.Context(), "shop", "queue", ""); err == nil {
			t.Errorf("%s: %v", name, list)
		}
	}
}

func TestMissingAPIs(t *testing.T) {
	c := start(t, &server{}, nil)
	if _, err := c.Custom(t.Context(), ofService); err == nil ||
		err.Error() != "no custom metrics API (custom.metrics.k8s.io) registered" {
		t.Errorf("custom: %v", err)
	}
	if _, err := c.External(t.Context(), "shop", "queue", ""); err == nil {
		t.Error("external: no error")
	}
}

func TestSingleObjectNeedsOneItem(t *testing.T) {
	c := start(t, &server{answers: map[string]string{
		"/apis/custom.metrics.k8s.io":                                           groupV2,
		"/apis/custom.metrics.k8s.io/v1beta2/namespaces/shop/services/web/hits": `{"kind":"MetricValueList","apiVersion":"custom.metrics.k8s.io/v1beta2","items":[]}`,
	}}, nil)
	want := "the custom metrics API server returned 0 results when we asked for exactly one"
	if _, err := c.Custom(t.Context(), ofService); err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

// An API that hangs costs its own callers a deadline, and the other APIs nothing.
func TestHungAPI(t *testing.T) {
	c := start(t, &server{answers: map[string]string{
		"/apis/external.metrics.k8s.io/v1beta1/namespaces/shop/queue": "hang",
		"/apis/metrics.k8s.io/v1beta1/namespaces/shop/pods":           podMetrics,
	}}, func(cfg *Config) { cfg.Timeout, cfg.Slots = 100*time.Millisecond, 2 })
	var waiting sync.WaitGroup
	for range 6 {
		waiting.Go(func() {
			_, err := c.External(t.Context(), "shop", "queue", "")
			if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "did not answer within 100ms") {
				t.Errorf("got %v", err)
			}
		})
	}
	if _, err := c.Resource(t.Context(), "shop", ""); err != nil {
		t.Errorf("the other API: %v", err)
	}
	waiting.Wait()
}
