// Package reaction measures how soon autoscalers react when load begins: the experiment of the article "Why is HPA
// scaling slow" (2021). Two replicas of nginx request 20m of CPU each, an HPA has a target of 20 % of that and
// allows 10 replicas, and `ab` loads them for 11 seconds. The clock starts with the load. It stops at the first
// write of the scale, when 10 replicas are desired, and when 10 are ready.
//
// Upstream's reaction depends on where the load begins within the periods of its sync and of metrics-server's
// scrapes. So each run begins at a random phase, and several runs are needed. Subjects run one after the other on
// the same control plane; each run has a new HPA on an idle workload.
//
// The experiment runs on a real node (internal/dev/realnode), where Plimsoll is a pod of its own image with the
// permissions of config/. Without root it runs on the simulated nodes of internal/dev/devcluster.
package reaction
