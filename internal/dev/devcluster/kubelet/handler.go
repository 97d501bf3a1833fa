package kubelet

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	stats "k8s.io/kubelet/pkg/apis/stats/v1alpha1"
)

// handler serves one node.
func handler(node string, source Source, faults *Faults) http.Handler {
	summary := func() (*stats.Summary, error) {
		s, err := source.Summary(node)
		if err != nil {
			return nil, err
		}
		return faults.without(s), nil
	}
	registry := prometheus.NewRegistry()
	registry.MustRegister(resourceCollector{summary: summary, value: faults.value})

	mux := http.NewServeMux()
	mux.Handle("GET /metrics/resource",
		promhttp.HandlerFor(registry, promhttp.HandlerOpts{ErrorHandling: promhttp.ContinueOnError}))
	mux.HandleFunc("GET /stats/summary", func(w http.ResponseWriter, r *http.Request) { serveSummary(w, r, summary) })
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprint(w, "ok") })
	return mux
}

// serveSummary writes the Summary. The model has only CPU, memory and swap, so that only_cpu_and_memory changes
// nothing; a value that is not a boolean is refused as the kubelet does.
func serveSummary(w http.ResponseWriter, r *http.Request, summary func() (*stats.Summary, error)) {
	if text := r.URL.Query().Get("only_cpu_and_memory"); text != "" {
		if _, err := strconv.ParseBool(text); err != nil {
			http.Error(w, fmt.Sprintf("only_cpu_and_memory: %v", err), http.StatusBadRequest)
			return
		}
	}
	s, err := summary()
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(s) // fails only if the client went away
}
