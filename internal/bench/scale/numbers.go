package scale

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// page is a /metrics page.
type page map[string]*dto.MetricFamily

// fetch reads the /metrics page of a process.
func fetch(ctx context.Context, client *http.Client, url string) (page, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return nil, fmt.Errorf("metrics: %w", err)
	}
	response, err := client.Do(request)
	if err != nil {
		return nil, fmt.Errorf("metrics: %w", err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("metrics: %s answers %s", url, response.Status)
	}
	return parse(response.Body)
}

func parse(text io.Reader) (page, error) {
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(text)
	if err != nil {
		return nil, fmt.Errorf("metrics: %w", err)
	}
	return families, nil
}

// sum adds up all series of a counter or gauge.
func (p page) sum(name string) float64 {
	total := 0.0
	for _, metric := range p[name].GetMetric() {
		total += value(metric)
	}
	return total
}

func value(metric *dto.Metric) float64 {
	switch {
	case metric.Counter != nil:
		return metric.Counter.GetValue()
	case metric.Gauge != nil:
		return metric.Gauge.GetValue()
	default:
		return metric.Untyped.GetValue()
	}
}

// process is what a Go program's page says of itself at one time.
type process struct {
	at         time.Time
	cpuSeconds float64
	// residentBytes is what the system counts, liveHeapBytes what the last collection left.
	residentBytes, liveHeapBytes float64
	// decisions is upstream's own count of them, which Plimsoll keeps too.
	decisions float64
}

// defaultGOGC is how much a heap may grow, in percent, before the next collection, unless the program says otherwise.
const defaultGOGC = 100

func (p page) process(at time.Time) process {
	growth := 1 + p.sum("go_gc_gogc_percent")/100
	if growth == 1 {
		growth = 1 + defaultGOGC/100
	}
	return process{
		at: at, cpuSeconds: p.sum("process_cpu_seconds_total"), residentBytes: p.sum("process_resident_memory_bytes"),
		liveHeapBytes: p.sum("go_memstats_next_gc_bytes") / growth,
		decisions:     p.sum("horizontal_pod_autoscaler_controller_reconciliations_total"),
	}
}

// requests are what an API server has answered.
type requests struct {
	verbs map[string]float64
	// statusWrites are those of HorizontalPodAutoscalers, scaleWrites those of any scale.
	statusWrites, scaleWrites float64
}

// requests counts what was asked about resources; health checks and the like are left out.
func (p page) requests() requests {
	r := requests{verbs: map[string]float64{}}
	for _, metric := range p["apiserver_request_total"].GetMetric() {
		labels := labelsOf(metric)
		if labels["resource"] == "" {
			continue
		}
		count := value(metric)
		verb := labels["verb"]
		r.verbs[verb] += count
		writes := verb == http.MethodPut || verb == http.MethodPatch || verb == "APPLY"
		switch {
		case writes && labels["resource"] == "horizontalpodautoscalers" && labels["subresource"] == "status":
			r.statusWrites += count
		case writes && labels["subresource"] == "scale":
			r.scaleWrites += count
		}
	}
	return r
}

func labelsOf(metric *dto.Metric) map[string]string {
	labels := make(map[string]string, len(metric.Label))
	for _, label := range metric.Label {
		labels[label.GetName()] = label.GetValue()
	}
	return labels
}

// since is what came in between two pages.
func (r requests) since(before requests) requests {
	difference := requests{
		verbs: map[string]float64{}, statusWrites: r.statusWrites - before.statusWrites, scaleWrites: r.scaleWrites - before.scaleWrites,
	}
	for verb, count := range r.verbs {
		difference.verbs[verb] = count - before.verbs[verb]
	}
	return difference
}
