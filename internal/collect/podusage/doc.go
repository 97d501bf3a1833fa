// Package podusage serves the usage of the pods of autoscaled workloads: it scrapes their nodes continuously, and
// computes usage from the samples.
//
// A [Service] scrapes nodes for all loops of a process. Each loop has a [Subscription] with its own nodes, pods and
// [Cadence]. A kubelet serves all pods of its node: it is scraped once for all subscriptions, at the shortest of their
// periods. An agent serves only the containers that a request selects, and each costs it CPU: it is scraped for each
// subscription, for the pods of [Subscription.Set] at that subscription's own period. Reading ([Subscription.Latest])
// subscribes to nothing.
//
// The usage is comparable with that of metrics-server: CPU is an average over about the last 15 s, with the measured
// window and its end; memory is the newest value; a pod with a container that has no sample yet has no usage. The
// average of a pod that has just become ready begins at its readiness, as soon as it spans 5 s: decisions ignore a
// sample that reaches back to before.
//
// Package podload (internal/decide/horizontal/podload) decides how usage follows from the samples, and when
// [Subscription.Latest] falls back to metrics.k8s.io. A pod without samples on a node that is read is skipped: its
// kubelet does not report it either.
//
// Where permissions may be missing, Config.Access checks them at the start and each minute; without them nothing is
// scraped.
package podusage
