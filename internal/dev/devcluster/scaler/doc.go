// Package scaler serves KEDA's gRPC protocol of external scalers for the development cluster. What
// it answers about an object is set while it runs, activity can be pushed, and [Faults] make it
// misbehave.
package scaler
