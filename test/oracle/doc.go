// Package oracle runs upstream's real HorizontalPodAutoscaler controller and
// Plimsoll's through the same random timelines, in virtual time, and compares
// what they do after each step. It is a module of its own, so that only it
// requires k8s.io/kubernetes.
//
// A Timeline is made while upstream runs, because pods follow the count that it
// sets, and is then replayed to Plimsoll exactly: the count at the
// beginning of each step is always the one that upstream had. Both controllers
// get a sync period of centuries; a step is decided because the object's
// generation moves, so both decide at the same nanosecond.
//
// A second comparison has the HPA's spec pasted into a WorkloadAutoscaler. Its policy and
// the core then decide each step of a timeline on what was observed and on what came of
// the writes; only what is about zero replicas may differ, and each such step is counted by its
// purpose.
package oracle
