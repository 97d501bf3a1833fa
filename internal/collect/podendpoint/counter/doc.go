// Package counter remembers a metric of one pod's page: the sum of its gauges, or the rate
// at which its counters grow. It is pure; the time is a parameter.
//
// # Counters
//
// What is remembered is the sum of the increments of all series. A series that is new, or
// whose value fell, adds nothing in that interval: since when it counts is not known. A
// history begins anew, and has a rate again with the second page, where nothing can be said
// of the interval as a whole:
//
//   - a restart: the series that both pages have fell as a whole, or the pages have none in
//     common;
//   - a gap of more than [LongestGap], or a time before the newest.
//
// A series that is gone changes nothing: a library may remove one that is not used.
//
// # Steps
//
// Some pages change rarely: an SDK exports each minute, or a page is cached. Their counters
// grow in steps. Where they did not grow for some seconds and then did, the rate is averaged
// from one change to another, over the window or one step, if that is longer. The first step
// has no rate: what it is of is not known. A page that does not change for half a step longer
// than the last one took is not stepped any more, nor one that changes twice in a row. An
// idle pod that gets load thus has its rate with the second page that shows it.
//
// # Timestamps
//
// A page is of the time that it says, if it says one, otherwise of when it was read. How old it may be is for the
// caller to say: [History.Confirmed] is when a page was last read.
//
// # Pages that change nothing
//
// Pages less than [ShortestGap] after the newest are the same instant. A page with a value
// that is NaN, infinite or negative, or without the metric, is no sample. Missing is never
// zero, unless [Config] says so of absent metrics. Of a series that a page has twice, the
// lower value counts.
package counter
