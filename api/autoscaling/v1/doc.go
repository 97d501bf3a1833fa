// Package v1 is the API of vertical pod autoscaling, autoscaling.k8s.io/v1, as clusters already have it: the same
// fields in JSON, the same validation, the same short names. kubectl explain shows the comments.
//
// +kubebuilder:object:generate=true
// +groupName=autoscaling.k8s.io
package v1
