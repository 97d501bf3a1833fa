package workloads

import (
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"

	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/disruption"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/resize"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/update"
	observevertical "github.com/plimsoll-dev/plimsoll/internal/observe/vertical"
)

// caches are the caches that a pass reads beside pods and VerticalPodAutoscalers.
type caches struct {
	// counted are those of the kinds that say how many pods there should be.
	counted map[string]cache.SharedIndexInformer
	ranges  cache.SharedIndexInformer
	quotas  cache.SharedIndexInformer
	nodes   cache.SharedIndexInformer
}

func newCaches(f informers.SharedInformerFactory) caches {
	l := caches{
		counted: map[string]cache.SharedIndexInformer{
			"Deployment": f.Apps().V1().Deployments().Informer(), "ReplicaSet": f.Apps().V1().ReplicaSets().Informer(),
			"StatefulSet": f.Apps().V1().StatefulSets().Informer(), "DaemonSet": f.Apps().V1().DaemonSets().Informer(),
			"ReplicationController": f.Core().V1().ReplicationControllers().Informer(),
		},
		ranges: f.Core().V1().LimitRanges().Informer(), quotas: f.Core().V1().ResourceQuotas().Informer(),
		nodes: f.Core().V1().Nodes().Informer(),
	}
	return l
}

func (l *caches) hasSynced() bool {
	for _, informer := range l.counted {
		if !informer.HasSynced() {
			return false
		}
	}
	return l.ranges.HasSynced() && l.quotas.HasSynced() && l.nodes.HasSynced()
}

// replicas is how many pods a controller should have. Kinds that Kubernetes does
// not count have none configured.
func (l *caches) replicas(namespace, kind, name string) disruption.Replicas {
	if kind == "Job" || kind == "CronJob" {
		return disruption.Replicas{AsFound: true}
	}
	informer, ok := l.counted[kind]
	if !ok {
		return disruption.Replicas{}
	}
	object, exists, err := informer.GetStore().GetByKey(namespace + "/" + name)
	if err != nil || !exists {
		return disruption.Replicas{Unknown: true}
	}
	configured := configured(object)
	replicas := disruption.Replicas{Configured: configured, Unknown: configured == 0}
	if set, ok := object.(*appsv1.DaemonSet); ok {
		replicas.MaxUnavailable, replicas.HasMaxUnavailable = observevertical.MaxUnavailableOf(set)
	}
	return replicas
}

// failedCreate reports a controller whose pods the API server refuses.
func (l *caches) failedCreate(namespace, kind, name string) bool {
	informer, ok := l.counted[kind]
	if !ok {
		return false
	}
	// A store's own keys can be asked for without errors.
	object, _, _ := informer.GetStore().GetByKey(namespace + "/" + name)
	return observevertical.FailedCreate(object)
}

func configured(object any) int {
	var replicas *int32
	switch o := object.(type) {
	case *appsv1.Deployment:
		replicas = o.Spec.Replicas
	case *appsv1.ReplicaSet:
		replicas = o.Spec.Replicas
	case *appsv1.StatefulSet:
		replicas = o.Spec.Replicas
	case *appsv1.DaemonSet:
		replicas = &o.Status.DesiredNumberScheduled
	case *corev1.ReplicationController:
		replicas = o.Spec.Replicas
	}
	if replicas == nil {
		return 0
	}
	return int(*replicas)
}

// Shared is what all workloads of a pass share, read when it is first needed.
type Shared struct {
	nodes map[string]resize.Node
}

// Observation is what the core looks at.
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

func inNamespace[T any](informer cache.SharedIndexInformer, namespace string) []T {
	// The index is there, and its function returns no error.
	objects, _ := informer.GetIndexer().ByIndex(cache.NamespaceIndex, namespace)
	all := make([]T, 0, len(objects))
	for _, object := range objects {
		if one, ok := object.(T); ok {
			all = append(all, one)
		}
	}
	return all
}

// nodes are all nodes, with what the pods on them request.
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
			nodes[pod.Spec.NodeName] = node
		}
	}
	shared.nodes = nodes
	return nodes
}
