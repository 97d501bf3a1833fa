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
	loadDays = 2
	// loadEvery is the period of the scrapes of cAdvisor and kube-state-metrics.
	loadEvery = 30 * time.Second
)

// webPods are those of a Deployment; another's begins with the same name.
var webPods = []string{"web-7d4b9c6f5d-x2x7z", "web-7d4b9c6f5d-b4c5d"}

// coresAt is the use of each of the Deployment's pods: 0.1 cores, and 0.4 in the second hour of each day.
func coresAt(at, start time.Time) float64 {
	if at.Sub(start)%(24*time.Hour)/time.Hour == 1 {
		return 0.4
	}
	return 0.1
}

// isAway is an hour in which nothing was scraped.
func isAway(at, start time.Time) bool { return at.Sub(start)/time.Hour == 30 }

// generatedLoad are the pods' use, requests and phases as OpenMetrics text. The pod of another Deployment uses 8 cores.
func generatedLoad(start time.Time) string {
	var cpu, requests, phases strings.Builder
	cpu.WriteString("# TYPE container_cpu_usage_seconds counter\n")
	requests.WriteString("# TYPE kube_pod_container_resource_requests gauge\n")
	phases.WriteString("# TYPE kube_pod_status_phase gauge\n")
	for i, pod := range append(webPods, "web-api-7d4b9c6f5d-x2x7z") {
		used := 0.0
		for at := start; at.Before(start.Add(loadDays * 24 * time.Hour)); at = at.Add(loadEvery) {
			cores := coresAt(at, start)
			if i == len(webPods) {
				cores = 8
			}
			used += cores * loadEvery.Seconds()
			if isAway(at, start) {
				continue
			}
			labels := fmt.Sprintf(`namespace="shop",pod=%q`, pod)
			fmt.Fprintf(&cpu, "container_cpu_usage_seconds_total{job=\"kubernetes-cadvisor\",%s,container=\"app\"} %g %d\n",
				labels, used, at.Unix())
			fmt.Fprintf(&requests, "kube_pod_container_resource_requests{%s,container=\"app\",resource=\"cpu\",unit=\"core\"} 0.5 %d\n",
				labels, at.Unix())
			fmt.Fprintf(&phases, "kube_pod_status_phase{%s,phase=\"Running\"} 1 %d\n", labels, at.Unix())
		}
	}
	return cpu.String() + requests.String() + phases.String() + "# EOF\n"
}

// TestLoad: a real server's answers become pods at the target, with the jump in its minute, and nothing where nothing
// was scraped.
func TestLoad(t *testing.T) {
	begin := time.Now().UTC().Truncate(time.Hour).Add(-loadDays * 24 * time.Hour)
	folder := t.TempDir()
	file := filepath.Join(folder, "load.om")
	if err := os.WriteFile(file, []byte(generatedLoad(begin)), 0o600); err != nil {
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
	got, err := client.Load(t.Context(), prometheushistory.Query{
		Namespace: "shop", Kind: "Deployment", Name: "web", From: begin, To: begin.Add(loadDays * 24 * time.Hour),
		UtilizationPercent: 50, RequestMilli: 9999,
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Pods) != loadDays*24*60 || !got.Start.Equal(begin) {
		t.Fatalf("%d minutes from %s", len(got.Pods), got.Start)
	}
	for minute := 5; minute < len(got.Pods)-5; minute++ {
		at := begin.Add(time.Duration(minute) * time.Minute)
		// The window around a minute reaches two minutes into the neighbours.
		before, after := at.Add(-2*time.Minute), at.Add(3*time.Minute)
		isEdge := coresAt(before, begin) != coresAt(after, begin) || isAway(before, begin) != isAway(after, begin)
		// Two pods' use by a quarter of a core each.
		want := 2 * coresAt(at, begin) / 0.25
		switch pods := got.Pods[minute]; {
		case isEdge:
		case isAway(at, begin) != math.IsNaN(pods):
			t.Errorf("minute %d is %v pods", minute, pods)
		case !isAway(at, begin) && math.Abs(pods-want) > 0.02*want:
			t.Errorf("minute %d is %v pods, want %v", minute, pods, want)
		}
	}
}
