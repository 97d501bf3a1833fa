// Package vertical has the snapshots of VerticalPodAutoscalers: all inputs of a recommendation and of one pass of the
// updater.
package vertical

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	metricsv1 "k8s.io/metrics/pkg/apis/metrics/v1"
	metricsv1beta1 "k8s.io/metrics/pkg/apis/metrics/v1beta1"
	"k8s.io/utils/ptr"

	vpav1 "github.com/plimsoll-dev/plimsoll/api/autoscaling/v1"
	plimsollv1alpha1 "github.com/plimsoll-dev/plimsoll/api/plimsoll/v1alpha1"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/disruption"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/update"
	"github.com/plimsoll-dev/plimsoll/internal/snapshot"
)

// Step is one document of a stream about a VerticalPodAutoscaler: the inputs of the recommendation for its workload,
// and of one pass over its pods.
type Step struct {
	Snapshot *Snapshot
	Object   *vpav1.VerticalPodAutoscaler
	// Checkpoints may be those of other objects too.
	Checkpoints []*vpav1.VerticalPodAutoscalerCheckpoint
	// Pods are all that the workload's selector selects.
	Pods []*corev1.Pod
	// PodMetrics has the current usage of containers, for a resize.
	PodMetrics  []metricsv1beta1.PodMetrics
	Ranges      []*corev1.LimitRange
	Quotas      []*corev1.ResourceQuota
	Nodes       []*corev1.Node
	Budgets     []*policyv1.PodDisruptionBudget
	Horizontals []*autoscalingv2.HorizontalPodAutoscaler
	Workloads   []*plimsollv1alpha1.WorkloadAutoscaler
}

// Snapshot has all inputs that are not objects of the API, with the kind VerticalSnapshot. Its name is the
// VerticalPodAutoscaler's.
type Snapshot struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	// Time is the time of the decision.
	Time   time.Time `json:"time"`
	Target Target    `json:"target,omitzero"`
	// NoResize is true if the API server has no pods/resize.
	NoResize bool `json:"noResize,omitempty"`
	// Flags are the relevant flags of the recommender and the updater, by upstream's names; absent ones have their
	// defaults.
	Flags map[string]string `json:"flags,omitempty"`
	// Updater is the updater's history of the workload; absent if no updater could be reached. Explain then assumes one
	// that has just started.
	Updater *Updater `json:"updater,omitempty"`
	// UpdaterUnknown is the reason why it could not be reached.
	UpdaterUnknown string `json:"updaterUnknown,omitempty"`
}

// Target is the workload itself.
type Target struct {
	// Problem is the reason why its pods cannot be known; empty if they are.
	Problem  string `json:"problem,omitempty"`
	Replicas int    `json:"replicas,omitempty"`
}

// Updater is the updater's history after a pass.
type Updater struct {
	// Time is when the last pass over the workload began; zero before the first one.
	Time time.Time `json:"time,omitzero"`
	// Interval is the time between passes.
	Interval metav1.Duration `json:"interval"`
	// State is Plimsoll's complete state, as it saves it.
	State update.State `json:"state"`
	// Pods are the results of that pass.
	Pods []PodVerdict `json:"pods,omitempty"`
	// LeaseStale is true if passes are skipped because the admission controller does not renew its Lease.
	LeaseStale bool `json:"leaseStale,omitempty"`
	// Evictions and Resizes are the tokens left in the rate limits, which all workloads share.
	Evictions disruption.Bucket `json:"evictions,omitzero"`
	Resizes   disruption.Bucket `json:"resizes,omitzero"`
	// Requested has the total requests of all pods on a node, by its name.
	Requested map[string]vertical.Amounts `json:"requested,omitempty"`
	// KubeletRefusals has the refusals of nodes, by their names; absent for a kubelet that may resize any pod.
	KubeletRefusals map[string]KubeletRefusals `json:"kubeletRefusals,omitempty"`
	// Used has the usage of containers of pods that should be resized, by the pods' UIDs and the containers' names, as far
	// as it was known.
	Used map[string]map[string]vertical.Amounts `json:"used,omitempty"`
	// EvictionsStopped is the reason why that pass evicted nothing, whatever the state of the pods was: the state of the
	// whole cluster.
	EvictionsStopped string `json:"held,omitempty"`
	// EvictionsLeft is the number of pods of the whole cluster that the next pass may evict; nil is unlimited.
	EvictionsLeft *int `json:"evictionsLeft,omitempty"`
	// FailedCreate is true if a controller of the pods cannot create new ones.
	FailedCreate bool `json:"failedCreate,omitempty"`
}

