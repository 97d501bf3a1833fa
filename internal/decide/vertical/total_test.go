package vertical_test

import (
	"testing"

	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical"
)

// TestNodeRequests has a pod with a container that requests 300m and has 100m, a sidecar of 50m, an init container of
// 320m, and an overhead of 10m.
func TestNodeRequests(t *testing.T) {
	cpu := func(milli vertical.Amount) vertical.Resized {
		return vertical.Resized{Requests: vertical.Amounts{}.With(vertical.CPU, milli)}
	}
	for why, c := range map[string]struct {
		change func(*vertical.Pod)
		want   vertical.Amount
	}{
		"what is asked for":            {func(*vertical.Pod) {}, 360},
		"what it has, if that is more": {func(p *vertical.Pod) { p.Containers[0].Requests = cpu(400).Requests }, 460},
		"what it has, once the kubelet refused": {func(p *vertical.Pod) {
			p.Resize = vertical.ResizeInfeasible
		}, 330},
		"what it has, while the kubelet defers": {func(p *vertical.Pod) {
			p.Resize, p.InitContainers = vertical.ResizeDeferred, nil
		}, 110},
		"what is asked for, while the kubelet refuses an older change": {func(p *vertical.Pod) {
			p.Resize, p.Generation, p.ResizeGeneration = vertical.ResizeInfeasible, 3, 2
		}, 360},
		"an init container": {func(p *vertical.Pod) { p.InitContainers[0].Resized = cpu(500) }, 510},
		"the pod's own":     {func(p *vertical.Pod) { p.Whole = cpu(1000) }, 1010},
	} {
		pod := vertical.Pod{
			InitContainers: vertical.InitContainers{{Name: "migrate", Resized: cpu(320)},
				{Name: "mesh", Sidecar: true, Resized: cpu(50)}},
			Containers: []vertical.PodContainer{{Name: "web", Requests: cpu(100).Requests, Spec: cpu(300)}},
			Overhead:   cpu(10).Requests,
		}
		c.change(&pod)
		if got, _ := pod.NodeRequests().Get(vertical.CPU); got != c.want {
			t.Errorf("%s: %dm, want %dm", why, got, c.want)
		}
	}
}
