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

// String is the kind as manifests have it.
func (k Kind) String() string {
	return [...]string{"HorizontalPodAutoscaler", "WorkloadAutoscaler", "VerticalPodAutoscaler"}[k]
}

// Key names one autoscaler. Objects of different kinds may have the same name.
type Key struct {
	types.NamespacedName
	Kind Kind
}

// HPA is the key of a HorizontalPodAutoscaler.
func HPA(namespace, name string) Key {
	return Key{NamespacedName: types.NamespacedName{Namespace: namespace, Name: name}}
}

// VPA is the key of a VerticalPodAutoscaler.
func VPA(name types.NamespacedName) Key {
	return Key{NamespacedName: name, Kind: VerticalPodAutoscaler}
}
