package observe

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// after is a time so many seconds after noon.
func after(seconds int) metav1.Time {
	return metav1.NewTime(noon.Add(time.Duration(seconds) * time.Second))
}

func condition(kind corev1.PodConditionType, status corev1.ConditionStatus, seconds int) corev1.PodCondition {
	return corev1.PodCondition{Type: kind, Status: status, LastTransitionTime: after(seconds)}
}

func running(seconds int) corev1.ContainerStatus {
	return corev1.ContainerStatus{State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: after(
		seconds)}}}
}

// started is a pod of two containers that was created 2 s after noon and is ready at 30 s.
func started(change func(*corev1.Pod)) *Pod {
	pod := podOf("web", "100m")
	pod.CreationTimestamp = after(2)
	pod.Status.Conditions = []corev1.PodCondition{
		condition(corev1.PodScheduled, corev1.ConditionTrue, 5),
		condition(corev1.PodReadyToStartContainers, corev1.ConditionTrue, 9),
		condition(corev1.PodInitialized, corev1.ConditionTrue, 11), condition(corev1.PodReady, corev1.ConditionTrue, 30),
	}
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{running(16), running(22)}
	change(pod)
	return PodOf(pod)
}

func TestSplitStartup(t *testing.T) {
	for reason, c := range map[string]struct {
		change func(*corev1.Pod)
		want   string
	}{
		"each part ends where the next begins": {
			func(*corev1.Pod) {}, "creation 2s, scheduling 3s, sandbox 4s, init 2s, image 11s, readiness 8s",
		},
		"without init containers their end comes first": {
			func(p *corev1.Pod) { p.Status.Conditions[2].LastTransitionTime = after(5) },
			"creation 2s, scheduling 3s, sandbox 4s, init 0s, image 13s, readiness 8s",
		},
		"a kubelet that does not report sandboxes": {
			func(p *corev1.Pod) { p.Status.Conditions[1].Status = corev1.ConditionFalse },
			"creation 2s, scheduling 3s, init 6s, image 11s, readiness 8s",
		},
		"a node whose clock is behind": {
			func(p *corev1.Pod) { p.Status.ContainerStatuses = []corev1.ContainerStatus{running(-7)} },
			"creation 2s, scheduling 3s, sandbox 4s, init 2s, image 0s, readiness 19s",
		},
	} {
		t.Run(reason, func(t *testing.T) {
			var parts []string
			// Statuses have whole seconds, writes have fractions.
			SplitStartup(started(c.change), noon.Add(600*time.Millisecond), func(part StartupPart, took time.Duration) {
				parts = append(parts, fmt.Sprint(part, " ", took))
			})
			if got := strings.Join(parts, ", "); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

func TestBecameReady(t *testing.T) {
	same := func(*corev1.Pod) {}
	unready := func(seconds int) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			p.Status.Conditions[3] = condition(corev1.PodReady, corev1.ConditionFalse, seconds)
		}
	}
	for reason, c := range map[string]struct {
		before, after func(*corev1.Pod)
		want          bool
	}{
		"for the first time":             {unready(5), same, true},
		"the status before was not seen": {func(p *corev1.Pod) { p.Status.Conditions = nil }, same, true},
		"again":                          {unready(25), same, false},
		"it was":                         {same, same, false},
		"it is not":                      {unready(5), unready(5), false},
		"another pod of its name":        {func(p *corev1.Pod) { unready(5)(p); p.UID = "other" }, same, false},
		"after its container was started anew": {unready(5),
			func(p *corev1.Pod) { p.Status.ContainerStatuses[0].RestartCount = 1 }, false},
		"a container that does not run": {unready(5),
			func(p *corev1.Pod) { p.Status.ContainerStatuses[1].State.Running = nil }, false},
	} {
		if got := BecameReady(started(c.before), started(c.after)); got != c.want {
			t.Errorf("%s: %t, want %t", reason, got, c.want)
		}
	}
}
