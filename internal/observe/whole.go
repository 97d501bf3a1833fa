package observe

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// Whole is the pod of the API with the fields that vertical decisions use.
type Whole interface {
	// Pod must not be changed. It may be allocated for each call.
	Pod() *corev1.Pod
	UID() string
	// HasContainer reports whether the pod has a container of the name. Init containers, sidecars among them, do not
	// count.
	HasContainer(name string) bool
}

// WholeOf returns a pod that is kept unchanged.
func WholeOf(pod *corev1.Pod) Whole { return (*wholePod)(pod) }

type wholePod corev1.Pod

func (p *wholePod) Pod() *corev1.Pod { return (*corev1.Pod)(p) }
func (p *wholePod) UID() string      { return string(p.ObjectMeta.UID) }

func (p *wholePod) HasContainer(name string) bool { return HasContainer(p.Spec.Containers, name) }

// HasContainer reports whether one of the containers has the name.
func HasContainer(containers []corev1.Container, name string) bool {
	return slices.ContainsFunc(containers, func(c corev1.Container) bool { return c.Name == name })
}
