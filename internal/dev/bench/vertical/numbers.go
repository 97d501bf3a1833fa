package vertical

import (
	"net/http"
	"slices"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/dev/bench/exposition"
)

// spell is time that passes took, and how many they were.
type spell struct{ seconds, count float64 }

func (s spell) since(before spell) spell {
	return spell{s.seconds - before.seconds, s.count - before.count}
}

// mean is no number without passes.
func (s spell) mean() float64 { return s.seconds / s.count }

func (s *spell) add(page exposition.Page, series, step string) {
	seconds, count := page.Observed(series, "step", step)
	s.seconds, s.count = s.seconds+seconds, s.count+count
}

// own has the metrics of a subject's processes, summed up.
type own struct {
	at                            time.Time
	cpuSeconds                    float64
	residentBytes, anonymousBytes float64
	recommender, updater          spell
	computingSeconds              float64
	evicted, resized, failed      float64
	// telling is the number of objects without a condition for the reason yet, tellingSeconds the time to write all of
	// them, beside the passes. Upstream writes none.
	telling, tellingSeconds float64
}

// The steps of the updater's pass before the first pod is changed, upstream's and Plimsoll's. Upstream computes the
// order of each workload's pods later, as it acts on it.
func stepsBefore() []string {
	return []string{"ListVPAs", "ListPods", "FilterPods", "AdmissionInit", "Decide"}
}

func (o *own) add(page exposition.Page) {
	const recommender, updater = "vpa_recommender_execution_latency_seconds", "vpa_updater_execution_latency_seconds"
	o.cpuSeconds += page.Sum("process_cpu_seconds_total")
	o.residentBytes += page.Sum("process_resident_memory_bytes")
	o.recommender.add(page, recommender, "total")
	o.updater.add(page, updater, "total")
	for _, step := range stepsBefore() {
		seconds, _ := page.Observed(updater, "step", step)
		o.computingSeconds += seconds
	}
	seconds, _ := page.Observed(updater, "step", "WriteConditions")
	o.tellingSeconds += seconds
	o.telling += page.Sum("plimsoll_updater_conditions_waiting")
	o.evicted += page.Sum("vpa_updater_evicted_pods_total")
	o.resized += page.Sum("vpa_updater_in_place_updated_pods_total")
	o.failed += page.Sum("vpa_updater_failed_eviction_attempts_total") + page.Sum(
		"vpa_updater_failed_in_place_update_attempts_total")
}

func (o *own) acted() float64 { return o.evicted + o.resized }

// writes are the write requests that an API server has answered, by what they change. What an autoscaler has no part in
// is left out.
type writes map[string]float64

func writesOf(page exposition.Page) writes {
	w := writes{}
	page.Each("apiserver_request_total", func(labels map[string]string, count float64) {
		if kind := kindOf(labels); kind != "" {
			w[kind] += count
		}
	})
	return w
}

func kindOf(labels map[string]string) string {
	written := []string{http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, "APPLY"}
	if !slices.Contains(written, labels["verb"]) {
		return ""
	}
	part := labels["subresource"]
	switch {
	case labels["group"] == "autoscaling.k8s.io":
	case labels["resource"] == "events":
	case labels["resource"] == "pods" && (part == "eviction" || part == "resize"):
	default:
		return ""
	}
	if part == "" {
		return labels["resource"]
	}
	return labels["resource"] + "/" + part
}

// perMinute returns the number in between, by kind.
func (w writes) perMinute(before writes, passed time.Duration) map[string]float64 {
	rates := map[string]float64{}
	for kind, count := range w {
		if count > before[kind] {
			rates[kind] = (count - before[kind]) / passed.Minutes()
		}
	}
	return rates
}
