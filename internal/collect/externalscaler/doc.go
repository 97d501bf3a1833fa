// Package externalscaler reads metrics from servers of KEDA's gRPC protocol, which are called external scalers. They
// work unchanged: each interval it requests the scaler's values and its activity, as KEDA does, and the scaler's stream
// reports activity between two polls.
//
// A scaler is chosen by any author of a WorkloadAutoscaler, so it is taken to be hostile: the size and the number of
// its messages are bounded, and its text appears in no error.
package externalscaler
