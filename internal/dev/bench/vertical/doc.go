// Package vertical measures vertical autoscalers: upstream's recommender and updater, and Plimsoll's, one after the
// other on the same cluster of simulated nodes with the same workloads and the same history.
//
// Each is measured twice. At rest, every pod requests what is recommended: the results are the duration of a pass
// and the number of writes to the API. Then all VPAs recommend more at once, so that every workload has pods to
// change: the results are the duration of the updater's pass and the pods that it changes per second. No admission
// controller changes new pods, so replacements request what the pods before them did, and every run has the same
// conditions.
//
// Durations, memory and numbers of pods come from upstream's metrics, which both expose; writes are those that the
// API server counted.
package vertical
