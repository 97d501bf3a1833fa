// Package rate turns the cumulative counters of the kubelets' /metrics/resource
// into rates, and remembers what windows of some seconds need.
//
// # Units and shapes
//
// A [Store] holds nodes by name, under each its pods by namespace and name, under
// each pod its containers. The node is part of the key: a pod that was deleted on
// one node and made again under its name on another is two pods here, and a
// kubelet can say nothing about pods of other nodes. Counters are nanoseconds of
// CPU time, rates nanocores (nanoseconds of CPU time per second), memory bytes.
// Times of samples are the kubelet's, to the millisecond that the format has.
//
// # What a sample may do
//
// A container's samples form a history in which time and counter rise. A sample
// that would break it begins a new history, whose first rate comes with its
// second sample; a rate is therefore never negative, and never reaches across:
//
//   - a restart: the start time changed, to after the newest sample. That it
//     merely differs is none, as runtimes may take it from the times of cgroup
//     files, which change; nor that it is later, as on a node whose clock was put
//     back;
//   - a counter that fell;
//   - a clock that went backward, or on by much more than the time between the
//     two arrivals here, give or take how often samples are renewed. Setting a
//     clock by less than two seconds falsifies the one interval that it is in;
//   - a gap of more than [LongestGap].
//
// Samples less than [ShortestGap] after the newest are the same instant: they are
// left out, the history stays. Not measured, and so missing, are a counter or a
// working set of 0 (what runtimes report that have not looked yet), NaN,
// infinities, what is negative, and times outside 1970 to 9999. Missing is never
// zero: such a sample changes nothing. What cannot be, NaN, infinite or negative, is
// also told as [Refused].
//
// A container that two rounds in a row do not have is forgotten, as is its pod
// with its last container. A scrape that fails or cannot be read changes nothing.
// At most [MaxContainers] of a node are remembered; more are left out, as are those
// that are not [Wanted].
package rate
