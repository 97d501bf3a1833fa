// Package v1alpha1 is the API of Plimsoll's own objects, plimsoll.dev/v1alpha1. The fields that a WorkloadAutoscaler
// has in common with an HPA share names, defaults and validation. kubectl explain shows the comments.
//
// Absent and null mean the same in each field, and so do an empty list, map or struct. Two structs are exceptions:
// behavior, as on an HPA, and scaleToZero, whose presence permits zero replicas. An empty text is refused, with a
// message that says so: where an absent text has a default, nobody should have to know whether an empty one has it too.
//
// A default of this API is stored in the object when it is created. kubectl get then shows what the object means, a
// release with another default does not change what objects do that exist, and may therefore have one. Where the
// default is that of a flag of the controller, nothing is stored: the flag is for all objects. Nor is something stored
// where the default depends on other fields: the numbers of a forecast may not be set beside the mode Off.
//
// The words of a status are no enumerations, as the reasons of conditions are none: a controller that is newer than the
// definition could not write its status otherwise.
//
// Contradictory settings, and those without effect, are refused. Each metric has a name, which is required: with it the
// list is a map, whose elements server-side apply gives to different owners. The key of such a map must be in the
// object as it is applied, so it cannot be derived from the metric afterwards, and one default for all would permit a
// single metric without a name.
//
// The API server evaluates the rules of a field also where its pattern does not match. A rule therefore parses a
// quantity only within the bounds of internal/quantity: for 1e999999999 it would compute a billion digits.
//
// +kubebuilder:object:generate=true
// +groupName=plimsoll.dev
package v1alpha1
