// Package load is the load that a simulation plays: a trace from a file, or a shape
// given as text, and the requests that arrive under it.
//
// A load has units of its own: requests per minute, queries per second, CPUs. How
// many of them one pod serves is set elsewhere; here a load is a rate that changes
// with time. A trace's value applies from its timestamp until the next one. Missing
// timestamps mean no load, because recorders leave out empty steps.
//
// [Arrivals] are the requests. Those of every second are drawn at random: a Poisson
// number around the load's rate, in batches as large as the burstiness:
//
//	requests in a second = burstiness * Poisson(mean / burstiness)
//
// so that the variance is burstiness times the mean (the index of dispersion; Cox
// and Lewis, The Statistical Analysis of Series of Events, 1966). A burstiness of 1
// means independent users, 0 no noise. The requests depend on the seed and the load
// alone, so that all settings that are compared get the same requests.
package load
