// Package baseline has plain forecasts of a load, of the kinds that other autoscalers ship or that a user would try
// first. A forecast of Plimsoll's own must avoid more shortage than these, or the same for less.
//
// A forecast goes forward: each minute it gets the mean load of the minute that has ended, and returns the largest load
// that it expects within the minutes that begin then. It never has a load of the future. Loads are in pods at the
// target: the load relative to that of one pod at the target utilization.
package baseline
