// Package sources tests, on a real API server, metrics that the controller reads itself: which addresses it connects to
// for them, and who gets credentials; and how external scalers take targets from zero and back.
//
// What the author of a WorkloadAutoscaler tries to reach without permission is refused with a condition that says why,
// and no connection is opened.
package sources
