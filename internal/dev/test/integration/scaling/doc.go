// Package scaling tests that Plimsoll scales on a real API server what can be scaled, by every type of metric, and
// shows it as Kubernetes' documentation says.
package scaling
