// Package sources tests, on a real API server, which addresses the controller connects to for metrics that it reads
// itself, and who gets credentials. What the author of a WorkloadAutoscaler tries to reach without permission is
// refused with a condition that says why, and no connection is opened.
package sources
