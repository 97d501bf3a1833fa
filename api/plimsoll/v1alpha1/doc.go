// Package v1alpha1 is the API of Plimsoll's own objects, plimsoll.dev/v1alpha1. The fields that a WorkloadAutoscaler
// has in common with an HPA share names, defaults and validation. kubectl explain shows the comments.
//
// Absent, null and empty mean the same, except for structs whose presence has a meaning (behavior, scaleToZero,
// forecast, tlsConfig). Contradictory settings, and those without effect, are refused. Each metric has a name, which is
// required: with it the list is a map, whose elements server-side apply gives to different owners. The key of such a
// map must be in the object as it is applied, so it cannot be derived from the metric afterwards, and one default for
// all would permit a single metric without a name.
//
// The API server evaluates the rules of a field also where its pattern does not match. A rule therefore parses a
// quantity only within the bounds of internal/quantity: for 1e999999999 it would compute a billion digits.
//
// +kubebuilder:object:generate=true
// +groupName=plimsoll.dev
package v1alpha1
