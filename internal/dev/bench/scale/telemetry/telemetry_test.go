package telemetry

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"math"
	"math/big"
	"net"
	"net/http"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	prommodel "github.com/prometheus/common/model"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	stats "k8s.io/kubelet/pkg/apis/stats/v1alpha1"
	metricsv1beta1 "k8s.io/metrics/pkg/apis/metrics/v1beta1"
	"pgregory.net/rapid"

	"github.com/plimsoll-dev/plimsoll/internal/dev/bench/scale/population"
	devkubelet "github.com/plimsoll-dev/plimsoll/internal/dev/devcluster/kubelet"
	"github.com/plimsoll-dev/plimsoll/internal/dev/devcluster/podmetrics"
)

var began = time.Unix(1_790_000_000, 0)

func testModel(t interface{ Fatal(...any) }, size population.Size) *model {
	config, err := Config{Size: size, Began: began}.completed()
	if err != nil {
		t.Fatal(err)
	}
	m := newModel(config)
	return &m
}

// Whatever the window, a pod's rate stays within the noise around rest, so that no autoscaler has a reason to act.
func TestRatesStayWithinTheNoise(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := testModel(t, population.Size{Objects: 50, PodsPer: 4})
		place := population.Place{Object: rapid.IntRange(0, 49).Draw(t, "object"), Pod: rapid.IntRange(0, 3).Draw(t, "pod")}
		from := began.Add(time.Duration(rapid.Int64Range(0, int64(time.Hour)).Draw(t, "from")))
		to := from.Add(time.Duration(rapid.Int64Range(int64(100*time.Millisecond), int64(time.Minute)).Draw(t, "window")))
		rate := (m.usedSeconds(place, to) - m.usedSeconds(place, from)) / to.Sub(from).Seconds()
		const rest = 0.05
		if rate < rest*(1-DefaultNoise)-1e-9 || rate > rest*(1+DefaultNoise)+1e-9 {
			t.Fatalf("%v from %s for %s: %v cores", place, from.Sub(began), to.Sub(from), rate)
		}
	})
}

func TestPodsDifferAndBeginAtZero(t *testing.T) {
	m := testModel(t, population.Size{Objects: 2, PodsPer: 2})
	seen := map[float64]bool{}
	for object := range 2 {
		for pod := range 2 {
			place := population.Place{Object: object, Pod: pod}
			if used := m.usedSeconds(place, began); used != 0 {
				t.Errorf("%v has used %v before it began", place, used)
			}
			seen[m.usedSeconds(place, began.Add(time.Minute))] = true
		}
	}
	if len(seen) != 4 {
		t.Errorf("4 pods have used only %d different amounts", len(seen))
	}
}

// metrics-server shows a round once all nodes have answered: no sample is of the future, none older than a round and
// its spread.
func TestRoundsAreCompleteAndFresh(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := testModel(t, population.Size{Objects: rapid.IntRange(1, 2000).Draw(t, "objects"), PodsPer: 10})
		node := rapid.IntRange(0, m.nodes-1).Draw(t, "node")
		now := began.Add(time.Duration(rapid.Int64Range(0, int64(time.Hour)).Draw(t, "now")))
		age := now.Sub(m.sampledAt(node, m.round(now)))
		if age < 0 || age >= m.Resolution+m.spread {
			t.Fatalf("node %d of %d at %s: a sample %s old", node, m.nodes, now.Sub(began), age)
		}
	})
}

func TestConfigIsChecked(t *testing.T) {
	good := Config{Size: population.Size{Objects: 1, PodsPer: 1}, Began: began}
	if _, err := good.completed(); err != nil {
		t.Error(err)
	}
	for name, change := range map[string]func(*Config){
		"no pods":                 func(c *Config) { c.Size.PodsPer = 0 },
		"no beginning":            func(c *Config) { c.Began = time.Time{} },
		"a negative resolution":   func(c *Config) { c.Resolution = -time.Second },
		"noise that goes below 0": func(c *Config) { c.Noise = 1 },
	} {
		bad := good
		change(&bad)
		if _, err := bad.completed(); err == nil {
			t.Errorf("%s is accepted", name)
		}
	}
}

// selfSigned is a certificate for this machine, with its authority.
func selfSigned(t *testing.T) (tls.Certificate, *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(parsed)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, pool
}

