// Package podusage has what the pods of autoscaled workloads use: it scrapes their nodes continuously, and serves usage
// from the samples.
//
// A [Service] scrapes nodes for all loops of a process. Each loop has a [Subscription] with its own nodes, pods and
// [Cadence]. A kubelet has all pods of its node: it is scraped once for all subscriptions, as often as the one needs it
// that needs it most often. An agent responds only for the containers that it is asked for, which costs it CPU for
// each: it is scraped for each subscription, for its own pods ([Subscription.Set]) as often as that needs them. To read
// ([Subscription.Latest]) subscribes to nothing.
//
// The usage is comparable with that of metrics-server: an average over about the last 15 s with the end and the length
// of what was measured, the newest memory, and nothing of a pod of which a container is not known yet. The average of a
// pod that has just become ready begins with that, as soon as it spans 5 s: decisions do not count a sample that
// reaches back to before.
//
// Package podload (internal/decide/horizontal/podload) decides what is made of the samples, and when
// [Subscription.Latest] falls back to metrics.k8s.io. A pod without samples on a node that is read is skipped: its
// kubelet does not report it either.
//
// Where permissions may be missing, Config.Access checks them at the start and each minute; without them nothing is
// scraped.
package podusage
