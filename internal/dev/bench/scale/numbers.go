package scale

import (
	"net/http"
	"time"

	plimsollv1alpha1 "github.com/plimsoll-dev/plimsoll/api/plimsoll/v1alpha1"
	"github.com/plimsoll-dev/plimsoll/internal/dev/bench/exposition"
)

// page is a /metrics page.
type page struct{ exposition.Page }

// process is what a Go program's page says of itself at one time.
type process struct {
	at         time.Time
	cpuSeconds float64
	// residentBytes is what the system counts, liveHeapBytes what the last collection left.
	residentBytes, liveHeapBytes float64
	// decisions is upstream's own count of them, which Plimsoll keeps too.
	decisions float64
	// readings counts Plimsoll's decisions on resource metrics, agentReadings those for which all samples were from
	// agents.
	readings, agentReadings float64
}

// defaultGOGC is how much a heap may grow, in percent, before the next collection, unless the program says otherwise.
const defaultGOGC = 100

func (p page) process(at time.Time) process {
	growth := 1 + p.Sum("go_gc_gogc_percent")/100
	if growth == 1 {
		growth = 1 + defaultGOGC/100
	}
	n := process{
		at: at, cpuSeconds: p.Sum("process_cpu_seconds_total"), residentBytes: p.Sum("process_resident_memory_bytes"),
		liveHeapBytes: p.Sum("go_memstats_next_gc_bytes") / growth,
		decisions:     p.Sum("horizontal_pod_autoscaler_controller_reconciliations_total"),
	}
	p.Each("plimsoll_resource_readings_total", func(labels map[string]string, count float64) {
		n.readings += count
		if labels["source"] == "agent" {
			n.agentReadings += count
		}
	})
	return n
}

// requests are what an API server has answered.
type requests struct {
	verbs map[string]float64
	// statusWrites are those of HPAs and WorkloadAutoscalers, scaleWrites those of any scale.
	statusWrites, scaleWrites float64
}

// requests counts what was asked about resources; health checks and the like are left out.
func (p page) requests() requests {
	r := requests{verbs: map[string]float64{}}
	p.Each("apiserver_request_total", func(labels map[string]string, count float64) {
		if labels["resource"] == "" {
			return
		}
		verb := labels["verb"]
		r.verbs[verb] += count
		isAutoscaler := labels["resource"] == "horizontalpodautoscalers" ||
			labels["resource"] == plimsollv1alpha1.WorkloadAutoscalers
		writes := verb == http.MethodPut || verb == http.MethodPatch || verb == "APPLY"
		switch {
		case writes && isAutoscaler && labels["subresource"] == "status":
			r.statusWrites += count
		case writes && labels["subresource"] == "scale":
			r.scaleWrites += count
		}
	})
	return r
}

// since is what came in between two pages.
func (r requests) since(before requests) requests {
	difference := requests{
		verbs: map[string]float64{}, statusWrites: r.statusWrites - before.statusWrites,
		scaleWrites: r.scaleWrites - before.scaleWrites,
	}
	for verb, count := range r.verbs {
		difference.verbs[verb] = count - before.verbs[verb]
	}
	return difference
}
