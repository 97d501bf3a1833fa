// Package world is a workload and its pods in virtual time: the model of
// internal/workloadmodel with what a cluster adds to it. A new pod takes time to be
// placed, to run and to become ready. Nodes may be few, and a new one takes
// minutes. A terminating pod accepts no requests, finishes its queued ones, takes
// some time to stop, and is gone after its grace period at the latest.
//
// Kubelets answer with the newest samples that their cAdvisor has taken of a pod's
// containers, by the clock of their node, or do not answer.
//
// Nothing here decides. A loop reads the counters of the pods and sets the replica
// count.
package world
