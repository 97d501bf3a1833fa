// Package observe converts the pods of the API to those of decisions, for both directions. observe/horizontal and
// observe/vertical convert everything else, each for one. They are pure: no client, no clock.
package observe

import (
	"cmp"
	"iter"
	"maps"
	"slices"
	"strings"
	"unique"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric"
)

// Pod is a pod of the API with the fields that decisions and the lookup of samples use. A cluster has many, and a
// decision reads all of its target's every second. So a pod is converted once, when it changes, and pods share the
// fields that they have in common. It must not be changed.
type Pod struct {
	metric.Pod
	ResourceVersion string
	// Created counts nanoseconds from 1970; 0 for a pod that never was.
	Created int64
	Startup Startup
	// Whole is the pod of the API, for vertical autoscaling; nil if that is off.
	Whole Whole
	// Running are the running containers; nil unless their IDs are needed.
	Running *Running
	// identity distinguishes a pod from another one of its name.
	identity        uint64
	namespace, node unique.Handle[string]
	labels          Labels
	requests        unique.Handle[requests]
	controller      unique.Handle[Controller]
	endpoint        endpoint
}

var _ metav1.ObjectMetaAccessor = (*Pod)(nil)

// PodOf translates a pod, which is only read.
func PodOf(pod *corev1.Pod) *Pod {
	p := &Pod{
		Pod: metric.Pod{
			Name: pod.Name, Phase: phaseOf(pod.Status.Phase), Deleting: pod.DeletionTimestamp != nil,
		},
		ResourceVersion: pod.ResourceVersion,
		identity:        hashOf(string(pod.UID)),
		namespace:       unique.Make(pod.Namespace),
		node:            unique.Make(pod.Spec.NodeName),
		labels:          LabelsOf(pod.Labels),
		requests:        requestsOf(pod),
		controller:      controllerOf(pod),
		endpoint:        endpointOf(pod),
		Startup:         startupOf(pod),
	}
	if !pod.CreationTimestamp.IsZero() {
		p.Created = pod.CreationTimestamp.UnixNano()
	}
	if pod.Status.StartTime != nil {
		p.StartTime = pod.Status.StartTime.Time
	}
	p.Revision = metric.RevisionOf(cmp.Or(pod.Labels[appsv1.DefaultDeploymentUniqueLabelKey],
		pod.Labels[appsv1.ControllerRevisionHashLabelKey]))
	if ready := readyCondition(pod); ready != nil {
		p.Ready, p.ReadyTransition = readinessOf(ready.Status), ready.LastTransitionTime.Time
	}
	return p
}

// PodsOf is PodOf of each.
func PodsOf(pods []*corev1.Pod) []*Pod {
	translated := make([]*Pod, len(pods))
	for i, pod := range pods {
		translated[i] = PodOf(pod)
	}
	return translated
}

// Namespace returns the pod's namespace.
func (p *Pod) Namespace() string { return p.namespace.Value() }

// Node returns the node on which the pod's containers run, or will run; empty before the pod is scheduled.
func (p *Pod) Node() string { return p.node.Value() }

// Labels returns the pod's labels.
func (p *Pod) Labels() Labels { return p.labels }

// IsSame reports whether the other is the same pod at another time, rather than another one of its name.
func (p *Pod) IsSame(other *Pod) bool { return p.identity == other.identity }

// Identity distinguishes the pod from others, also of the same name: it is a hash of its UID.
func (p *Pod) Identity() uint64 { return p.identity }

// IsReady reports whether the pod is ready.
func (p *Pod) IsReady() bool { return p.Ready == metric.ReadyTrue }

// GetObjectMeta implements metav1.ObjectMetaAccessor, for informers that cache pods
// in this form.
func (p *Pod) GetObjectMeta() metav1.Object {
	return &metav1.ObjectMeta{Namespace: p.Namespace(), Name: p.Name, ResourceVersion: p.ResourceVersion}
}

// API returns a pod of the API that converts to the same Pod, except for its UID, its controller, its start-up and its
// ports: the fields that can be exported.
func (p *Pod) API() *corev1.Pod {
	requests := p.requests.Value()
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: p.Namespace(), Name: p.Name, ResourceVersion: p.ResourceVersion, Labels: p.labels.Map(),
		},
		Status: corev1.PodStatus{Phase: phases[p.Phase]},
	}
	requests.into(pod)
	pod.Spec.NodeName = p.Node()
	if p.Created != 0 {
		pod.CreationTimestamp = metav1.Unix(0, p.Created)
	}
	if p.Deleting {
		// The time is not kept.
		at := metav1.Unix(0, max(p.Created, 1))
		pod.DeletionTimestamp = &at
	}
	if !p.StartTime.IsZero() {
		at := metav1.NewTime(p.StartTime)
		pod.Status.StartTime = &at
	}
	if status, has := readinesses[p.Ready]; has {
		pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: status,
			LastTransitionTime: metav1.NewTime(p.ReadyTransition)}}
	}
	return pod
}

var (
	phases = map[metric.Phase]corev1.PodPhase{
		metric.PhaseUnknown: corev1.PodUnknown, metric.PhasePending: corev1.PodPending,
		metric.PhaseRunning:   corev1.PodRunning,
		metric.PhaseSucceeded: corev1.PodSucceeded, metric.PhaseFailed: corev1.PodFailed,
	}
	readinesses = map[metric.Readiness]corev1.ConditionStatus{
		metric.ReadyTrue: corev1.ConditionTrue, metric.ReadyFalse: corev1.ConditionFalse,
		metric.ReadyUnknown: corev1.ConditionUnknown,
	}
)

// hashOf returns the FNV-1a hash of a text, without allocating a hash.Hash.
func hashOf(text string) uint64 {
	hash := uint64(14695981039346656037)
	for i := range len(text) {
		hash = (hash ^ uint64(text[i])) * 1099511628211
	}
	return hash
}

// Labels are the labels of an object. Equal ones are stored once.
type Labels struct{ text unique.Handle[string] }

var _ labels.Labels = Labels{}

// labelEnd follows each key and each value. No valid one contains it.
const labelEnd = "\x00"

// LabelsOf are these.
func LabelsOf(set map[string]string) Labels {
	var text strings.Builder
	for _, key := range slices.Sorted(maps.Keys(set)) {
		text.WriteString(key)
		text.WriteString(labelEnd)
		text.WriteString(set[key])
		text.WriteString(labelEnd)
	}
	return Labels{unique.Make(text.String())}
}

// All iterates over the keys with their values.
func (l Labels) All() iter.Seq2[string, string] {
	return func(yield func(string, string) bool) {
		for rest := l.text.Value(); rest != ""; {
			key, after, _ := strings.Cut(rest, labelEnd)
			value, more, _ := strings.Cut(after, labelEnd)
			if !yield(key, value) {
				return
			}
			rest = more
		}
	}
}

// Map returns a copy of the labels; nil if there are none.
func (l Labels) Map() map[string]string {
	if l.text.Value() == "" {
		return nil
	}
	return maps.Collect(l.All())
}

// Lookup implements labels.Labels.
func (l Labels) Lookup(label string) (value string, exists bool) {
	for k, v := range l.All() {
		if k == label {
			return v, true
		}
	}
	return "", false
}

// Has implements labels.Labels.
func (l Labels) Has(label string) bool {
	_, exists := l.Lookup(label)
	return exists
}

// Get implements labels.Labels.
func (l Labels) Get(label string) string {
	value, _ := l.Lookup(label)
	return value
}
