// Package rate turns the cumulative counters of the kubelets' /metrics/resource into rates, and keeps the samples for
// windows of some seconds.
//
// # Units and shapes
//
// A [Store] holds nodes by name, under each its pods by namespace and name, under each pod its containers. The node is
// part of the key: a pod that was deleted on one node and made again under its name on another is two pods here, and a
// kubelet cannot report about pods of other nodes. Counters are nanoseconds of CPU time, rates nanocores (nanoseconds
// of CPU time per second), memory bytes. Times of samples are the kubelet's, to the millisecond that the format has.
//
// # How a sample changes a history
//
// A container's samples form a history in which time and counter rise. A sample that would break it begins a new
// history, whose first rate comes with its second sample; a rate is therefore never negative, and never spans:
//
//   - a restart: the start time changed, to after the newest sample. A start time that only differs is none, as
//     runtimes may take it from the times of cgroup files, which change; nor is one that is only later, as on a node
//     whose clock was put back;
//   - a counter that fell;
//   - a clock that went backward, or forward by much more than the time between the two arrivals here, give or take the
//     period at which samples are renewed. Setting a clock by less than two seconds falsifies the one interval that it
//     is in;
//   - a gap of more than [LongestGap].
//
// Samples less than [ShortestGap] after the newest are the same instant: they are ignored, the history stays. A counter
// or a working set of 0 (which runtimes report before their first measurement), NaN, infinities, negative values, and
// times outside 1970 to 9999 count as missing. Missing is never zero: such a sample changes nothing. Impossible values,
// NaN, infinite or negative, are also reported as [Refused].
//
// A container that two rounds in a row do not have is forgotten, as is its pod with its last container. A scrape that
// fails or cannot be parsed changes nothing. A node has at most [MaxContainers] containers in the store; further ones
// are ignored, as are those that are not [Wanted].
package rate
