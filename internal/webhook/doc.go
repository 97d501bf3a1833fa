// Package webhook is the admission server: it gives new pods their recommended requests, and validates
// VerticalPodAutoscalers.
//
// It makes no calls while a request waits: everything is read from caches. On any failure the pod is admitted
// unchanged, and counted. A [Guard] bounds the cost of requests from strangers, and a [CacheMatcher] finds the
// VerticalPodAutoscaler of a pod. The background work of the server (certificates, the webhook configuration, the Lease
// that the updater reads) is in the package upkeep.
package webhook
