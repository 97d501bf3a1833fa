// Package vertical measures vertical autoscalers beside each other: upstream's recommender and updater, and Plimsoll's,
// one after the other on the same cluster of simulated nodes with the same crowd of workloads and the same history.
//
// Each is looked at twice. At rest, every pod requests what is recommended: what counts is how long a pass takes and
// how much is written to the API all the same. Then all objects ask for more at once, so that every workload has pods
// to change: what counts is how long the updater's pass takes, and how many pods it changes in a second. Nobody mutates
// new pods, so that those that come back request what those before them did, and every run meets the same world.
//
// Seconds, memory and counts of pods are what the processes say of themselves in upstream's series; writes are what the
// API server counted.
package vertical
