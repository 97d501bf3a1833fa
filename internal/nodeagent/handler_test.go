package nodeagent

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"

	"github.com/plimsoll-dev/plimsoll/internal/collect/kubelet/rate"
	"github.com/plimsoll-dev/plimsoll/internal/nodeagent/cgroup"
	"github.com/plimsoll-dev/plimsoll/internal/nodeagent/cgroup/cgrouptest"
	"github.com/plimsoll-dev/plimsoll/internal/nodeagent/selection"
)

// filled is a tree of version 2 with pods of two containers, and the selection of all of them.
func filled(t testing.TB, pods int) (directory string, all []selection.Container) {
	t.Helper()
	text, err := os.ReadFile("cgroup/testdata/v2-systemd-containerd.txt")
	if err != nil {
		t.Fatal(err)
	}
	directory = t.TempDir()
	if err := cgrouptest.Fill(directory, string(text), pods, 2); err != nil {
		t.Fatal(err)
	}
	for pod := range pods {
		for container := range 2 {
			all = append(all, selection.Container{
				PodUID: cgrouptest.Pod(pod), ID: cgrouptest.ID(pod, container),
				Namespace: "team-production", Pod: fmt.Sprintf("checkout-service-%08x-%05x", pod*7919, pod),
				Name: []string{"app", "istio-proxy"}[container],
			})
		}
	}
	return directory, all
}

func handlerOf(t testing.TB, directory string) *Handler {
	t.Helper()
	tree, err := cgroup.Open(cgroup.Config{Directory: directory})
	if err != nil {
		t.Fatal(err)
	}
	h, err := NewHandler(tree, logr.Discard())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		h.samples.mu.Lock()
		defer h.samples.mu.Unlock()
		for _, c := range h.samples.containers {
			if c.container != nil {
				_ = c.container.Close()
			}
		}
		if h.samples.idle != nil {
			h.samples.idle.Stop()
		}
		_ = tree.Close()
	})
	return h
}

// request is a request of a client.
func request(method, path string, body io.Reader) *http.Request {
	return httptest.NewRequestWithContext(context.Background(), method, path, body)
}

func post(h http.Handler, path string, wanted []selection.Container) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, request(http.MethodPost, path, bytes.NewReader(selection.Encode(wanted))))
	return w
}

func get(h http.Handler, path string, wanted []selection.Container) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	query := "?" + selection.Parameter + "=" + selection.Key(selection.Encode(wanted))
	h.ServeHTTP(w, request(http.MethodGet, path+query, http.NoBody))
	return w
}

// scope is the folder of a container of filled.
func scope(directory string, pod, container int) string {
	return filepath.Join(directory, "kubepods.slice", "kubepods-burstable.slice",
		"kubepods-burstable-pod"+strings.ReplaceAll(cgrouptest.Pod(pod), "-", "_")+".slice",
		"cri-containerd-"+cgrouptest.ID(pod, container)+".scope")
}

