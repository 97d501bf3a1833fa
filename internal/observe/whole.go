package observe

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// Whole is the pod of the API, as far as vertical decisions use it.
type Whole interface {
	// Pod is not to be changed. It may be made for the caller, which costs some
	// allocations.
	Pod() *corev1.Pod
	UID() string
	// HasContainer reports whether the pod has a container of the name. Init containers,
	// sidecars among them, do not count.
	HasContainer(name string) bool
}

// WholeOf is a pod that is kept as it is.
func WholeOf(pod *corev1.Pod) Whole { return (*wholePod)(pod) }

type wholePod corev1.Pod

func (p *wholePod) Pod() *corev1.Pod { return (*corev1.Pod)(p) }
func (p *wholePod) UID() string      { return string(p.ObjectMeta.UID) }

func (p *wholePod) HasContainer(name string) bool { return HasContainer(p.Spec.Containers, name) }

// HasContainer reports whether one of the containers has the name.
func HasContainer(containers []corev1.Container, name string) bool {
	return slices.ContainsFunc(containers, func(c corev1.Container) bool { return c.Name == name })
}
