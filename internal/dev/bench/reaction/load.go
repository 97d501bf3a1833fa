package reaction

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"github.com/plimsoll-dev/plimsoll/internal/dev/bench/reaction/images"
)

// Load is what the workload is like.
type Load string

// The loads.
const (
	// Article is the article's: one container, which is ready as soon as it answers.
	Article Load = "article"
	// Sidecar has a second container in each pod, which is idle.
	Sidecar Load = "sidecar"
	// SlowReadiness has pods that are not ready before they have run for slowReadinessSeconds.
	SlowReadiness Load = "slow-readiness"
)

// slowReadinessSeconds is how long a slow program takes to be ready.
const slowReadinessSeconds = 10

// Set implements pflag.Value.
func (l *Load) Set(text string) error {
	switch load := Load(text); load {
	case Article, Sidecar, SlowReadiness:
		*l = load
		return nil
	}
	return fmt.Errorf("must be %s, %s or %s", Article, Sidecar, SlowReadiness)
}

// String implements pflag.Value.
func (l *Load) String() string { return string(*l) }

// Type implements pflag.Value.
func (l *Load) Type() string { return "string" }

// apply makes the article's pods those of the load.
func (l Load) apply(pod *corev1.PodSpec) {
	switch l {
	case Sidecar:
		// Nobody asks it for anything.
		pod.Containers = append(pod.Containers,
			corev1.Container{Name: "sidecar", Image: images.Exporter, ImagePullPolicy: corev1.PullNever})
	case SlowReadiness:
		pod.Containers[0].ReadinessProbe.InitialDelaySeconds = slowReadinessSeconds
	case Article:
	}
}