func setCPU(t testing.TB, directory string, pod, container int, micros int64) {
	t.Helper()
	text := fmt.Sprintf("usage_usec %d\nnr_periods 1\nnr_throttled 1\nthrottled_usec 5\n", micros)
	if err := os.WriteFile(filepath.Join(scope(directory, pod, container), "cpu.stat"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestPage: the page that a client gets.
func TestPage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		directory, all := filled(t, 1)
		began := time.Unix(946684000, 250e6)
		for container := range 2 {
			if err := os.Chtimes(scope(directory, 0, container), began, began); err != nil {
				t.Fatal(err)
			}
		}
		h := handlerOf(t, directory)
		unknown := selection.Container{PodUID: "u", ID: "1", Namespace: "shop", Pod: "gone", Name: "app"}
		got := post(h, selection.UsagePath, append(all, unknown)).Body.String()
		want := `# HELP container_cpu_usage_seconds_total [STABLE] Cumulative cpu time consumed by the container in core-seconds
# TYPE container_cpu_usage_seconds_total counter
container_cpu_usage_seconds_total{container="app",namespace="team-production",pod="checkout-service-00000000-00000"} 123.456789 946684800000
container_cpu_usage_seconds_total{container="istio-proxy",namespace="team-production",pod="checkout-service-00000000-00000"} 123.456789 946684800000
# HELP container_memory_working_set_bytes [STABLE] Current working set of the container in bytes
# TYPE container_memory_working_set_bytes gauge
container_memory_working_set_bytes{container="app",namespace="team-production",pod="checkout-service-00000000-00000"} 1.19545856e+08 946684800000
container_memory_working_set_bytes{container="istio-proxy",namespace="team-production",pod="checkout-service-00000000-00000"} 1.19545856e+08 946684800000
# HELP container_start_time_seconds [STABLE] Start time of the container since unix epoch in seconds
# TYPE container_start_time_seconds gauge
container_start_time_seconds{container="app",namespace="team-production",pod="checkout-service-00000000-00000"} 9.4668400025e+08
container_start_time_seconds{container="istio-proxy",namespace="team-production",pod="checkout-service-00000000-00000"} 9.4668400025e+08
# HELP resource_scrape_error [STABLE] 1 if there was an error while getting container metrics, 0 otherwise
# TYPE resource_scrape_error gauge
resource_scrape_error 0
`
		if got != want {
			t.Errorf("got\n%s\nwant\n%s", got, want)
		}
		got = post(h, selection.ContentionPath, all[:1]).Body.String()
		want = `# HELP container_cpu_cfs_periods_total Number of elapsed enforcement period intervals.
# TYPE container_cpu_cfs_periods_total counter
container_cpu_cfs_periods_total{container="app",namespace="team-production",pod="checkout-service-00000000-00000",id="ID"} 4711 946684800000
# HELP container_cpu_cfs_throttled_periods_total Number of throttled period intervals.
# TYPE container_cpu_cfs_throttled_periods_total counter
container_cpu_cfs_throttled_periods_total{container="app",namespace="team-production",pod="checkout-service-00000000-00000",id="ID"} 42 946684800000
# HELP container_cpu_cfs_throttled_seconds_total Total time duration the container has been throttled.
# TYPE container_cpu_cfs_throttled_seconds_total counter
container_cpu_cfs_throttled_seconds_total{container="app",namespace="team-production",pod="checkout-service-00000000-00000",id="ID"} 3.141592 946684800000
# HELP container_pressure_cpu_waiting_seconds_total Total time duration tasks in the container have waited due to CPU congestion.
# TYPE container_pressure_cpu_waiting_seconds_total counter
container_pressure_cpu_waiting_seconds_total{container="app",namespace="team-production",pod="checkout-service-00000000-00000",id="ID"} 0.271828 946684800000
`
		want = strings.ReplaceAll(want, `"ID"`, strconv.Quote(all[0].ID))
		if got != want {
			t.Errorf("got\n%s\nwant\n%s", got, want)
		}
	})
}

func pass(d time.Duration) {
	time.Sleep(d) //nolint:forbidigo // virtual time: what happens then is what is tested
	synctest.Wait()
}

// kubelet parses an agent's pages with the parser of kubelets.
type kubelet struct {
	h      http.Handler
	store  *rate.Store
	wanted []selection.Container
}

// scrape records a page, and checks the number of containers with fresh, same and restarted samples.
func (k *kubelet) scrape(t *testing.T, fresh, same, restarts int) {
	t.Helper()
	w := get(k.h, selection.UsagePath, k.wanted)
	if w.Code == http.StatusPreconditionFailed {
		w = post(k.h, selection.UsagePath, k.wanted)
	}
	round, err := k.store.Ingest("node-1", time.Now(), w.Body.Bytes())
	if err != nil || w.Code != http.StatusOK {
		t.Fatalf("%d: %v", w.Code, err)
	}
	if round.Fresh != fresh || round.Same != same || round.Restarts != restarts || round.Ignored+round.ClockJumps != 0 {
		t.Errorf("%+v", round)
	}
}

// usage returns the usage of the pod of a container.
func (k *kubelet) usage(c *selection.Container) []rate.ContainerUsage {
	found, _ := k.store.Usage(rate.Query{Node: "node-1", Namespace: c.Namespace, Pod: c.Pod, Window: 15 * time.Second,
		Now: time.Now()}, nil)
	return found
}

