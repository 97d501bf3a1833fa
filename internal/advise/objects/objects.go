// Package objects is the input of plimsoll advise: autoscalers, the workloads that
// they scale, and related objects, from files or from a cluster, with the
// references between them.
package objects

import (
	"slices"
	"strings"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	vpav1 "github.com/plimsoll-dev/plimsoll/api/autoscaling/v1"
	plimsollv1alpha1 "github.com/plimsoll-dev/plimsoll/api/plimsoll/v1alpha1"
	"github.com/plimsoll-dev/plimsoll/internal/advise/containerusage"
	"github.com/plimsoll-dev/plimsoll/internal/observe"
	"github.com/plimsoll-dev/plimsoll/internal/scaledobject"
)

// IgnoreAnnotation names the rules that are not reported for an object, separated
// by commas.
const IgnoreAnnotation = "plimsoll.dev/ignore"

// Kinds of objects.
const (
	HPA         = "HorizontalPodAutoscaler"
	WLA         = "WorkloadAutoscaler"
	VPA         = "VerticalPodAutoscaler"
	Deployment  = "Deployment"
	StatefulSet = "StatefulSet"
	DaemonSet   = "DaemonSet"
	ReplicaSet  = "ReplicaSet"
	Job         = "Job"
	CronJob     = "CronJob"
	PDB         = "PodDisruptionBudget"
	Pod         = "Pod"
	Node        = "Node"
	LimitRange  = "LimitRange"
	// Rollout is Argo's: a Deployment with other strategies.
	Rollout = "Rollout"
	// ScaledObject is KEDA's: it makes an HPA.
	ScaledObject = scaledobject.Kind
)

// Place is where in a file an object stands. That of an object of a cluster is empty.
type Place struct {
	File     string
	Document int
	// Line is the first of the document.
	Line int
	// IsWholeFile says that the document is the only one of a file that has a path.
	IsWholeFile bool
	// source is the document's text; nil where it is not known.
	source *source
}

// Object is what all of them have.
type Object struct {
	APIVersion, Kind, Namespace, Name string
	Place                             Place
	// Raw is the object as it was read, which a patch must fit.
	Raw map[string]any
	// Meta is the object's own.
	Meta *metav1.ObjectMeta
	// hasNoNamespace says that the manifest names no namespace: kubectl apply -n chooses it.
	hasNoNamespace bool
	// IsUnserved is set if it was written in a version that is no longer served.
	IsUnserved bool
	// unknown are the fields that its kind does not have.
	unknown []string
}

// Key identifies an object.
func (o *Object) Key() string {
	return o.Kind + " " + o.Namespace + "/" + o.Name + " " + observe.GroupKey(o.APIVersion)
}

// NamedNamespace is the namespace that the object itself names; empty if its manifest names none.
func (o *Object) NamedNamespace() string {
	if o.hasNoNamespace {
		return ""
	}
	return o.Namespace
}

// Ignores reports whether the object's annotation names the rule.
func (o *Object) Ignores(rule string) bool {
	if o.Meta == nil {
		return false
	}
	for name := range strings.SplitSeq(o.Meta.Annotations[IgnoreAnnotation], ",") {
		if strings.TrimSpace(name) == rule {
			return true
		}
	}
	return false
}

// Horizontal is a HorizontalPodAutoscaler or a WorkloadAutoscaler.
type Horizontal struct {
	Object
	Spec   *autoscalingv2.HorizontalPodAutoscalerSpec
	Status *autoscalingv2.HorizontalPodAutoscalerStatus
	// IsV1 says that it was written in a version whose metrics have other fields.
	IsV1 bool
	// Workload is the spec of a WorkloadAutoscaler, of which Spec is a translation then; nil for an HPA.
	Workload *plimsollv1alpha1.WorkloadAutoscalerSpec
	// IsScaledObject says that KEDA makes the HPA of this spec, and itself scales between zero and one.
	IsScaledObject bool
	// Scaled is the spec of a ScaledObject; nil for others.
	Scaled *scaledobject.Spec
}

// MinReplicas is the lower bound; the API server's default is 1.
func (h *Horizontal) MinReplicas() int32 {
	if h.Spec.MinReplicas == nil {
		return 1
	}
	return *h.Spec.MinReplicas
}

// Budget is a PodDisruptionBudget.
type Budget struct {
	Object
	Spec     *policyv1.PodDisruptionBudgetSpec
	Selector labels.Selector
}

// Running is a pod that runs or ran.
type Running struct {
	Object
	Pod *corev1.Pod
}

// Machine is a node.
type Machine struct {
	Object
	Allocatable corev1.ResourceList
}

// Range is a LimitRange.
type Range struct {
	Object
	Limits []corev1.LimitRangeItem
}

// Vertical is a VerticalPodAutoscaler.
type Vertical struct {
	Object
	Spec   *vpav1.VerticalPodAutoscalerSpec
	Status *vpav1.VerticalPodAutoscalerStatus
}

