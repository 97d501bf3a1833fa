package observe

import "k8s.io/apimachinery/pkg/types"

// Kind is a kind of autoscaler.
type Kind uint8

// The kinds.
const (
	HorizontalPodAutoscaler Kind = iota
	WorkloadAutoscaler
	VerticalPodAutoscaler
)

// String returns the kind in the form of manifests.
func (k Kind) String() string {
	return [...]string{"HorizontalPodAutoscaler", "WorkloadAutoscaler", "VerticalPodAutoscaler"}[k]
}

// Resource returns the kind's plural, as in the paths of the API.
func (k Kind) Resource() string {
	return [...]string{"horizontalpodautoscalers", "workloadautoscalers", "verticalpodautoscalers"}[k]
}

// Key names one autoscaler. Objects of different kinds may have the same name.
type Key struct {
	types.NamespacedName
	Kind Kind
}

// HPA returns the key of a HorizontalPodAutoscaler.
func HPA(namespace, name string) Key {
	return Key{NamespacedName: types.NamespacedName{Namespace: namespace, Name: name}}
}

// WLA returns the key of a WorkloadAutoscaler.
func WLA(namespace, name string) Key {
	return Key{NamespacedName: types.NamespacedName{Namespace: namespace, Name: name}, Kind: WorkloadAutoscaler}
}

// VPA returns the key of a VerticalPodAutoscaler.
func VPA(name types.NamespacedName) Key {
	return Key{NamespacedName: name, Kind: VerticalPodAutoscaler}
}
