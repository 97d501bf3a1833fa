// Package scaling tests that Plimsoll scales every kind of target on a real API server, by every type of metric, with
// the status that Kubernetes' documentation describes.
package scaling
