package workloads

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"

	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/disruption"
	observevertical "github.com/plimsoll-dev/plimsoll/internal/observe/vertical"
)

// caches has the caches that a pass reads beside pods and VerticalPodAutoscalers.
type caches struct {
	// counted has the kinds with a desired number of pods.
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

// replicas returns the desired number of pods of a controller. It is unset for kinds that Kubernetes does not count.
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

// failedCreate reports whether the API server refuses the pods of a controller.
func (l *caches) failedCreate(namespace, kind, name string) bool {
	informer, ok := l.counted[kind]
	if !ok {
		return false
	}
	// GetByKey of an informer's store returns no error.
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

func inNamespace[T any](informer cache.SharedIndexInformer, namespace string) []T {
	// Each informer of the factory has this index, whose function returns no error.
	objects, _ := informer.GetIndexer().ByIndex(cache.NamespaceIndex, namespace)
	all := make([]T, 0, len(objects))
	for _, object := range objects {
		if one, ok := object.(T); ok {
			all = append(all, one)
		}
	}
	return all
}