func startServer(t *testing.T, size population.Size) (*Server, *http.Client) {
	t.Helper()
	certificate, pool := selfSigned(t)
	server, err := Start(t.Context(), Config{Size: size, Began: time.Now().Add(-time.Hour)}, certificate, certificate)
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{
		RootCAs: pool, MinVersion: tls.VersionTLS12,
	}}}
	t.Cleanup(func() {
		client.CloseIdleConnections()
		if err := server.Close(); err != nil {
			t.Error(err)
		}
	})
	return server, client
}

// reply is a response that has been read.
type reply struct {
	status int
	header http.Header
	body   []byte
}

func get(t *testing.T, client *http.Client, port int, path string, header http.Header) reply {
	t.Helper()
	url := "https://" + net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) + path
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	for name, values := range header {
		request.Header[name] = values
	}
	response, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return reply{response.StatusCode, response.Header, body}
}

func TestMetricsAPIAnswersInBothFormats(t *testing.T) {
	server, client := startServer(t, population.Size{Objects: 30, PodsPer: 3})
	var asked []Asked
	server.Listen(func(a Asked) { asked = append(asked, a) })
	const path = "/apis/metrics.k8s.io/v1beta1/namespaces/shop-1/pods?labelSelector=app%3Dweb-23"
	scheme := runtime.NewScheme()
	if err := metricsv1beta1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	decoder := serializer.NewCodecFactory(scheme).UniversalDeserializer()
	for accept, want := range map[string]string{
		"application/vnd.kubernetes.protobuf,application/json": runtime.ContentTypeProtobuf,
		"application/json": runtime.ContentTypeJSON,
	} {
		r := get(t, client, server.MetricsPort(), path, http.Header{"Accept": {accept}})
		if got := r.header.Get("Content-Type"); r.status != http.StatusOK || got != want {
			t.Fatalf("%s: %d of %s: %s", accept, r.status, got, r.body)
		}
		list := &metricsv1beta1.PodMetricsList{}
		if _, _, err := decoder.Decode(r.body, nil, list); err != nil {
			t.Fatal(err)
		}
		checkPods(t, list)
	}
	if len(asked) != 2 {
		t.Fatalf("noted %v", asked)
	}
	for _, a := range asked {
		if age := a.At.Sub(a.Newest); a.Object != 23 || age < 0 || age > DefaultResolution+maxDelay {
			t.Errorf("noted object %d with a sample %s old", a.Object, age)
		}
	}
}

func checkPods(t *testing.T, list *metricsv1beta1.PodMetricsList) {
	t.Helper()
	var names []string
	for i := range list.Items {
		item := &list.Items[i]
		names = append(names, item.Name)
		cpu := item.Containers[0].Usage.Cpu().MilliValue()
		if item.Namespace != "shop-1" || item.Labels["app"] != "web-23" || cpu < 47 || cpu > 53 ||
			item.Window.Duration < 10*time.Second {
			t.Errorf("%+v", item)
		}
	}
	want := []string{"web-23-5d8f7c6b9-00000", "web-23-5d8f7c6b9-00001", "web-23-5d8f7c6b9-00002"}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Error(diff)
	}
}

func TestMetricsAPIRefusesOtherQuestions(t *testing.T) {
	server, client := startServer(t, population.Size{Objects: 30, PodsPer: 3})
	server.Listen(func(a Asked) { t.Errorf("noted %+v", a) })
	const pods = "/apis/metrics.k8s.io/v1beta1/namespaces/shop-1/pods"
	for _, path := range []string{pods, pods + "?labelSelector=app%3Dweb-3", pods + "?labelSelector=web-23", pods +
		"?labelSelector=app%3Dweb-023"} {
		if r := get(t, client, server.MetricsPort(), path, nil); r.status != http.StatusBadRequest {
			t.Errorf("%s: %d", path, r.status)
		}
	}
	if r := get(t, client, server.MetricsPort(), "/apis/metrics.k8s.io/v1beta1", nil); r.status != http.StatusOK {
		t.Errorf("discovery: %d", r.status)
	}
}

// families parses what a kubelet answers.
func families(t *testing.T, text []byte) map[string]*dto.MetricFamily {
	t.Helper()
	parser := expfmt.NewTextParser(prommodel.LegacyValidation)
	parsed, err := parser.TextToMetricFamilies(bytes.NewReader(text))
	if err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	return parsed
}