// TestAsKubelet parses the pages as those of kubelets: a rate over a quarter of a second, a container that restarts,
// and one that ends.
func TestAsKubelet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		directory, all := filled(t, 2)
		k := &kubelet{h: handlerOf(t, directory), store: rate.New(rate.Config{}), wanted: all[:3]}
		setCPU(t, directory, 0, 0, 1_000_000)
		k.scrape(t, 3, 0, 0)
		pass(250 * time.Millisecond)
		setCPU(t, directory, 0, 0, 1_500_000)
		k.scrape(t, 3, 0, 0)
		containers, want := k.usage(&all[0]), map[string]int64{"app": 2000, "istio-proxy": 0}
		if len(containers) != 2 {
			t.Fatalf("%+v", containers)
		}
		for i := range containers {
			if c := &containers[i]; !c.HasCPU || c.CPU.MilliCores() != want[c.Name] ||
				c.CPU.Span != 250*time.Millisecond || c.MemoryBytes != 119545856 {
				t.Errorf("%+v", c)
			}
		}
		// Sooner than useful, the sample is the same.
		pass(50 * time.Millisecond)
		setCPU(t, directory, 0, 0, 1_600_000)
		k.scrape(t, 0, 3, 0)
		// The container is started again: another ID, and less CPU.
		if err := os.Rename(scope(directory, 0, 0), scope(directory, 0, 7)); err != nil {
			t.Fatal(err)
		}
		k.wanted = slices.Clone(k.wanted)
		k.wanted[0].ID = cgrouptest.ID(0, 7)
		setCPU(t, directory, 0, 7, 1000)
		pass(200 * time.Millisecond)
		k.scrape(t, 3, 0, 1)
		// The other pod ends.
		if err := os.RemoveAll(filepath.Dir(scope(directory, 1, 0))); err != nil {
			t.Fatal(err)
		}
		k.wanted = k.wanted[:2]
		for range 2 {
			pass(250 * time.Millisecond)
			k.scrape(t, 2, 0, 0)
		}
		if left := k.usage(&all[2]); len(left) != 0 {
			t.Errorf("%+v is left", left)
		}
	})
}

func (s *samples) open() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	open := 0
	for _, c := range s.containers {
		if c.container != nil {
			open++
		}
	}
	return open
}

// TestIdle: without requests files are closed, and no timer runs.
func TestIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		directory, all := filled(t, 3)
		h := handlerOf(t, directory)
		post(h, selection.UsagePath, all)
		if open := h.samples.open(); open != 6 {
			t.Errorf("%d are open", open)
		}
		pass(8 * time.Second)
		get(h, selection.UsagePath, all)
		post(h, selection.UsagePath, all[:2])
		pass(6 * time.Second)
		get(h, selection.UsagePath, all[:2])
		pass(7 * time.Second)
		if open := h.samples.open(); open != 2 {
			t.Errorf("%d are open of the 2 that are asked for", open)
		}
		pass(20 * time.Second)
		h.samples.mu.Lock()
		defer h.samples.mu.Unlock()
		if len(h.samples.containers) != 0 || h.samples.idle != nil {
			t.Errorf("%d containers and a timer %v are left", len(h.samples.containers), h.samples.idle)
		}
	})
}

// TestAbsent: a container that starts later is found, and is not searched at each request.
func TestAbsent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		directory, all := filled(t, 1)
		away := filepath.Join(directory, "away")
		if err := os.Rename(scope(directory, 0, 1), away); err != nil {
			t.Fatal(err)
		}
		h := handlerOf(t, directory)
		count := func() int { return strings.Count(get(h, selection.UsagePath, all).Body.String(), "\n"+cpuFamily+"{") }
		post(h, selection.UsagePath, all)
		if n := count(); n != 1 {
			t.Errorf("%d containers", n)
		}
		if err := os.Rename(away, scope(directory, 0, 1)); err != nil {
			t.Fatal(err)
		}
		pass(searchGap / 2)
		if n := count(); n != 1 {
			t.Errorf("%d containers: it was looked for again too soon", n)
		}
		pass(searchGap / 2)
		if n := count(); n != 2 {
			t.Errorf("%d containers", n)
		}
	})
}

// TestNotAnswered: invalid requests.
func TestNotAnswered(t *testing.T) {
	directory, all := filled(t, 1)
	h := handlerOf(t, directory)
	for name, test := range map[string]struct {
		method, path, body string
		code               int
	}{
		"a key that is not known":  {http.MethodGet, selection.UsagePath + "?selection=abc", "", http.StatusPreconditionFailed},
		"no key":                   {http.MethodGet, selection.UsagePath, "", http.StatusPreconditionFailed},
		"another method":           {http.MethodDelete, selection.UsagePath, "", http.StatusMethodNotAllowed},
		"another path":             {http.MethodPost, "/metrics", "", http.StatusNotFound},
		"no selection":             {http.MethodPost, selection.UsagePath, "hello", http.StatusBadRequest},
		"a name that leads away":   {http.MethodPost, selection.UsagePath, "../.. abc shop web app\n", http.StatusBadRequest},
		"an ID that leads away":    {http.MethodPost, selection.UsagePath, "u ../../.. shop web app\n", http.StatusBadRequest},
		"a large selection":        {http.MethodPost, selection.UsagePath, strings.Repeat("x", 2<<20), http.StatusBadRequest},
		"many selected containers": {http.MethodPost, selection.UsagePath, strings.Repeat("u a b c d\n", 5000), http.StatusBadRequest},
	} {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, request(test.method, test.path, strings.NewReader(test.body)))
		if w.Code != test.code || strings.Contains(w.Body.String(), cpuFamily) {
			t.Errorf("%s: %d %.100s", name, w.Code, w.Body)
		}
	}
	// Of many selections the last one used stays.
	for i := range 3 * maxSelections {
		post(h, selection.UsagePath, append(all[:1:1], selection.Container{PodUID: "u", ID: fmt.Sprint(i), Namespace: "a",
			Pod: "b", Name: "c"}))
		if i%2 == 0 {
			post(h, selection.UsagePath, all)
		}
	}
	if len(h.selections) != maxSelections || get(h, selection.UsagePath, all).Code != http.StatusOK {
		t.Errorf("%d selections are remembered", len(h.selections))
	}
}

