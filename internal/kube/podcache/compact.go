package podcache

import (
	"time"
	"unique"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric"
	"github.com/plimsoll-dev/plimsoll/internal/observe"
)

// compact is a slim pod in a tenth of the memory: parts that pods have in common are held once, and fields that observe
// keeps anyway are taken from there. The pod of the API is made from it when it is read.
type compact struct {
	observed *observe.Pod
	template *template
	uid      string
	// kind has few values in a cluster.
	kind        unique.Handle[kind]
	annotations observe.Labels
	generation  int64
	deleted     *metav1.Time
	// rare holds the fields that most pods lack.
	rare *rare
}

// kind has the fields that the pods of one owner have in common beside their template.
type kind struct {
	isOwned                    bool
	apiVersion, owner, ownedBy string
	ownerUID                   types.UID
	phase                      corev1.PodPhase
	qos                        corev1.PodQOSClass
}

// rare has the progress of a resize, the container statuses that are kept, and the reason of an eviction.
type rare struct {
	conditions      []corev1.PodCondition
	statuses        []corev1.ContainerStatus
	reason, message string
}

var _ observe.Whole = (*compact)(nil)

// compactOf makes it from a slim pod, and from observe's form of the original pod.
func compactOf(p *corev1.Pod, observed *observe.Pod) *compact {
	k := kind{phase: p.Status.Phase, qos: p.Status.QOSClass}
	for _, o := range p.OwnerReferences {
		k.isOwned, k.apiVersion, k.owner, k.ownedBy, k.ownerUID = true, o.APIVersion, o.Kind, o.Name, o.UID
	}
	c := &compact{
		observed: observed, template: templateOf(p), uid: string(p.UID), kind: unique.Make(k),
		annotations: observe.LabelsOf(p.Annotations),
		generation:  p.Generation, deleted: p.DeletionTimestamp,
	}
	var others []corev1.PodCondition
	for i := range p.Status.Conditions {
		if condition := &p.Status.Conditions[i]; condition.Type != corev1.PodReady {
			others = append(others, *condition)
		}
	}
	if len(others)+len(p.Status.ContainerStatuses) > 0 || p.Status.Reason != "" {
		c.rare = &rare{others, p.Status.ContainerStatuses, p.Status.Reason, p.Status.Message}
	}
	return c
}

// UID implements observe.Whole.
func (c *compact) UID() string { return c.uid }

// HasContainer implements observe.Whole.
func (c *compact) HasContainer(name string) bool {
	return observe.HasContainer(c.template.containers, name)
}

// Pod implements observe.Whole. It returns the slim pod without the reason and the message of its readiness.
func (c *compact) Pod() *corev1.Pod {
	o, k := c.observed, c.kind.Value()
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: o.Namespace(), Name: o.Name, UID: types.UID(c.uid), ResourceVersion: o.ResourceVersion,
			Generation:        c.generation,
			DeletionTimestamp: c.deleted, Labels: o.Labels().Map(), Annotations: c.annotations.Map(),
		},
		Spec: corev1.PodSpec{
			Containers: c.template.containers, InitContainers: c.template.initContainers, Resources: c.template.resources,
			Overhead: c.template.overhead, NodeName: o.Node(), Priority: c.template.priority,
		},
		Status: corev1.PodStatus{Phase: k.phase, QOSClass: k.qos, StartTime: timeOf(o.StartTime)},
	}
	if o.Created != 0 {
		p.CreationTimestamp = metav1.Unix(0, o.Created)
	}
	if k.isOwned {
		p.OwnerReferences = []metav1.OwnerReference{
			{APIVersion: k.apiVersion, Kind: k.owner, Name: k.ownedBy, UID: k.ownerUID, Controller: &isController},
		}
	}
	if status, has := readiness[o.Ready]; has {
		p.Status.Conditions = []corev1.PodCondition{
			{Type: corev1.PodReady, Status: status, LastTransitionTime: metav1.NewTime(o.ReadyTransition)},
		}
	}
	if c.rare != nil {
		p.Status.Conditions = append(p.Status.Conditions, c.rare.conditions...)
		p.Status.ContainerStatuses = c.rare.statuses
		p.Status.Reason, p.Status.Message = c.rare.reason, c.rare.message
	}
	return p
}

// isController must not be changed.
var isController = true

var readiness = map[metric.Readiness]corev1.ConditionStatus{
	metric.ReadyTrue: corev1.ConditionTrue, metric.ReadyFalse: corev1.ConditionFalse,
	metric.ReadyUnknown: corev1.ConditionUnknown,
}

func timeOf(t time.Time) *metav1.Time {
	if t.IsZero() {
		return nil
	}
	at := metav1.NewTime(t)
	return &at
}
