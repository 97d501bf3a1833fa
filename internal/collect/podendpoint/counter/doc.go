// Package counter keeps the history of a metric of one pod's page: the sum of its gauges, or the rate at which its
// counters grow. It is pure; the time is a parameter.
//
// # Counters
//
// A history holds the sum of the increments of all series. A series that is new, or whose value fell, adds nothing in
// that interval: the start of its count is unknown. A history restarts, and has a rate again with the second page,
// where the interval as a whole is unknown:
//
//   - a restart: the sum of the series that both pages have fell, or the pages have none in common;
//   - a gap of more than [LongestGap], or a time before the newest.
//
// A series that is gone changes nothing: a library may remove an unused one.
//
// # Steps
//
// Some pages change rarely: an SDK exports each minute, or a page is cached. Their counters grow in steps. Where they
// did not grow for some seconds and then did, the rate is averaged from one change to another, over the window or one
// step, if that is longer. The first step has no rate, because its length is unknown. A page that does not change for
// half a step longer than the last one took is no longer stepped, nor is one that changes twice in a row. An idle pod
// that gets load thus has its rate with the second page that shows it.
//
// # Timestamps
//
// A page has the time of its timestamps, if it has any, otherwise of its arrival. Callers decide how old it may be:
// [History.Confirmed] is the time at which a page was last read.
//
// # Pages that change nothing
//
// Pages less than [ShortestGap] after the newest are the same instant. A page with a value that is NaN, infinite or
// negative, or without the metric, is no sample. Missing is never zero, unless [Config] makes absent metrics zero. If a
// page has a series twice, the lower value counts.
package counter
