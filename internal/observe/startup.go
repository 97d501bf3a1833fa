package observe

import (
	"math"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/startup"
)

// Startup has the times of the steps of a pod to readiness, from its status. It is small, as a cluster has many pods.
type Startup struct {
	// Scheduled: it has a node. Sandboxed: volumes, sandbox and network are there. Initialized: its init containers are
	// done. Running: the last of its containers runs, and none of them was restarted.
	Scheduled, Sandboxed, Initialized, Running Stamp
}

// Stamp is a time in seconds from 1970, as exact as statuses are; 0 if the status has none.
type Stamp uint32

func stampOf(at time.Time) Stamp {
	return Stamp(min(max(at.Unix(), 0), math.MaxUint32))
}

// startupOf takes the times from the pod's conditions and containers.
func startupOf(pod *corev1.Pod) (s Startup) {
	for i := range pod.Status.Conditions {
		c := &pod.Status.Conditions[i]
		if c.Status != corev1.ConditionTrue {
			continue
		}
		switch c.Type {
		case corev1.PodScheduled:
			s.Scheduled = stampOf(c.LastTransitionTime.Time)
		case corev1.PodReadyToStartContainers:
			s.Sandboxed = stampOf(c.LastTransitionTime.Time)
		case corev1.PodInitialized:
			s.Initialized = stampOf(c.LastTransitionTime.Time)
		}
	}
	for i := range pod.Status.ContainerStatuses {
		status := &pod.Status.ContainerStatuses[i]
		if status.State.Running == nil || status.RestartCount > 0 {
			s.Running = 0
			break
		}
		s.Running = max(s.Running, stampOf(status.State.Running.StartedAt.Time))
	}
	return s
}

// StartupPart is a part of the time from the write of a count to a ready pod.
type StartupPart uint8

// The parts, in their order.
const (
	// PartCreation ends when the pod is created, by the controller of the target.
	PartCreation StartupPart = iota
	// PartScheduling ends when it has a node.
	PartScheduling
	// PartSandbox ends when volumes, sandbox and network are there.
	PartSandbox
	// PartInit ends when the init containers are done.
	PartInit
	// PartImage ends when the last container runs. Statuses do not separate the pull of
	// its image from the container's own start.
	PartImage
	// PartReadiness ends when the pod is ready.
	PartReadiness
	startupParts
)

// StartupParts are all of them.
func StartupParts() []StartupPart {
	all := make([]StartupPart, startupParts)
	for i := range all {
		all[i] = StartupPart(i)
	}
	return all
}

// String implements fmt.Stringer.
func (p StartupPart) String() string {
	return [...]string{"creation", "scheduling", "sandbox", "init", "image", "readiness"}[p]
}

// BecameReady reports whether the pod is ready now and never was before, as far as its statuses show. For one whose
// containers were restarted this is unknown.
func BecameReady(before, after *Pod) bool {
	if before.IsReady() || !after.IsReady() || !before.IsSame(after) || after.Startup.Running == 0 {
		return false
	}
	// Kubelets report a pod as not ready before its containers run; for a pod that was ready in between, the transition is
	// later.
	return stampOf(before.ReadyTransition) <= after.Startup.Running
}

// SplitStartup yields the duration of each part of the start-up of a ready pod that a write of the replica count
// created. A part whose end is missing from the status is left out: its time counts to the next.
func SplitStartup(pod *Pod, written time.Time, yield func(part StartupPart, took time.Duration)) {
	s := &pod.Startup
	ends := [startupParts]Stamp{
		PartCreation: stampOf(time.Unix(0, pod.Created)), PartScheduling: s.Scheduled, PartSandbox: s.Sandboxed,
		PartInit:  s.Initialized,
		PartImage: s.Running, PartReadiness: stampOf(pod.ReadyTransition),
	}
	// Without init containers, kubelets report their end before the sandbox is there.
	last := stampOf(written)
	for i, end := range ends {
		if end == 0 {
			continue
		}
		// Clocks of nodes may differ.
		end = max(end, last)
		yield(StartupPart(i), time.Duration(end-last)*time.Second)
		last = end
	}
}

// StartUpOf returns the time of pods from their creation until they are ready, by the present pods; 0 if that is
// unknown. Pods with a restarted container do not count: they may have become ready again. From many pods it samples a
// few.
func StartUpOf(pods []*Pod, now time.Time) time.Duration {
	var times startup.Times
	for i, found := 0, 0; i < len(pods) && found < enoughStartUps; i++ {
		if p := pods[i]; p.Created != 0 && p.IsReady() && p.Startup.Running != 0 {
			times.Add(p.ReadyTransition, p.ReadyTransition.Sub(time.Unix(0, p.Created)))
			found++
		}
	}
	return times.Percentile90(now)
}

// enoughStartUps is the size of that sample.
const enoughStartUps = 20
