// Package recurring finds jumps of load that come at the same time of day, and the schedules that would have had pods
// ready for them.
//
// The history is played back with an autoscaler that follows the load: it asks for pods some seconds after the load
// changes, they are ready a start-up time later, and until then pods lack. Where pods lack at the same time of most
// days, a schedule with a minReplicas is fitted to the days but the last third. It is proposed if it helps on the days
// of that third, which it was not fitted to, for much less than it costs, and far more than the same schedule does at
// other times of the day: a load that is noisy all day long needs another target, not a schedule.
package recurring
