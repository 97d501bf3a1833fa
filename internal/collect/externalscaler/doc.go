// Package externalscaler reads metrics from servers of KEDA's gRPC protocol, which are called
// external scalers. They work unchanged: each interval the scaler is asked for its values and for
// whether it is active, as KEDA does, and its stream reports activity between two polls.
//
// A scaler is chosen by whoever may write a WorkloadAutoscaler, so it is taken to be hostile: the
// size and the number of what it sends are bounded, and its words appear in no message.
package externalscaler
