// Package world is a workload and its pods under virtual time: the model of
// internal/workloadmodel with what a cluster adds to it. A pod that is asked for takes time to
// be placed, to run and to become ready; nodes may be few, and a new one takes
// minutes; a pod that is to go takes no more requests, finishes those that wait in it
// and is gone, at the latest after its grace period.
//
// Nothing here decides. Whoever does reads the counters of the pods and says how many
// there shall be.
package world
