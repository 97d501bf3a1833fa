package scale

import (
	"net/http"
	"time"

	plimsollv1alpha1 "github.com/plimsoll-dev/plimsoll/api/plimsoll/v1alpha1"
	"github.com/plimsoll-dev/plimsoll/internal/dev/bench/exposition"
)

// page is a /metrics page.
type page struct{ exposition.Page }

// process has a Go program's own metrics at one time.
type process struct {
	at         time.Time
	cpuSeconds float64
	// residentBytes is from the system, liveHeapBytes from the last collection.
	residentBytes, liveHeapBytes float64
	// decisions is upstream's own count of them, which Plimsoll keeps too.
	decisions float64
	// readings counts Plimsoll's decisions on resource metrics, agentReadings those for which all samples were from
	// agents.
	readings, agentReadings float64
}

// defaultGOGC is the growth of a heap, in percent, before the next collection, unless the program sets another.
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

// requests counts the requests that an API server has served.
type requests struct {
	verbs map[string]float64
	// statusWrites are those of HPAs and WorkloadAutoscalers, scaleWrites those of any scale.
	statusWrites, scaleWrites float64
}

// requests counts requests for resources, without health checks and the like.
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

// since returns the requests between two pages.
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
