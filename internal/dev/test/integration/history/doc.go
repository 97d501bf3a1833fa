// Package history tests on a real API server that the learnt state of an autoscaler outlives the controller.
package history
