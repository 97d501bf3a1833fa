// Package v1alpha1 is the API of Plimsoll's own objects, plimsoll.dev/v1alpha1. An HPA's
// spec can be pasted into a WorkloadAutoscaler: the fields that both have share names,
// defaults and validation. The comments are what kubectl explain shows.
//
// The API server evaluates the rules of a field also where its pattern does not match.
// A rule therefore parses a quantity only within the bounds of internal/quantity: of
// 1e999999999 it would compute a billion digits.
//
// +kubebuilder:object:generate=true
// +groupName=plimsoll.dev
package v1alpha1
