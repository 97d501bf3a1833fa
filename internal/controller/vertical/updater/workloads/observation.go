package workloads

import (
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/disruption"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/resize"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/update"
	observevertical "github.com/plimsoll-dev/plimsoll/internal/observe/vertical"
)

// Shared has the inputs that all workloads of a pass share, computed when first needed.
type Shared struct {
	nodes map[string]resize.Node
}

// Observation returns the input of the core.
func (f *Finder) Observation(w *Workload, shared *Shared) *update.Observation {
	o := &update.Observation{
		Past:          observevertical.PastOf(&w.VPA.Status),
		Recommended:   observevertical.RecommendationsOf(&w.VPA.Status),
		LittleHistory: observevertical.HasLittleHistory(&w.VPA.Status),
		Pods:          make([]vertical.Pod, len(w.Pods)),
		Ranges:        observevertical.RangesOf(inNamespace[*corev1.LimitRange](f.caches.ranges, w.VPA.Namespace)),
		Workload: disruption.Workload{
			Creators: map[string]disruption.Replicas{},
			Target:   f.caches.replicas(w.VPA.Namespace, w.Target.Kind, w.Target.Name),

			Terminating: w.Terminating,
		},
		Cluster: update.Cluster{
			Quotas: observevertical.QuotasOf(inNamespace[*corev1.ResourceQuota](f.caches.quotas, w.VPA.Namespace)),
		},
	}
	for i, pod := range w.Pods {
		o.Pods[i] = observevertical.Pod(pod)
	}
	for _, creator := range w.creators {
		parts := strings.SplitN(creator, "/", 3)
		o.Workload.Creators[parts[1]+"/"+parts[2]] = f.caches.replicas(parts[0], parts[1], parts[2])
		o.Workload.FailedCreate = o.Workload.FailedCreate || f.caches.failedCreate(parts[0], parts[1], parts[2])
	}
	if f.cfg.Conflicts != nil {
		o.Conflicts = f.cfg.Conflicts(w.VPA, containersOf(o.Pods))
	}
	if w.Policy.Mode.ResizesInPlace() {
		o.Cluster.Unsupported = f.cfg.Resizes != nil && !f.cfg.Resizes()
		o.Cluster.Nodes = f.nodes(shared)
	}
	return o
}

func containersOf(pods []vertical.Pod) []string {
	if len(pods) == 0 {
		return nil
	}
	names := make([]string, 0, len(pods[0].Containers))
	for i := range pods[0].Containers {
		names = append(names, pods[0].Containers[i].Name)
	}
	return names
}

// nodes returns all nodes, with the requests of their pods.
func (f *Finder) nodes(shared *Shared) map[string]resize.Node {
	if shared.nodes != nil {
		return shared.nodes
	}
	nodes := map[string]resize.Node{}
	for _, object := range f.caches.nodes.GetStore().List() {
		if node, ok := object.(*corev1.Node); ok {
			nodes[node.Name] = observevertical.NodeOf(node)
		}
	}
	for pod := range f.cfg.Pods.List().All() {
		if pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed {
			continue
		}
		if node, ok := nodes[pod.Spec.NodeName]; ok {
			requests := observevertical.RequestsOf(pod)
			for r := range vertical.Resource(vertical.Resources) {
				before, _ := node.Others.Get(r)
				more, _ := requests.Get(r)
				node.Others = node.Others.With(r, before+more)
			}
			observevertical.LearnRefusal(&node, pod)
			nodes[pod.Spec.NodeName] = node
		}
	}
	shared.nodes = nodes
	return nodes
}
