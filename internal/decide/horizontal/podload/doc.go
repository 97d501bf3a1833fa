// Package podload turns the samples of a target's pods into the values that a decision uses. The controller and the
// simulator both call it, so that the same samples lead to the same decision in both.
//
// A [View] has, for each pod, the average CPU use over the stable window up to its newest sample, its last single
// intervals, its memory, and the average up to a moment at which samples of all pods are known. The last one shows how
// the pods shared the load then: package metric uses it so that load which moves from one pod to another does not count
// twice.
//
// Missing is never zero. A pod with a container that is unknown yet has no sample. A ready pod on a node that cannot be
// read has none either, and counts as one whose metrics are missing. [View.Look] fails if these are more than a tenth
// of the ready pods; the caller then falls back to metrics.k8s.io, and, if that fails too, may use the view if
// [View.IsUsable] permits it. Look also fails if a ready pod is on a node with too few scrapes so far. A pod without
// samples on a readable node is skipped: its kubelet does not report it either. So is a pod that has just started on a
// node that was not read before.
package podload
