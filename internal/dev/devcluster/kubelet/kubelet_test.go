package kubelet

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"io"
	"math"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/cert"
	stats "k8s.io/kubelet/pkg/apis/stats/v1alpha1"
)

// sourceFunc makes a function a Source.
type sourceFunc func(node string) (*stats.Summary, error)

func (f sourceFunc) Summary(node string) (*stats.Summary, error) { return f(node) }

var (
	startedAt = metav1.NewTime(time.Unix(1_790_000_000, 500_000_000))
	sampledAt = metav1.NewTime(time.Unix(1_790_000_060, 123_456_789))
)

func cpu(seconds float64) *stats.CPUStats {
	nano := uint64(seconds * 1e9)
	return &stats.CPUStats{Time: sampledAt, UsageCoreNanoSeconds: &nano}
}

func memory(bytes uint64) *stats.MemoryStats {
	return &stats.MemoryStats{Time: sampledAt, WorkingSetBytes: &bytes}
}

func swap() *stats.SwapStats {
	return &stats.SwapStats{Time: sampledAt, SwapUsageBytes: new(uint64), SwapAvailableBytes: new(uint64)}
}

func podStats(name string, cpuSeconds float64) stats.PodStats {
	return stats.PodStats{
		PodRef: stats.PodReference{Namespace: "shop", Name: name}, StartTime: startedAt,
		CPU: cpu(cpuSeconds), Memory: memory(3 << 20), Swap: swap(),
		Containers: []stats.ContainerStats{
			{Name: "app", StartTime: startedAt, CPU: cpu(cpuSeconds * 0.75), Memory: memory(2 << 20), Swap: swap()},
			{Name: "proxy", StartTime: startedAt, CPU: cpu(cpuSeconds * 0.25), Memory: memory(1 << 20), Swap: swap()},
		},
	}
}

func summaryOf(node string) (*stats.Summary, error) {
	if node == "broken" {
		return nil, errors.New("no such node")
	}
	return &stats.Summary{
		Node: stats.NodeStats{NodeName: node, StartTime: startedAt, CPU: cpu(12.5), Memory: memory(1 << 30), Swap: swap()},
		Pods: []stats.PodStats{podStats("a", 4), podStats("b", 8)},
	}, nil
}

// The certificate is the same for all tests: making an RSA key takes a while.
var certificate = sync.OnceValues(func() (tls.Certificate, error) {
	certPEM, keyPEM, err := cert.GenerateSelfSignedCertKey("localhost", nil, nil)
	if err != nil {
		return tls.Certificate{}, err
	}
	return tls.X509KeyPair(certPEM, keyPEM)
})

type endpoints struct {
	*Servers
	client *http.Client
}

