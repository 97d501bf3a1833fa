// Package load is the load that a simulation plays: a trace from a file, or a
// shape in words, and the requests that arrive under it.
//
// A load has units of its own: requests per minute, queries per second, CPUs. How
// many of them one pod serves is said elsewhere; here a load is a rate that changes
// with time. A trace's value holds from its timestamp until the next one; where
// timestamps are missing there is no load, as recorders leave empty steps out.
//
// [Arrivals] are the requests. Of each second they are drawn anew, a Poisson number
// around what the load asks for, in batches of as many as the burstiness says:
//
//	requests in a second = burstiness * Poisson(mean / burstiness)
//
// so that the variance is burstiness times the mean (the index of dispersion; Cox and
// Lewis, The Statistical Analysis of Series of Events, 1966). With a burstiness of 1
// they are independent users, with 0 there is no noise at all. They depend on the seed
// and the load alone, so that whatever is compared meets the same requests.
package load
