package horizontal

import (
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	plimsollv1alpha1 "github.com/plimsoll-dev/plimsoll/api/plimsoll/v1alpha1"
	"github.com/plimsoll-dev/plimsoll/internal/decide/condition"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric/source"
	"github.com/plimsoll-dev/plimsoll/internal/observe"
)

// Autoscaler is an object that sets its target's replica count, in the one form that the loop works with. The object is
// only read. Two are equal if they are the same state of the same object in the cache.
type Autoscaler struct {
	*metav1.ObjectMeta
	adapter
	// HPA is the object if it is an HPA, and Workload if it is a WorkloadAutoscaler. The other one is nil.
	HPA      *autoscalingv2.HorizontalPodAutoscaler
	Workload *plimsollv1alpha1.WorkloadAutoscaler
}

// adapter has the object's spec and status in one form for both kinds. Each kind has one. It shares the object's
// memory.
type adapter interface {
	Kind() observe.Kind
	// Object returns the API's object, for events.
	Object() runtime.Object
	// Target returns the reference to the target.
	Target() autoscalingv2.CrossVersionObjectReference
	// MinReplicas is the spec's; nil if it has none. MaxReplicas is the spec's.
	MinReplicas() *int32
	MaxReplicas() int32
	// NumMetrics is the number of metrics in the spec, and Metric returns the one at this index.
	NumMetrics() int
	Metric(i int) Metric
	// Counts returns those of the status.
	Counts() Counts
	// Condition returns the condition of a type in the status; one without a status if it is missing.
	Condition(kind string) condition.Condition

	// behavior is the spec's; nil if it has none. extras has the fields of the spec beyond those of an HPA.
	behavior() *autoscalingv2.HorizontalPodAutoscalerBehavior
	extras() *plimsollv1alpha1.WorkloadAutoscalerSpec
	// spec, metrics and status point to these parts of the object, to compare two objects of one kind. besides returns
	// settings of the object outside its spec.
	spec() any
	metrics() any
	status() any
	besides() string
	// conditions returns all but those that summarize others.
	conditions() []condition.Condition
	// typeOf returns the type of metric i of the spec.
	typeOf(i int) source.Type
	// numShown is the number of metrics in the status, and shown returns the one at this index.
	numShown() int
	shown(i int) MetricValue
}

// HPA is a HorizontalPodAutoscaler in that form.
func HPA(hpa *autoscalingv2.HorizontalPodAutoscaler) Autoscaler {
	return Autoscaler{ObjectMeta: &hpa.ObjectMeta, adapter: (*hpaAdapter)(hpa), HPA: hpa}
}

// WorkloadAutoscaler is a WorkloadAutoscaler in that form.
func WorkloadAutoscaler(wla *plimsollv1alpha1.WorkloadAutoscaler) Autoscaler {
	return Autoscaler{ObjectMeta: &wla.ObjectMeta, adapter: (*workloadAdapter)(wla), Workload: wla}
}

// Either returns the object that is not nil in that form.
func Either(hpa *autoscalingv2.HorizontalPodAutoscaler, wla *plimsollv1alpha1.WorkloadAutoscaler) Autoscaler {
	if wla != nil {
		return WorkloadAutoscaler(wla)
	}
	return HPA(hpa)
}

// IsWorkload reports whether the object is a WorkloadAutoscaler.
func (a Autoscaler) IsWorkload() bool { return a.Workload != nil }

// Key names the object.
func (a Autoscaler) Key() observe.Key {
	return observe.Key{NamespacedName: types.NamespacedName{Namespace: a.Namespace, Name: a.Name}, Kind: a.Kind()}
}

// SelectsByOwner reports whether only those of the selected pods count that the target owns.
func (a Autoscaler) SelectsByOwner() bool {
	return a.extras().SelectionStrategy == plimsollv1alpha1.SelectionStrategyOwnerReference
}

// IsPreview reports whether the object's mode is Preview, in which no decision is written.
func (a Autoscaler) IsPreview() bool { return a.extras().Mode == plimsollv1alpha1.ModePreview }

// longestMigration is the time after the last write to an object for which its mark of a migration counts: one that was
// interrupted leaves the mark.
const longestMigration = 15 * time.Minute

// IsMigrating reports whether plimsoll migrate replaces the object, or another autoscaler by it.
func (a Autoscaler) IsMigrating(now time.Time) bool {
	if _, isMarked := a.Annotations[plimsollv1alpha1.MigratingAnnotation]; !isMarked || !a.IsWorkload() {
		return false
	}
	last := a.CreationTimestamp.Time
	for i := range a.ManagedFields {
		if f := &a.ManagedFields[i]; f.Subresource == "" && f.Time != nil && f.Time.After(last) {
			last = f.Time.Time
		}
	}
	return now.Sub(last) < longestMigration
}

// SyncPeriod is the longest time between two decisions about the object: that in its spec, or else the controller's.
func (a Autoscaler) SyncPeriod(controllers time.Duration) time.Duration {
	if period := a.extras().SyncPeriodSeconds; period != nil {
		return seconds(*period)
	}
	return controllers
}

// HasSchedules reports whether the object's bounds depend on the time of day.
func (a Autoscaler) HasSchedules() bool { return len(a.extras().Schedules) > 0 }

// TargetName returns the target in the format of upstream's messages.
func (a Autoscaler) TargetName() string {
	ref := a.Target()
	return ref.Kind + "/" + a.Namespace + "/" + ref.Name
}

// IsOwn reports whether metric i of the object is one that Plimsoll reads itself.
func (a Autoscaler) IsOwn(i int) bool { return i < a.NumMetrics() && a.Metric(i).IsOwn }