// PodVerdict is the result of a pass for one pod.
type PodVerdict struct {
	Name string `json:"name"`
	UID  string `json:"uid"`
	// Action is the action taken; Reason is the reason for a change of the pod, BlockedBy the rule that prevented it.
	Action    string `json:"action"`
	Reason    string `json:"because,omitempty"`
	BlockedBy string `json:"against,omitempty"`
}

// DeepCopyObject makes a Snapshot one of the objects that a scheme can have.
func (s *Snapshot) DeepCopyObject() runtime.Object {
	c := *s
	s.ObjectMeta.DeepCopyInto(&c.ObjectMeta)
	c.Flags = maps.Clone(s.Flags)
	if s.Updater != nil {
		updater := *s.Updater
		updater.State = updater.State.Clone()
		updater.Pods = slices.Clone(updater.Pods)
		if left := updater.EvictionsLeft; left != nil {
			updater.EvictionsLeft = ptr.To(*left)
		}
		updater.Requested = maps.Clone(updater.Requested)
		updater.KubeletRefusals = maps.Clone(updater.KubeletRefusals)
		updater.Used = maps.Clone(updater.Used)
		for uid, used := range updater.Used {
			updater.Used[uid] = maps.Clone(used)
		}
		c.Updater = &updater
	}
	return &c
}

// Add implements [snapshot.Step].
func (s *Step) Add(item runtime.Object) error {
	switch item := item.(type) {
	case *Snapshot:
		return snapshot.SetOnce(&s.Snapshot, item)
	case *vpav1.VerticalPodAutoscaler:
		return snapshot.SetOnce(&s.Object, item)
	case *vpav1.VerticalPodAutoscalerCheckpoint:
		s.Checkpoints = append(s.Checkpoints, item)
	case *corev1.Pod:
		s.Pods = append(s.Pods, item)
	case *metricsv1beta1.PodMetrics:
		s.PodMetrics = append(s.PodMetrics, *item)
	case *corev1.LimitRange:
		s.Ranges = append(s.Ranges, item)
	case *corev1.ResourceQuota:
		s.Quotas = append(s.Quotas, item)
	case *corev1.Node:
		s.Nodes = append(s.Nodes, item)
	case *policyv1.PodDisruptionBudget:
		s.Budgets = append(s.Budgets, item)
	case *autoscalingv2.HorizontalPodAutoscaler:
		s.Horizontals = append(s.Horizontals, item)
	case *plimsollv1alpha1.WorkloadAutoscaler:
		s.Workloads = append(s.Workloads, item)
	default:
		return snapshot.ErrListInList
	}
	return nil
}

// Complete implements [snapshot.Step].
func (s *Step) Complete() error {
	switch {
	case s.Object == nil:
		return fmt.Errorf("items: no %s VerticalPodAutoscaler", vpav1.SchemeGroupVersion)
	case s.Snapshot == nil:
		return fmt.Errorf("items: no %s VerticalSnapshot", snapshot.GroupVersion)
	case s.Object.Name == "":
		return snapshot.Invalid("VerticalPodAutoscaler", "metadata.name: Required value")
	}
	if s.Object.Namespace == "" {
		s.Object.Namespace = corev1.NamespaceDefault
	}
	if s.Snapshot.Namespace == "" {
		s.Snapshot.Namespace = s.Object.Namespace
	}
	switch {
	case s.Snapshot.Name != s.Object.Name || s.Snapshot.Namespace != s.Object.Namespace:
		return snapshot.Invalid("VerticalSnapshot", "metadata: %s/%s is not the VerticalPodAutoscaler's name %s/%s",
			s.Snapshot.Namespace, s.Snapshot.Name, s.Object.Namespace, s.Object.Name)
	case s.Snapshot.Time.IsZero():
		return snapshot.Invalid("VerticalSnapshot", "time: Required value")
	case s.Snapshot.Target.Replicas < 0:
		return snapshot.Invalid("VerticalSnapshot", "target.replicas: %d, must not be negative", s.Snapshot.Target.Replicas)
	}
	if _, err := s.Settings(); err != nil {
		return snapshot.Invalid("VerticalSnapshot", "%v", err)
	}
	return s.checkUpdater()
}

