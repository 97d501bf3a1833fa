// Package sources tests, on a real API server, metrics that the controller reads itself: the addresses that it connects
// to, and the recipients of credentials; and how external scalers take targets from zero and back.
//
// Addresses that the author of a WorkloadAutoscaler may not use are refused with a condition with the reason, and no
// connection is opened.
package sources
