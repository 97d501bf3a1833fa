// Package kubelet serves the metrics endpoints of simulated kubelets: for each node of the development cluster one
// HTTPS listener with the kubelet's own /metrics/resource, /stats/summary and /healthz, so that metrics-server, and
// other scrapers of kubelets, work unchanged.
//
// The usage comes from a [Source] as the kubelet's own Summary type; like in the kubelet, /metrics/resource is made
// from the Summary, so that both agree. Names, help texts and types are those of Kubernetes 1.37
// (pkg/kubelet/metrics/collectors); scrape_error, deprecated since 1.29, is hidden there and left out here.
//
// [Faults] make nodes and pods misbehave for tests of bad input.
package kubelet
