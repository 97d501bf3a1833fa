// Package v1 is the API of vertical pod autoscaling, autoscaling.k8s.io/v1, as
// people already have it in their clusters: the same fields in JSON, the same
// validation, the same short names. The comments are what kubectl explain shows.
//
// +kubebuilder:object:generate=true
// +groupName=autoscaling.k8s.io
package v1