func (s *Step) checkUpdater() error {
	u := s.Snapshot.Updater
	switch {
	case u == nil:
		return nil
	case u.Interval.Duration <= 0:
		return snapshot.Invalid("VerticalSnapshot", "updater.interval: %s, must be greater than 0", u.Interval.Duration)
	case u.Time.IsZero() && u.State.Version == 0: // before the first pass
		return nil
	case u.Time.IsZero():
		return snapshot.Invalid("VerticalSnapshot", "updater.time: Required value")
	case u.State.Version != update.StateVersion:
		return snapshot.Invalid("VerticalSnapshot", "updater.state.version: %d, this program knows %d", u.State.Version,
			update.StateVersion)
	}
	return nil
}

func (s *Step) objects() []runtime.Object {
	objects := []runtime.Object{s.Snapshot, s.Object}
	objects = appendAll(objects, s.Checkpoints)
	objects = appendAll(objects, s.Pods)
	for i := range s.PodMetrics {
		objects = append(objects, &s.PodMetrics[i])
	}
	objects = appendAll(objects, s.Ranges)
	objects = appendAll(objects, s.Quotas)
	objects = appendAll(objects, s.Nodes)
	objects = appendAll(objects, s.Budgets)
	objects = appendAll(objects, s.Horizontals)
	return appendAll(objects, s.Workloads)
}

func appendAll[T runtime.Object](to []runtime.Object, items []T) []runtime.Object {
	for _, item := range items {
		to = append(to, item)
	}
	return to
}

// Encode writes the step as a YAML document that [NewReader] reads.
func Encode(w io.Writer, s *Step) error { return snapshot.Encode(w, scheme, s.objects()) }

// Format is that of the snapshots of VerticalPodAutoscalers.
func Format() snapshot.Format {
	return snapshot.Format{Marks: []string{kind, "VerticalPodAutoscaler"}, Scheme: scheme,
		New: func() snapshot.Step { return &Step{} }}
}

// kind is the kind of a Snapshot in a file.
const kind = "VerticalSnapshot"

// scheme has the kinds that such a snapshot may contain, and no others.
var scheme = newScheme()

func newScheme() *runtime.Scheme {
	s := runtime.NewScheme()
	s.AddKnownTypeWithName(snapshot.GroupVersion.WithKind(kind), &Snapshot{})
	s.AddKnownTypes(vpav1.SchemeGroupVersion, &vpav1.VerticalPodAutoscaler{}, &vpav1.VerticalPodAutoscalerCheckpoint{})
	s.AddKnownTypes(corev1.SchemeGroupVersion, &corev1.List{}, &corev1.Pod{}, &corev1.LimitRange{},
		&corev1.ResourceQuota{}, &corev1.Node{})
	s.AddKnownTypes(policyv1.SchemeGroupVersion, &policyv1.PodDisruptionBudget{})
	s.AddKnownTypes(autoscalingv2.SchemeGroupVersion, &autoscalingv2.HorizontalPodAutoscaler{})
	s.AddKnownTypes(plimsollv1alpha1.SchemeGroupVersion, &plimsollv1alpha1.WorkloadAutoscaler{})
	s.AddKnownTypes(metricsv1beta1.SchemeGroupVersion, &metricsv1beta1.PodMetrics{})
	// v1 has the same fields. The first version is written.
	s.AddKnownTypes(metricsv1.SchemeGroupVersion, &metricsv1beta1.PodMetrics{})
	return s
}
