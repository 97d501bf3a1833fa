// Package prometheushistory reads the usage of containers in the last days from a Prometheus server, for a recommender
// that starts without checkpoints.
//
// It sends three queries, each restricted to the relevant namespaces:
//
//	rate(container_cpu_usage_seconds_total{job="…", pod=~".+", container!="POD", container!="",
//	    namespace=~"…"}[resolution])
//	container_memory_working_set_bytes{the same}
//	up{job="kubernetes-pods", namespace=~"…"}[length]      for the pods' labels
//
// The first two are range queries over the history's length at its resolution. Values are CPU in thousandths of a core
// and memory in bytes. Metrics and labels have the names that the configuration gives; those of today's cAdvisor are
// the default. The queries are upstream's (pkg/recommender/input/history, v1.8.1), which sends them for the whole
// cluster at once.
//
// [Client.Load] reads the past load of one scale target instead, minute by minute and day by day, in pods at the target
// of its metric.
package prometheushistory