func TestCompressed(t *testing.T) {
	directory, all := filled(t, 10)
	h := handlerOf(t, directory)
	plain := post(h, selection.UsagePath, all).Body.String()
	r := request(http.MethodPost, selection.UsagePath, bytes.NewReader(selection.Encode(all)))
	r.Header.Set("Accept-Encoding", "gzip")
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	z, err := gzip.NewReader(w.Body)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(z)
	if err != nil || len(text) != len(plain) {
		t.Errorf("%d bytes rather than %d: %v", len(text), len(plain), err)
	}
}

// BenchmarkNode is a request for 110 pods of two containers, every file of them in a folder of this machine. CPU is
// read at each request, memory each second: the benchmark's requests follow each other at once, so it makes each
// request look a quarter of a second later.
func BenchmarkNode(b *testing.B) {
	directory, all := filled(b, 110)
	h := handlerOf(b, directory)
	post(h, selection.UsagePath, all)
	query := "?" + selection.Parameter + "=" + selection.Key(selection.Encode(all))
	r := request(http.MethodGet, selection.UsagePath+query, http.NoBody)
	r.Header.Set("Accept-Encoding", "gzip")
	var before, after syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &before); err != nil {
		b.Fatal(err)
	}
	n := 0
	for b.Loop() {
		for _, c := range h.samples.containers {
			c.last.cpuAt = c.last.cpuAt.Add(-250 * time.Millisecond)
			c.last.memoryAt = c.last.memoryAt.Add(-250 * time.Millisecond)
		}
		h.ServeHTTP(&discarded{header: http.Header{}}, r)
		n++
	}
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &after); err != nil {
		b.Fatal(err)
	}
	spent := time.Duration(after.Utime.Nano() + after.Stime.Nano() - before.Utime.Nano() - before.Stime.Nano())
	b.ReportMetric(spent.Seconds()/float64(n)*4*100, "%core@4/s")
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	b.ReportMetric(float64(memory.HeapAlloc)/(1<<20), "heap-MiB")
}

// discarded discards the response.
type discarded struct{ header http.Header }

// Header implements http.ResponseWriter.
func (d *discarded) Header() http.Header { return d.header }

// Write implements http.ResponseWriter.
func (d *discarded) Write(p []byte) (int, error) { return len(p), nil }

// WriteHeader implements http.ResponseWriter.
func (d *discarded) WriteHeader(int) {}

// TestMaxAnswerBytes: the clients' bound on a response has room for the longest names and numbers, and for no
// containers.
func TestMaxAnswerBytes(t *testing.T) {
	long := selection.Container{PodUID: strings.Repeat("u", 36), ID: strings.Repeat("c", 64),
		Namespace: strings.Repeat("n", 63), Pod: strings.Repeat("p", 253), Name: strings.Repeat("a", 63)}
	for _, count := range []int{0, 1, 500} {
		wanted := slices.Repeat([]selection.Container{long}, count)
		usages, stalled := make([]usage, count), make([]stalls, count)
		labels := make([]string, count)
		for i := range wanted {
			at := time.UnixMilli(253_402_300_799_999)
			labels[i] = labelsOf(&wanted[i])
			usages[i] = usage{cpuAt: at, memoryAt: at, began: at, cpuNanos: math.MaxInt64 - 1e3, memoryBytes: math.MaxInt64,
				hasCPU: true, hasMemory: true}
			stalled[i] = stalls{at: at, pressure: math.MaxInt64, hasThrottling: true, hasPressure: true,
				throttling: cgroup.Throttling{Periods: math.MaxInt64, Throttled: math.MaxInt64, Time: math.MaxInt64}}
		}
		limit := selection.Prepare(wanted).MaxAnswerBytes()
		var used, missed page
		used.usages(labels, usages)
		missed.stalls(&remembered{containers: wanted, labels: labels}, stalled)
		if len(used.text) > limit || len(missed.text) > limit {
			t.Errorf("%d containers: %d and %d bytes, at most %d", count, len(used.text), len(missed.text), limit)
		}
	}
}
