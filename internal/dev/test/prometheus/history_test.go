//go:build prometheus

package prometheus

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/collect/prometheushistory"
)

const (
	days = 8
	// every is the period of the generated cAdvisor's scrapes.
	every = 5 * time.Minute
)

// generated is eight days of two pods in namespace shop and one in bank, each with a container of a known use, as
// OpenMetrics text.
func generated(end time.Time) string {
	var cpu, memory, up strings.Builder
	cpu.WriteString("# TYPE container_cpu_usage_seconds counter\n")
	memory.WriteString("# TYPE container_memory_working_set_bytes gauge\n")
	up.WriteString("# TYPE up gauge\n")
	for i, pod := range []struct{ namespace, name string }{{"shop", "web-1"}, {"shop", "web-2"}, {"bank", "vault-1"}} {
		rate, bytes := 0.1*float64(i+1), float64(int64(100<<20)*int64(i+1))
		for at, n := end.Add(-days*24*time.Hour), 0; !at.After(end); at, n = at.Add(every), n+1 {
			labels := fmt.Sprintf(`job="kubernetes-cadvisor",namespace=%q,pod=%q,container="app"`, pod.namespace, pod.name)
			fmt.Fprintf(&cpu, "container_cpu_usage_seconds_total{%s} %g %d\n", labels, rate*every.Seconds()*float64(n),
				at.Unix())
			fmt.Fprintf(&memory, "container_memory_working_set_bytes{%s} %g %d\n", labels, bytes, at.Unix())
			fmt.Fprintf(&up,
				"up{job=\"kubernetes-pods\",kubernetes_namespace=%q,kubernetes_pod_name=%q,pod_label_app=\"web\"} 1 %d\n",
				pod.namespace, pod.name, at.Unix())
		}
	}
	return cpu.String() + memory.String() + up.String() + "# EOF\n"
}

// TestHistory: the data of a real server come back as samples of containers, for the requested namespaces.
func TestHistory(t *testing.T) {
	end := time.Now().Truncate(time.Hour)
	folder := t.TempDir()
	file := filepath.Join(folder, "series.om")
	if err := os.WriteFile(file, []byte(generated(end)), 0o600); err != nil {
		t.Fatal(err)
	}
	data := filepath.Join(folder, "data")
	promtool(t, "tsdb", "create-blocks-from", "openmetrics", file, data)
	cfg := prometheushistory.DefaultConfig()
	cfg.Address = start(t, data, "scrape_configs: []\n")
	client, err := prometheushistory.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	pods, err := client.History(t.Context(), []string{"shop"}, end)
	if err != nil {
		t.Fatal(err)
	}
	if len(pods) != 2 || pods[0].Name != "web-1" || pods[1].Name != "web-2" {
		t.Fatalf("%d pods came back, want web-1 and web-2 of shop alone", len(pods))
	}
	for i, pod := range pods {
		use := pod.Containers["app"]
		if use == nil || pod.Labels["app"] != "web" {
			t.Fatalf("%s has containers %v and labels %v", pod.Name, pod.Containers, pod.Labels)
		}
		if n := len(use.CPU); n < days*24-2 || n > days*24+1 {
			t.Errorf("%s has %d samples of CPU, want one an hour", pod.Name, n)
		}
		check(t, pod.Name, use.CPU, 100*float64(i+1), 0.01)
		check(t, pod.Name, use.Memory, float64(int64(100<<20)*int64(i+1)), 0)
	}
}

// check ends the test if a sample is not want; it may be off by a share of that.
func check(t *testing.T, pod string, samples []prometheushistory.Sample, want, share float64) {
	t.Helper()
	for _, s := range samples {
		if math.Abs(s.Value-want) > share*want {
			t.Fatalf("%s used %g at %s, want %g", pod, s.Value, s.At, want)
		}
	}
}

// TestOtherNames: a server that has nothing by the requested names is distinguished
// from one that cannot be reached.
func TestOtherNames(t *testing.T) {
	cfg := prometheushistory.DefaultConfig()
	cfg.Address = start(t, t.TempDir(), "scrape_configs: []\n")
	client, err := prometheushistory.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.History(t.Context(), []string{"shop"}, time.Now()); err == nil ||
		!strings.Contains(err.Error(), "no series: check") {
		t.Errorf("an empty server is %v", err)
	}
	cfg.Address = "http://" + freeAddress(t)
	if client, err = prometheushistory.New(cfg); err != nil {
		t.Fatal(err)
	}
	if _, err := client.History(t.Context(), []string{"shop"}, time.Now()); err == nil ||
		strings.Contains(err.Error(), "no series") {
		t.Errorf("a server that is not there is %v", err)
	}
}
