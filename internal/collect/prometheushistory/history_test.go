package prometheushistory

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// server responds to queries by their prefix, and records them.
type server struct {
	mu      sync.Mutex
	answers map[string]string
	queries []string
	headers http.Header
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	query := r.FormValue("query")
	s.queries, s.headers = append(s.queries, query), r.Header
	for prefix, result := range s.answers {
		if strings.HasPrefix(query, prefix) {
			_, _ = w.Write([]byte(`{"status":"success","data":{"resultType":"matrix","result":` + result + `}}`)) // a test's
			return
		}
	}
	w.WriteHeader(http.StatusBadRequest)
	_ = json.NewEncoder(w).Encode(map[string]string{"status": "error", "errorType": "bad_data", "error": "no such query"})
}

func start(t *testing.T, change func(*Config)) (*server, *Client) {
	t.Helper()
	s := &server{answers: map[string]string{
		"rate(": `[{"metric":{"namespace":"shop","pod":"web-1","container":"app"},"values":[[1795003200,"0.25"],[1795006800,"0.5"]]}]`,
		"container_memory": `[
			{"metric":{"namespace":"shop","pod":"web-1","container":"app","id":"b"},"values":[[1795006800,"2048"]]},
			{"metric":{"namespace":"shop","pod":"web-1","container":"app","id":"a"},"values":[[1795003200,"1024"]]}]`,
		"up{": `[
			{"metric":{"kubernetes_namespace":"shop","kubernetes_pod_name":"web-1","pod_label_app":"old"},"values":[[1795003200,"1"]]},
			{"metric":{"kubernetes_namespace":"shop","kubernetes_pod_name":"web-1","pod_label_app":"web"},"values":[[1795006800,"1"]]},
			{"metric":{"kubernetes_namespace":"shop","kubernetes_pod_name":"other"},"values":[[1795006800,"1"]]}]`,
	}}
	listening := httptest.NewServer(s)
	t.Cleanup(listening.Close)
	cfg := DefaultConfig()
	cfg.Address = listening.URL
	if change != nil {
		change(&cfg)
	}
	c, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return s, c
}

func TestHistory(t *testing.T) {
	s, c := start(t, nil)
	got, err := c.History(t.Context(), []string{"shop", "bank.x"}, noon)
	if err != nil {
		t.Fatal(err)
	}
	first, second := time.Unix(1795003200, 0), time.Unix(1795006800, 0)
	want := []*Pod{{
		Namespace: "shop", Name: "web-1", Labels: map[string]string{"app": "web"},
		Containers: map[string]*Use{"app": {CPU: []Sample{{first, 250}, {second, 500}},
			Memory: []Sample{{first, 1024}, {second, 2048}}}},
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	queries := []string{
		`rate(container_cpu_usage_seconds_total{pod=~".+", container!="POD", container!="", namespace=~"shop|bank\\.x", job="kubernetes-cadvisor"}[1h])`,
		`container_memory_working_set_bytes{pod=~".+", container!="POD", container!="", namespace=~"shop|bank\\.x", job="kubernetes-cadvisor"}`,
		`up{job="kubernetes-pods", kubernetes_namespace=~"shop|bank\\.x"}[8d]`,
	}
	if diff := cmp.Diff(queries, s.queries); diff != "" {
		t.Errorf("queries (-want +got):\n%s", diff)
	}
}

func TestHistoryFails(t *testing.T) {
	for why, c := range map[string]struct {
		answers map[string]string
		want    string
	}{
		"names that fit nothing":  {map[string]string{"rate(": "[]", "container": "[]"}, "no series: check"},
		"a query that is refused": {map[string]string{"rate(": "[]"}, "history of memory: bad_data"},
		"a series without container": {map[string]string{"rate(": `[{"metric":{"namespace":"shop"},"values":[]}]`},
			"lacks the namespace, the pod or the container"},
	} {
		s, client := start(t, nil)
		s.answers = c.answers
		if _, err := client.History(t.Context(), []string{"shop"}, noon); err == nil ||
			!strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", why, err, c.want)
		}
	}
}

// TestNoNamespaces: without autoscaled namespaces there is no request.
func TestNoNamespaces(t *testing.T) {
	s, c := start(t, nil)
	if pods, err := c.History(t.Context(), nil, noon); err != nil || pods != nil || len(s.queries) != 0 {
		t.Errorf("%v, %v after %d queries", pods, err, len(s.queries))
	}
}

func TestAuthentication(t *testing.T) {
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte("filed\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PROMETHEUS_PASSWORD", "secret")
	for want, change := range map[string]func(*Config){
		"":                       nil,
		"Bearer told":            func(c *Config) { c.BearerToken = "told" },
		"Bearer filed":           func(c *Config) { c.BearerTokenFile = file },
		"Basic bWU6c2VjcmV0":     func(c *Config) { c.Username = "me" },
		"Basic bWU6b3RoZXJ3aXNl": func(c *Config) { c.Username, c.Password = "me", "otherwise" },
	} {
		s, c := start(t, change)
		if _, err := c.History(t.Context(), []string{"shop"}, noon); err != nil {
			t.Fatal(err)
		}
		if got := s.headers.Get("Authorization"); got != want {
			t.Errorf("it authenticates with %q, want %q", got, want)
		}
	}
}

func TestValidate(t *testing.T) {
	for want, change := range map[string]func(*Config){
		"exclude each other":         func(c *Config) { c.Username, c.BearerToken = "me", "told" },
		"--password goes with":       func(c *Config) { c.Password = "x" },
		"too fine":                   func(c *Config) { c.Resolution = time.Second },
		"--history-length=0s":        func(c *Config) { c.Length = 0 },
		"no name of a label":         func(c *Config) { c.PodLabel = `x"} or up{` },
		"no name of a metric":        func(c *Config) { c.CPUMetric = "a b" },
		"--prometheus-query-timeout": func(c *Config) { c.QueryTimeout = 0 },
	} {
		cfg := DefaultConfig()
		change(&cfg)
		if _, err := New(cfg); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

func TestNarrow(t *testing.T) {
	for selector, want := range map[string]string{
		`up{job="kubernetes-pods"}`: `up{job="kubernetes-pods", n="1"}`,
		"kube_pod_labels":           `kube_pod_labels{n="1"}`,
		"kube_pod_labels{}":         `kube_pod_labels{n="1"}`,
	} {
		if got := narrow(selector, `n="1"`); got != want {
			t.Errorf("%s is narrowed to %s, want %s", selector, got, want)
		}
	}
}

func TestParseDuration(t *testing.T) {
	if d, err := ParseDuration("8d"); err != nil || d != 8*24*time.Hour {
		t.Errorf("%s, %v", d, err)
	}
}
