package telemetry

import (
	"bytes"
	"compress/gzip"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/dev/bench/scale/population"
)

// kubelet serves one node's /metrics/resource, in the text that kubelets write. What does not change between two
// answers is written once, so that a thousand such kubelets fit beside the program that scrapes them every second.
type kubelet struct {
	model  *model
	pods   []population.Place
	lines  []line
	buffer sync.Pool
	zipper sync.Pool
}

// line is a line of the answer. Those without a value are as they stand.
type line struct {
	text  []byte
	value func(k *kubelet, at time.Time, used []float64) float64
	// untimed lines have no timestamp.
	untimed bool
}

func newKubelet(m *model, node int) *kubelet {
	k := &kubelet{model: m, pods: m.Size.PodsOn(node)}
	k.buffer.New = func() any { return new(bytes.Buffer) }
	k.zipper.New = func() any {
		writer, _ := gzip.NewWriterLevel(nil, gzip.BestSpeed) // a known level
		return writer
	}
	k.lines = k.template()
	return k
}

// family is a metric of the kubelet.
type family struct {
	name, kind, help string
	// value of the pod by its place in kubelet.pods.
	value func(pod int) func(k *kubelet, at time.Time, used []float64) float64
	// container is true if there is a line for each container rather than for each pod.
	container bool
	untimed   bool
}

func (k *kubelet) families() []family {
	cpu := func(pod int) func(*kubelet, time.Time, []float64) float64 {
		return func(_ *kubelet, _ time.Time, used []float64) float64 { return used[pod] }
	}
	constant := func(value float64) func(int) func(*kubelet, time.Time, []float64) float64 {
		return func(int) func(*kubelet, time.Time, []float64) float64 {
			return func(*kubelet, time.Time, []float64) float64 { return value }
		}
	}
	start := float64(k.model.Began.UnixMilli()) / 1000
	return []family{
		{"container_cpu_usage_seconds_total", "counter",
			"[STABLE] Cumulative cpu time consumed by the container in core-seconds", cpu, true, false},
		{"container_memory_working_set_bytes", "gauge", "[STABLE] Current working set of the container in bytes",
			constant(MemoryBytes), true, false},
		{"container_start_time_seconds", "gauge", "[STABLE] Start time of the container since unix epoch in seconds",
			constant(start), true, true},
		{"container_swap_usage_bytes", "gauge", "[ALPHA] Current amount of the container swap usage in bytes. Reported " +
			"only on non-windows systems", constant(0), true, false},
		{"pod_cpu_usage_seconds_total", "counter", "[STABLE] Cumulative cpu time consumed by the pod in core-seconds", cpu,
			false, false},
		{"pod_memory_working_set_bytes", "gauge", "[STABLE] Current working set of the pod in bytes", constant(MemoryBytes),
			false, false},
		{"pod_swap_usage_bytes", "gauge", "[ALPHA] Current amount of the pod swap usage in bytes. Reported only on " +
			"non-windows systems", constant(0), false, false},
	}
}

// template is the answer in the kubelet's order, which is that of the families' names; the node's own come in between.
func (k *kubelet) template() []line {
	var lines []line
	families := k.families()
	for i := range families {
		if families[i].name == "pod_cpu_usage_seconds_total" {
			lines = append(lines, nodeLines()...)
		}
		lines = append(lines, k.familyLines(&families[i])...)
	}
	return append(lines, line{text: head("resource_scrape_error", "gauge",
		"[STABLE] 1 if there was an error while getting container metrics, 0 otherwise")},
		line{text: []byte("resource_scrape_error 0\n")})
}

func (k *kubelet) familyLines(f *family) []line {
	lines := []line{{text: head(f.name, f.kind, f.help)}}
	for i, place := range k.pods {
		labels := `namespace="` + k.model.Size.NamespaceOf(place.Object) + `",pod="` +
			population.PodName(place.Object, place.Pod) + `"`
		if f.container {
			labels = `container="` + population.Container + `",` + labels
		}
		lines = append(lines, line{text: []byte(f.name + "{" + labels + "} "), value: f.value(i), untimed: f.untimed})
	}
	return lines
}

// nodeLines are the node's own metrics: what its pods use.
func nodeLines() []line {
	sum := func(_ *kubelet, _ time.Time, used []float64) float64 {
		total := 0.0
		for _, u := range used {
			total += u
		}
		return total
	}
	memory := func(k *kubelet, _ time.Time, _ []float64) float64 { return float64(len(k.pods) * MemoryBytes) }
	return []line{
		{text: head("node_cpu_usage_seconds_total", "counter",
			"[STABLE] Cumulative cpu time consumed by the node in core-seconds")},
		{text: []byte("node_cpu_usage_seconds_total "), value: sum},
		{text: head("node_memory_working_set_bytes", "gauge", "[STABLE] Current working set of the node in bytes")},
		{text: []byte("node_memory_working_set_bytes "), value: memory},
		{text: head("node_swap_usage_bytes", "gauge",
			"[ALPHA] Current swap usage of the node in bytes. Reported only on non-windows systems")},
		{text: []byte("node_swap_usage_bytes "), value: func(*kubelet, time.Time, []float64) float64 { return 0 }},
	}
}

func head(name, kind, help string) []byte {
	return []byte("# HELP " + name + " " + help + "\n# TYPE " + name + " " + kind + "\n")
}

// append writes the answer as of a time.
func (k *kubelet) append(text []byte, at time.Time) []byte {
	used := make([]float64, len(k.pods))
	for i, place := range k.pods {
		used[i] = k.model.usedSeconds(place, at)
	}
	stamp := strconv.AppendInt([]byte{' '}, at.UnixMilli(), 10)
	for i := range k.lines {
		l := &k.lines[i]
		text = append(text, l.text...)
		if l.value == nil {
			continue
		}
		text = strconv.AppendFloat(text, l.value(k, at, used), 'g', -1, 64)
		if !l.untimed {
			text = append(text, stamp...)
		}
		text = append(text, '\n')
	}
	return text
}

// handler answers, and calls served with the time of the samples.
func (k *kubelet) handler(served func(time.Time)) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /metrics/resource", func(w http.ResponseWriter, r *http.Request) {
		at := time.Now()
		buffer, _ := k.buffer.Get().(*bytes.Buffer)
		defer k.buffer.Put(buffer)
		buffer.Reset()
		buffer.Write(k.append(buffer.AvailableBuffer(), at))
		w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8; escaping=underscores")
		if k.write(w, r, buffer.Bytes()) == nil {
			served(at)
		}
	})
	return mux
}

// write compresses for clients that accept it, as kubelets do, but at a lower level: their default takes twelve times
// as long, for a sixth less, and here all kubelets share the machine with their clients.
func (k *kubelet) write(w http.ResponseWriter, r *http.Request, text []byte) error {
	if !strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		_, err := w.Write(text)
		return err
	}
	w.Header().Set("Content-Encoding", "gzip")
	zipper, _ := k.zipper.Get().(*gzip.Writer)
	defer k.zipper.Put(zipper)
	zipper.Reset(w)
	if _, err := zipper.Write(text); err != nil {
		return err
	}
	return zipper.Close()
}