// Collection has all objects that are checked together.
type Collection struct {
	Horizontals []*Horizontal
	Verticals   []*Vertical
	Workloads   []*Workload
	Budgets     []*Budget
	Pods        []*Running
	Nodes       []*Machine
	Ranges      []*Range
	// Others are autoscalers of kinds whose settings are not read.
	Others []*Other
	// Objects is how many were read, also of kinds that do not matter here.
	Objects int
	// IsCluster says that it is a cluster's content. Files may leave out what is elsewhere.
	IsCluster bool
	// ClusterFlags are those by which commands name the cluster.
	ClusterFlags []string
	// Unread are the kinds that could not be read, and why.
	Unread map[string]string
	// Usage is what containers used; nil if nothing is known of it.
	Usage *containerusage.Samples
	// Loads are the past loads of autoscalers, by namespace/name; nil if nothing is known of any.
	Loads map[string]*Load
	// Now is when a cluster was read. It is zero for files.
	Now time.Time
	// Repeated are objects that stand in several places. The last of them counts.
	Repeated []Repeated
	// Unreadable is what could not be read; the rest was.
	Unreadable []Unreadable
	// Removed are objects of versions or kinds that no API server serves.
	Removed []Removed
	// Served says what a cluster has of the kinds that autoscalers refer to, by API version and kind; nil for files.
	Served map[string]Service

	// comparisons counts how often one object was compared with another: it must not grow
	// faster than the objects.
	comparisons int
	// at is where each object is in the list of its kind.
	at    map[string]position
	index *index
}

// position is where an object is in the list of its kind, and in which file.
type position struct {
	index      int
	place      Place
	isUnserved bool
}

// Repeated is an object that stands in a second place.
type Repeated struct {
	Object *Object
	Before Place
	// IsPart says that it is a part of the whole one before, which counts.
	IsPart bool
}

// Service is what a cluster has of a kind.
type Service struct{ IsServed, HasScale bool }

// Unreadable is a document, or an object in it, that could not be read.
type Unreadable struct {
	Object *Object
	// Field is what is wrong with it, as far as it is known.
	Field Field
	Why   string
	// IsWrongType says that the field holds what cannot be there, so that an API server refuses the object.
	IsWrongType bool
}

// Target is the workload that is referred to, and nil if it is not here.
func (c *Collection) Target(namespace, version, kind, name string) *Workload {
	return c.indexed().targets[referenceTo(namespace, version, kind, name)]
}

// TargetOfHorizontal is the workload that an HPA scales; nil if it is not here.
func (c *Collection) TargetOfHorizontal(h *Horizontal) *Workload {
	to := &h.Spec.ScaleTargetRef
	return c.indexed().resolve(&h.Object, to.APIVersion, to.Kind, to.Name)
}

// TargetOfVertical is the workload that a VPA sizes; nil if it is not here.
func (c *Collection) TargetOfVertical(v *Vertical) *Workload {
	to := v.Spec.TargetRef
	if to == nil {
		return nil
	}
	return c.indexed().resolve(&v.Object, to.APIVersion, to.Kind, to.Name)
}

// TargetOfOther is the workload that another autoscaler changes; nil if it is not here.
func (c *Collection) TargetOfOther(o *Other) *Workload {
	version := o.TargetVersion
	for _, w := range c.Named(o.TargetName) {
		// Autoscalers of one kind alone need no version.
		if o.TargetVersion == "" && w.Namespace == o.Namespace && w.Kind == o.TargetKind {
			version = w.APIVersion
		}
	}
	return c.indexed().resolve(&o.Object, version, o.TargetKind, o.TargetName)
}

// HorizontalsOf are the HPAs of a workload.
func (c *Collection) HorizontalsOf(w *Workload) []*Horizontal {
	return c.indexed().horizontals[w]
}

// VerticalsOf are the VPAs of a workload that do not only recommend.
func (c *Collection) VerticalsOf(w *Workload) []*Vertical {
	var found []*Vertical
	for _, v := range c.indexed().verticals[w] {
		c.compared()
		if v.Mode() != vpav1.UpdateModeOff {
			found = append(found, v)
		}
	}
	return found
}

// References are what autoscalers refer to.
func (c *Collection) References() []autoscalingv2.CrossVersionObjectReference {
	var all []autoscalingv2.CrossVersionObjectReference
	for _, h := range c.Horizontals {
		all = append(all, h.Spec.ScaleTargetRef)
	}
	for _, v := range c.Verticals {
		if t := v.Spec.TargetRef; t != nil {
			all = append(all, autoscalingv2.CrossVersionObjectReference{APIVersion: t.APIVersion, Kind: t.Kind, Name: t.Name})
		}
	}
	return all
}

// BudgetsOf are the PodDisruptionBudgets that select a workload's pods.
func (c *Collection) BudgetsOf(w *Workload) []*Budget { return c.indexed().budgets[w] }

// IsAutoscaled reports whether any autoscaler changes the workload.
func (c *Collection) IsAutoscaled(w *Workload) bool {
	return len(c.HorizontalsOf(w)) > 0 || len(c.VerticalsOf(w)) > 0
}

// All are the objects that are examined.
func (c *Collection) All() []*Object {
	return slices.Concat(objectsOf(c.Horizontals), objectsOf(c.Verticals), objectsOf(c.Others), objectsOf(c.Workloads),
		objectsOf(c.Budgets), objectsOf(c.Pods), objectsOf(c.Nodes), objectsOf(c.Ranges))
}

// object is promoted to all types that embed an Object.
func (o *Object) object() *Object { return o }

func objectsOf[T interface{ object() *Object }](items []T) []*Object {
	all := make([]*Object, len(items))
	for i, item := range items {
		all[i] = item.object()
	}
	return all
}
