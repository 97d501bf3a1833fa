package horizontal

import (
	"k8s.io/client-go/tools/cache"

	"github.com/plimsoll-dev/plimsoll/internal/observe"
)

// podsHandler feeds the index of pods, and measures those that become ready.
func (c *Controller) podsHandler() cache.ResourceEventHandler {
	return podsFeed{c.pods.Handler(c.podsChanged()), c}
}

type podsFeed struct {
	cache.ResourceEventHandler
	controller *Controller
}

// OnUpdate implements cache.ResourceEventHandler.
func (f podsFeed) OnUpdate(before, after any) {
	f.ResourceEventHandler.OnUpdate(before, after)
	old, ok := before.(*observe.Pod)
	pod, alsoOK := after.(*observe.Pod)
	if ok && alsoOK && observe.BecameReady(old, pod) {
		f.controller.series.Startup.Ready(pod, f.controller.pods.Of(pod.Namespace(), pod.Name))
	}
}
