// Package podload turns what is known of the containers of a target's pods into what a decision uses of them. The
// controller and the simulator both call it, so that the same samples lead to the same decision in both.
//
// A [View] has, of each pod, the average CPU use over the stable window up to its newest sample, its last single
// intervals, its memory, and the average up to a moment at which samples of all pods are known. The last one says how
// the pods shared the load then: package metric uses it so that load which moves from one pod to another does not count
// twice.
//
// Missing is never zero. A pod of which a container is not known yet has no sample. A ready pod on a node that cannot
// be read has none either, and counts as one whose metrics are missing. [View.Look] fails if more than a tenth of the
// ready pods are such; the caller then asks metrics.k8s.io, and, if that fails too, may use the view where
// [View.IsUsable] says so. Look fails, too, if a ready pod is on a node that was read too little since its scraping
// began. A pod that has no samples on a node that is read is another matter: its kubelet does not know it either. So is
// one that has just started on a node that was not read before: as yet nobody else knows it.
package podload