func TestKubeletAnswersForItsPods(t *testing.T) {
	size := population.Size{Objects: 30, PodsPer: 3, ObjectsPerNamespace: 20, PodsPerNode: 40}
	server, client := startServer(t, size)
	if _, found := server.SamplesOf(23, time.Now()); found {
		t.Error("no scrape")
	}
	pods := map[string]float64{}
	for _, port := range server.KubeletPorts() {
		r := get(t, client, port, "/metrics/resource", nil)
		if r.status != http.StatusOK {
			t.Fatal(r.status)
		}
		for _, metric := range families(t, r.body)["pod_cpu_usage_seconds_total"].Metric {
			if age := time.Since(time.UnixMilli(metric.GetTimestampMs())); age < 0 || age > time.Minute {
				t.Errorf("a sample %s old", age)
			}
			pods[metric.Label[0].GetValue()+"/"+metric.Label[1].GetValue()] = metric.Counter.GetValue()
		}
	}
	if len(pods) != size.Pods() {
		t.Errorf("%d pods of %d", len(pods), size.Pods())
	}
	// An hour at 50m.
	if used := pods["shop-1/web-23-5d8f7c6b9-00002"]; math.Abs(used-180) > 2 {
		t.Errorf("used %v s", used)
	}
	times, found := server.SamplesOf(23, time.Now())
	if age := time.Since(times.Newest); !found || age > time.Minute {
		t.Errorf("newest scrape %s ago, found %t", age, found)
	}
	if _, found := server.SamplesOf(23, times.Newest.Add(-time.Minute)); found {
		t.Error("a scrape before the first")
	}
}

// TestPodsAnswerForThemselves: the requests are in proportion to the CPU.
func TestPodsAnswerForThemselves(t *testing.T) {
	server, _ := startServer(t, population.Size{Objects: 300, PodsPer: 3, ObjectsPerNamespace: 20, PodsPerNode: 100})
	if _, found := server.PagesOf(257, time.Now()); found || server.Pages() != 0 {
		t.Error("no pod has answered yet")
	}
	url := fmt.Sprintf("http://127.2.1.3:%d/metrics", server.PodMetricsPort()) // the third pod of object 257
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // a page is counted before the connection's next
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(response.Body)
		if err := errors.Join(err, response.Body.Close()); err != nil {
			t.Fatal(err)
		}
		served := families(t, text)[podmetrics.MetricRequests].Metric[0].Counter.GetValue()
		if want := population.RequestsPerSecond * time.Hour.Seconds(); math.Abs(served-want) > want/100 {
			t.Errorf("%v requests served within an hour, not about %v", served, want)
		}
	}
	if _, found := server.PagesOf(257, time.Now()); !found || server.Pages() == 0 {
		t.Errorf("%d pages, found %t", server.Pages(), found)
	}
}

// The light kubelets write what the development cluster's write, which in turn follow the real ones.
func TestKubeletWritesTheKubeletsFamilies(t *testing.T) {
	m := testModel(t, population.Size{Objects: 1, PodsPer: 1})
	at := began.Add(time.Minute)
	got := families(t, newKubelet(m, 0).append(nil, at))
	want := families(t, devKubeletText(t, at))
	delete(want, "container_swap_limit_bytes") // only on nodes with swap
	describe := func(families map[string]*dto.MetricFamily) map[string]string {
		described := map[string]string{}
		for name, f := range families {
			text := f.GetType().String() + " " + f.GetHelp()
			for _, label := range f.Metric[0].Label {
				text += " " + label.GetName()
			}
			described[name] = text + " timed " + strconv.FormatBool(f.Metric[0].TimestampMs != nil)
		}
		return described
	}
	if diff := cmp.Diff(describe(want), describe(got)); diff != "" {
		t.Errorf("development cluster's against light kubelet's:\n%s", diff)
	}
}

type summary struct{ at time.Time }

