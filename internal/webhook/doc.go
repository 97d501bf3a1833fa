// Package webhook is the admission server: it gives new pods their recommended
// requests, and validates VerticalPodAutoscalers.
//
// It makes no calls while a request waits: everything is read from caches. On any
// failure the pod is admitted unchanged, and counted. A [Guard] bounds what strangers can make it do, and a
// [CacheMatcher] finds the VerticalPodAutoscaler of a pod. What belongs to the server
// but to no request (certificates, the webhook configuration, the Lease that the
// updater reads) is in the package upkeep.
package webhook