func serve(t *testing.T, nodes ...string) endpoints {
	t.Helper()
	pair, err := certificate()
	if err != nil {
		t.Fatal(err)
	}
	s, err := Serve(t.Context(), Config{
		Nodes: nodes, Source: sourceFunc(summaryOf),
		TLS: &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	// as metrics-server with --kubelet-insecure-tls
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, ForceAttemptHTTP2: true}
	t.Cleanup(transport.CloseIdleConnections)
	return endpoints{Servers: s, client: &http.Client{Transport: transport}}
}

func (e endpoints) get(ctx context.Context, node, path string) (int, string, error) {
	url := "https://127.0.0.1:" + strconv.Itoa(e.Ports()[node]) + path
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return 0, "", err
	}
	response, err := e.client.Do(request)
	if err != nil {
		return 0, "", err
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	return response.StatusCode, string(body), err
}

func (e endpoints) mustGet(t *testing.T, node, path string) string {
	t.Helper()
	status, body, err := e.get(t.Context(), node, path)
	if err != nil || status != http.StatusOK {
		t.Fatalf("GET %s: status %d, %v: %s", path, status, err, body)
	}
	return body
}

// wantText is the output of a kubelet 1.37 for the same Summary.
const wantText = `# HELP container_cpu_usage_seconds_total [STABLE] Cumulative cpu time consumed by the container in core-seconds
# TYPE container_cpu_usage_seconds_total counter
container_cpu_usage_seconds_total{container="app",namespace="shop",pod="a"} 3 1790000060123
container_cpu_usage_seconds_total{container="app",namespace="shop",pod="b"} 6 1790000060123
container_cpu_usage_seconds_total{container="proxy",namespace="shop",pod="a"} 1 1790000060123
container_cpu_usage_seconds_total{container="proxy",namespace="shop",pod="b"} 2 1790000060123
# HELP container_memory_working_set_bytes [STABLE] Current working set of the container in bytes
# TYPE container_memory_working_set_bytes gauge
container_memory_working_set_bytes{container="app",namespace="shop",pod="a"} 2.097152e+06 1790000060123
container_memory_working_set_bytes{container="app",namespace="shop",pod="b"} 2.097152e+06 1790000060123
container_memory_working_set_bytes{container="proxy",namespace="shop",pod="a"} 1.048576e+06 1790000060123
container_memory_working_set_bytes{container="proxy",namespace="shop",pod="b"} 1.048576e+06 1790000060123
# HELP container_start_time_seconds [STABLE] Start time of the container since unix epoch in seconds
# TYPE container_start_time_seconds gauge
container_start_time_seconds{container="app",namespace="shop",pod="a"} 1.7900000005e+09
container_start_time_seconds{container="app",namespace="shop",pod="b"} 1.7900000005e+09
container_start_time_seconds{container="proxy",namespace="shop",pod="a"} 1.7900000005e+09
container_start_time_seconds{container="proxy",namespace="shop",pod="b"} 1.7900000005e+09
# HELP container_swap_limit_bytes [ALPHA] Current amount of the container swap limit in bytes. Reported only on non-windows systems
# TYPE container_swap_limit_bytes gauge
container_swap_limit_bytes{container="app",namespace="shop",pod="a"} 0 1790000060123
container_swap_limit_bytes{container="app",namespace="shop",pod="b"} 0 1790000060123
container_swap_limit_bytes{container="proxy",namespace="shop",pod="a"} 0 1790000060123
container_swap_limit_bytes{container="proxy",namespace="shop",pod="b"} 0 1790000060123
# HELP container_swap_usage_bytes [ALPHA] Current amount of the container swap usage in bytes. Reported only on non-windows systems
# TYPE container_swap_usage_bytes gauge
container_swap_usage_bytes{container="app",namespace="shop",pod="a"} 0 1790000060123
container_swap_usage_bytes{container="app",namespace="shop",pod="b"} 0 1790000060123
container_swap_usage_bytes{container="proxy",namespace="shop",pod="a"} 0 1790000060123
container_swap_usage_bytes{container="proxy",namespace="shop",pod="b"} 0 1790000060123
# HELP node_cpu_usage_seconds_total [STABLE] Cumulative cpu time consumed by the node in core-seconds
# TYPE node_cpu_usage_seconds_total counter
node_cpu_usage_seconds_total 12.5 1790000060123
# HELP node_memory_working_set_bytes [STABLE] Current working set of the node in bytes
# TYPE node_memory_working_set_bytes gauge
node_memory_working_set_bytes 1.073741824e+09 1790000060123
# HELP node_swap_usage_bytes [ALPHA] Current swap usage of the node in bytes. Reported only on non-windows systems
# TYPE node_swap_usage_bytes gauge
node_swap_usage_bytes 0 1790000060123
# HELP pod_cpu_usage_seconds_total [STABLE] Cumulative cpu time consumed by the pod in core-seconds
# TYPE pod_cpu_usage_seconds_total counter
pod_cpu_usage_seconds_total{namespace="shop",pod="a"} 4 1790000060123
pod_cpu_usage_seconds_total{namespace="shop",pod="b"} 8 1790000060123
# HELP pod_memory_working_set_bytes [STABLE] Current working set of the pod in bytes
# TYPE pod_memory_working_set_bytes gauge
pod_memory_working_set_bytes{namespace="shop",pod="a"} 3.145728e+06 1790000060123
pod_memory_working_set_bytes{namespace="shop",pod="b"} 3.145728e+06 1790000060123
# HELP pod_swap_usage_bytes [ALPHA] Current amount of the pod swap usage in bytes. Reported only on non-windows systems
# TYPE pod_swap_usage_bytes gauge
pod_swap_usage_bytes{namespace="shop",pod="a"} 0 1790000060123
pod_swap_usage_bytes{namespace="shop",pod="b"} 0 1790000060123
# HELP resource_scrape_error [STABLE] 1 if there was an error while getting container metrics, 0 otherwise
# TYPE resource_scrape_error gauge
resource_scrape_error 0
`

func TestResourceMetricsText(t *testing.T) {
	e := serve(t, "node-1")
	if diff := cmp.Diff(wantText, e.mustGet(t, "node-1", "/metrics/resource")); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if got := e.mustGet(t, "node-1", "/healthz"); got != "ok" {
		t.Errorf("healthz: %q", got)
	}
}

func TestEachNodeHasItsPort(t *testing.T) {
	e := serve(t, "node-1", "node-2", "broken")
	if ports := e.Ports(); len(ports) != 3 || ports["node-1"] == ports["node-2"] {
		t.Fatalf("ports %v", ports)
	}
	for _, node := range []string{"node-1", "node-2"} {
		var got stats.Summary
		if err := json.Unmarshal([]byte(e.mustGet(t, node, "/stats/summary?only_cpu_and_memory=true")), &got); err != nil {
			t.Fatal(err)
		}
		if got.Node.NodeName != node || len(got.Pods) != 2 || *got.Pods[1].CPU.UsageCoreNanoSeconds != 8e9 {
			t.Errorf("%s: %+v", node, got)
		}
	}
	if status, _, err := e.get(t.Context(), "node-1", "/stats/summary?only_cpu_and_memory=perhaps"); err != nil ||
		status != http.StatusBadRequest {
		t.Errorf("a value that is no boolean: %d %v", status, err)
	}
}

func TestWithoutASummary(t *testing.T) {
	e := serve(t, "broken")
	families := parse(t, e.mustGet(t, "broken", "/metrics/resource"))
	if len(families) != 1 || families["resource_scrape_error"].GetMetric()[0].GetGauge().GetValue() != 1 {
		t.Errorf("want only resource_scrape_error 1, got %v", families)
	}
	if status, _, err := e.get(t.Context(), "broken", "/stats/summary"); err != nil ||
		status != http.StatusInternalServerError {
		t.Errorf("summary: %d %v", status, err)
	}
}

func parse(t *testing.T, text string) map[string]*dto.MetricFamily {
	t.Helper()
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return families
}

// containerValues are a family's values by "pod/container".
func containerValues(family *dto.MetricFamily) map[string]float64 {
	values := map[string]float64{}
	for _, m := range family.GetMetric() {
		labels := map[string]string{}
		for _, l := range m.GetLabel() {
			labels[l.GetName()] = l.GetValue()
		}
		values[labels["pod"]+"/"+labels["container"]] = m.GetCounter().GetValue() + m.GetGauge().GetValue()
	}
	return values
}

func TestLyingPod(t *testing.T) {
	for name, lie := range map[string]float64{"NaN": math.NaN(), "infinite": math.Inf(1), "negative": -5} {
		t.Run(name, func(t *testing.T) {
			e := serve(t, "node-1")
			e.Faults.SetPod("shop", "a", PodFault{Value: &lie})
			families := parse(t, e.mustGet(t, "node-1", "/metrics/resource"))
			for _, family := range []string{"container_cpu_usage_seconds_total", "container_memory_working_set_bytes"} {
				got := containerValues(families[family])
				if v := got["a/app"]; v != lie && !(math.IsNaN(v) && math.IsNaN(lie)) {
					t.Errorf("%s of the liar: %v", family, v)
				}
				if v := got["b/app"]; v != 6 && v != 2<<20 {
					t.Errorf("%s of its neighbour: %v", family, v)
				}
			}
			e.Faults.SetPod("shop", "a", PodFault{})
			if got := e.mustGet(t, "node-1", "/metrics/resource"); got != wantText {
				t.Error("not healed")
			}
		})
	}
}

func TestMissingPod(t *testing.T) {
	e := serve(t, "node-1")
	e.Faults.SetPod("shop", "a", PodFault{Missing: true})
	got := containerValues(parse(t, e.mustGet(t, "node-1", "/metrics/resource"))["container_cpu_usage_seconds_total"])
	if diff := cmp.Diff(map[string]float64{"b/app": 6, "b/proxy": 2}, got); diff != "" {
		t.Error(diff)
	}
	if text := e.mustGet(t, "node-1", "/stats/summary"); strings.Contains(text, `"name":"a"`) {
		t.Error("the summary still has the pod")
	}
}

func TestNodeFaults(t *testing.T) {
	e := serve(t, "node-1", "node-2")
	const path = "/metrics/resource"

	e.Faults.SetNode("node-1", NodeFault{Status: http.StatusInternalServerError})
	if status, _, err := e.get(t.Context(), "node-1", path); err != nil || status != http.StatusInternalServerError {
		t.Errorf("down: %d %v", status, err)
	}
	e.Faults.SetNode("node-1", NodeFault{HangUp: true})
	if status, _, err := e.get(t.Context(), "node-1", path); err == nil {
		t.Errorf("hang-up: status %d, want an error", status)
	}
	garbage := []byte("container_cpu_usage_seconds_total{container=\"app\" 12 twelve\n")
	e.Faults.SetNode("node-1", NodeFault{Body: garbage})
	parser := expfmt.NewTextParser(model.UTF8Validation)
	if _, err := parser.TextToMetricFamilies(bytes.NewBufferString(e.mustGet(t, "node-1", path))); err == nil {
		t.Error("garbage was decoded")
	}
	e.Faults.SetNode("node-1", NodeFault{Delay: time.Hour})
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, _, err := e.get(ctx, "node-1", path); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("slow: %v", err)
	}
	if got := e.mustGet(t, "node-2", path); got != wantText {
		t.Error("the other node suffers")
	}
	e.Faults.Clear()
	if got := e.mustGet(t, "node-1", path); got != wantText {
		t.Error("not healed")
	}
}

func TestServersEndWithTheContext(t *testing.T) {
	pair, err := certificate()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	s, err := Serve(ctx, Config{Nodes: []string{"n"}, Source: sourceFunc(summaryOf),
		TLS: &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}})
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	s.done.Wait() // hangs if the server does not end
	s.Close()
}

func TestServeNeedsItsParts(t *testing.T) {
	if _, err := Serve(t.Context(), Config{TLS: &tls.Config{MinVersion: tls.VersionTLS12}}); err == nil {
		t.Error("served without a source")
	}
	if _, err := Serve(t.Context(), Config{Source: sourceFunc(summaryOf)}); err == nil {
		t.Error("served without a certificate")
	}
}
