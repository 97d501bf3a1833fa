// Package webhook is the admission server: it gives new pods what is recommended
// for them, and says what is wrong with VerticalPodAutoscalers.
//
// Nothing in it calls anybody while a request waits: all that it asks are caches.
// Whatever goes wrong, the pod is admitted as it came, and counted. What belongs
// to the server but to no request (certificates, the configuration that the API
// server finds it by, the Lease that the updater reads) is in the package upkeep.
package webhook
