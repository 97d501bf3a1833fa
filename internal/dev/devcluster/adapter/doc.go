// Package adapter serves custom.metrics.k8s.io (v1beta1, v1beta2) and external.metrics.k8s.io (v1beta1) for the
// development cluster, from the same workload model that the simulated kubelets report. It is an aggregated API
// server built on sigs.k8s.io/custom-metrics-apiserver, with delegated authentication and authorization, so that
// requests go the way that they go in production.
//
// The metrics:
//
//	Pods      http_requests_per_second   per pod: what the pod served over the last step of the model; labels: service
//	Object    requests_per_second        on a Service: what it is offered, served or not; labels: service, namespace
//	Object    requests_per_second        on a Namespace: the sum over its Services
//	External  queue_length               per Service of the namespace: requests that wait in its pods, and for its first
//	                                     pod; labels: service, namespace
//
// A pod counts what it answers and a load balancer counts what arrives, as in production; so the two differ under
// overload, and only the Object and External metrics exist for a Service at zero pods. A metric selector is
// matched against the labels; no selector matches everything.
//
// [Faults] make metrics misbehave for tests of bad input.
package adapter