// Summary implements kubelet.Source.
func (s summary) Summary(node string) (*stats.Summary, error) {
	at, n := metav1.NewTime(s.at), uint64(1)
	cpu := &stats.CPUStats{Time: at, UsageCoreNanoSeconds: &n}
	memory, swap := &stats.MemoryStats{Time: at, WorkingSetBytes: &n}, &stats.SwapStats{Time: at, SwapUsageBytes: &n}
	return &stats.Summary{
		Node: stats.NodeStats{NodeName: node, StartTime: at, CPU: cpu, Memory: memory, Swap: swap},
		Pods: []stats.PodStats{{
			PodRef: stats.PodReference{Namespace: "a", Name: "b"}, StartTime: at, CPU: cpu, Memory: memory, Swap: swap,
			Containers: []stats.ContainerStats{{Name: "app", StartTime: at, CPU: cpu, Memory: memory, Swap: swap}},
		}},
	}, nil
}

func devKubeletText(t *testing.T, at time.Time) []byte {
	t.Helper()
	certificate, pool := selfSigned(t)
	servers, err := devkubelet.Serve(t.Context(), devkubelet.Config{
		Nodes: []string{"node-0"}, Source: summary{at},
		TLS: &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(servers.Close)
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{
		RootCAs: pool, MinVersion: tls.VersionTLS12,
	}}}
	t.Cleanup(client.CloseIdleConnections)
	return get(t, client, servers.Ports()["node-0"], "/metrics/resource", nil).body
}

func TestKubeletCompressesForThoseWhoAsk(t *testing.T) {
	server, client := startServer(t, population.Size{Objects: 50, PodsPer: 2})
	port := server.KubeletPorts()[0]
	plain := get(t, client, port, "/metrics/resource", http.Header{"Accept-Encoding": {"identity"}})
	zipped := get(t, client, port, "/metrics/resource", http.Header{"Accept-Encoding": {"gzip"}})
	if plain.header.Get("Content-Encoding") != "" || zipped.header.Get("Content-Encoding") != "gzip" ||
		len(zipped.body)*5 > len(plain.body) {
		t.Errorf("%d bytes plain, %d compressed", len(plain.body), len(zipped.body))
	}
	lines := bytes.Count(plain.body, []byte("\n"))
	// Seven for each pod, three for the node, one for the scrape, and two above each family.
	if want := 100*7 + 3 + 1 + 11*2; lines != want {
		t.Errorf("%d lines, want %d", lines, want)
	}
}

func TestScrapesAreForgotten(t *testing.T) {
	s := &Server{scrapes: make([]givens, 1)}
	for second := range 1000 {
		s.Given(0, began.Add(time.Duration(second)*time.Second))
	}
	last := s.scrapes[0]
	if len(last) > 2*kept || len(last) < kept || !last[len(last)-1].sampled.Equal(began.Add(999*time.Second)) {
		t.Errorf("%d kept, last %s", len(last), last[len(last)-1].sampled)
	}
}

// TestSamplesOf: of each pod the newest sample counts whose answer had been written, and of those the newest and the
// oldest.
func TestSamplesOf(t *testing.T) {
	size, err := population.Size{Objects: 1, PodsPer: 3, PodsPerNode: 1}.Completed()
	if err != nil {
		t.Fatal(err)
	}
	s := &Server{model: newModel(Config{Size: size, Began: began}), scrapes: make([]givens, size.Nodes())}
	after := func(seconds int) time.Time { return began.Add(time.Duration(seconds) * time.Second) }
	for node, all := range []givens{
		{{after(1), after(2)}, {after(5), after(6)}},
		{{after(3), after(4)}, {after(7), after(12)}},
		{{after(2), after(3)}, {after(8), after(9)}},
	} {
		s.scrapes[node] = all
	}
	for at, want := range map[int]SampleTimes{
		3: {after(1), after(1)}, 5: {after(3), after(1)}, 10: {after(8), after(3)}, 20: {after(8), after(5)},
	} {
		if got, found := s.SamplesOf(0, after(at)); !found || got != want {
			t.Errorf("at %d: %v, %t, want %v", at, got, found, want)
		}
	}
	if _, found := s.SamplesOf(0, after(1)); found {
		t.Error("samples before the first answer was written")
	}
}

func BenchmarkKubelet(b *testing.B) {
	k := newKubelet(testModel(b, population.Size{Objects: 1000, PodsPer: 10}), 3)
	var text []byte
	b.ReportAllocs()
	for b.Loop() {
		text = k.append(text[:0], began.Add(time.Hour))
	}
	b.SetBytes(int64(len(text)))
}
