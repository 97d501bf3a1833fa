// Package history tests on a real API server that what the controller has learnt of an autoscaler outlives it.
package history
