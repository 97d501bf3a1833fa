package horizontal

import (
	"maps"
	"slices"
	"strconv"
	"time"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	custommetricsv1beta2 "k8s.io/metrics/pkg/apis/custom_metrics/v1beta2"
	externalmetricsv1beta1 "k8s.io/metrics/pkg/apis/external_metrics/v1beta1"
	metricsv1beta1 "k8s.io/metrics/pkg/apis/metrics/v1beta1"

	plimsollv1alpha1 "github.com/plimsoll-dev/plimsoll/api/plimsoll/v1alpha1"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric/source"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/podselector"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/trigger"
	observehorizontal "github.com/plimsoll-dev/plimsoll/internal/observe/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/snapshot"
)

// Live has the inputs of a decision, without the responses of the metrics' sources, which are added to its step.
type Live struct {
	Autoscaler observehorizontal.Autoscaler
	// Scale is nil if it could not be read.
	Scale *autoscalingv1.Scale
	// Pods has the pods of Observation.
	Pods    []*corev1.Pod
	Options observehorizontal.Options
	// State and Observation are the inputs of the decision.
	State       *horizontal.State
	Observation *horizontal.Observation
	// LooksForConflicts is true if the controller checks for conflicts with vertical autoscalers.
	LooksForConflicts bool
}

// Of makes a step of a live decision, which Encode writes and Evaluate decides the same way. It shares the objects with
// l, which must not be changed, but not the state. The caller must set the step's time to that of the decision.
func Of(l *Live) *Step {
	o, state := l.Observation, l.State.Clone()
	hpa, workload := trimmed(&l.Autoscaler)
	step := &Step{
		Snapshot: &Snapshot{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: l.Autoscaler.Namespace, Name: l.Autoscaler.Name,
				Annotations: map[string]string{snapshot.DivergencesAnnotation: l.Options.Divergences.String()},
			},
			Options: OptionsOf(l.Options), State: &state, ScaleError: o.Target.Error,
		},
		HPA:      hpa,
		Workload: workload,
		Pods:     slices.Clone(l.Pods),
	}
	// A state that no decision has used yet has no version.
	state.Version = horizontal.StateVersion
	if o.Target.Selector.Problem == podselector.Ambiguous {
		step.Snapshot.AmbiguousSelector = o.Target.Selector.Message
	}
	if step.Snapshot.NewerAwaited = o.NewerAwaited; o.Trigger != trigger.Periodic {
		step.Snapshot.Trigger = o.Trigger.String()
	}
	step.Snapshot.Refusal = refusalOf(o.Refusal)
	if o.StartUp > 0 {
		step.Snapshot.StartUp = &metav1.Duration{Duration: o.StartUp}
	}
	if l.LooksForConflicts {
		message := o.Conflict.Message
		step.Snapshot.VerticalConflict = &message
	}
	if l.Scale != nil && o.Target.Error == "" {
		scale := *l.Scale
		// In shadow mode it is the count that the other controller started from.
		scale.Spec.Replicas = o.Target.SpecReplicas
		scale.ManagedFields = nil
		step.Scale = &scale
	}
	addSources(step, l.Autoscaler, o)
	return step
}

// trimmed returns the object without managedFields, which are unused and take the most room.
func trimmed(
	a *observehorizontal.Autoscaler,
) (*autoscalingv2.HorizontalPodAutoscaler, *plimsollv1alpha1.WorkloadAutoscaler) {
	if a.IsWorkload() {
		workload := *a.Workload
		workload.ManagedFields = nil
		return nil, &workload
	}
	hpa := *a.HPA
	hpa.ManagedFields = nil
	return &hpa, nil
}

// AddAnswer adds the response for metric i. A response for several metrics is added once.
func (s *Step) AddAnswer(i int, r *observehorizontal.Response) {
	switch {
	case r.Err != nil:
		s.AddError(i, r.Err.Error())
	case r.Resource != nil:
		if !slices.Contains(s.lists, r.Resource) {
			s.lists = append(s.lists, r.Resource)
			s.AddPodMetrics(r.Resource)
		}
	case r.External != nil:
		s.AddSeries(i, r.External)
	case r.Custom == nil:
	case s.Autoscaler().Metric(i).Type == source.Pods:
		s.AddPodValues(i, r.Custom)
	case len(r.Custom.Items) > 0:
		s.AddObjectValue(i, r.Custom.Items[0])
	}
}

// AddAsked records when metric i was requested, if it was.
func (s *Step) AddAsked(i int, at time.Time) {
	if !at.IsZero() {
		s.Snapshot.Asked = append(s.Snapshot.Asked, Asked{MetricIndex: i, Time: at.Round(0)})
	}
}

// AddError adds the error of metric i.
func (s *Step) AddError(i int, message string) {
	s.Snapshot.Errors = append(s.Snapshot.Errors, Error{MetricIndex: i, Message: message})
}

// AddPodMetrics adds a response of metrics.k8s.io, or of its replacement. Reading finds PodMetrics by their labels;
// those without labels get the requested ones.
func (s *Step) AddPodMetrics(list *metricsv1beta1.PodMetricsList) {
	_, selector := s.target()
	for _, m := range list.Items {
		m.Labels = selected(m.Labels, selector)
		s.PodMetrics = append(s.PodMetrics, m)
	}
}

// AddPodValues adds the response for the Pods metric i of the object. The values get the requested name and selector,
// by which reading finds them.
func (s *Step) AddPodValues(i int, list *custommetricsv1beta2.MetricValueList) {
	asked := s.Autoscaler().Metric(i)
	for _, v := range list.Items {
		v.DescribedObject.Kind = "Pod"
		v.Metric = custommetricsv1beta2.MetricIdentifier{Name: asked.Name, Selector: asked.Selector}
		s.Custom = append(s.Custom, v)
	}
}

// AddObjectValue adds the response for the Object metric i, unless another metric has the same request.
func (s *Step) AddObjectValue(i int, v custommetricsv1beta2.MetricValue) {
	a := s.Autoscaler()
	asked := a.Metric(i)
	v.Metric = custommetricsv1beta2.MetricIdentifier{Name: asked.Name, Selector: asked.Selector}
	v.DescribedObject.Kind, v.DescribedObject.Name = asked.Object.Kind, asked.Object.Name
	if isNamespace(asked.Object) {
		v.DescribedObject.Name, v.DescribedObject.Namespace = a.Namespace, ""
	}
	isThere := slices.ContainsFunc(s.Custom, func(o custommetricsv1beta2.MetricValue) bool {
		return o.DescribedObject.Kind == v.DescribedObject.Kind && o.DescribedObject.Name == v.DescribedObject.Name &&
			identifies(&asked, &o.Metric)
	})
	if !isThere {
		s.Custom = append(s.Custom, v)
	}
}

// AddSeries adds the response for the External metric i. Series that reading would not find by name and selector, or
// would find for another metric too, get a mark of their metric.
func (s *Step) AddSeries(i int, list *externalmetricsv1beta1.ExternalMetricValueList) {
	asked := s.Autoscaler().Metric(i)
	selector := selectorOf(asked.Selector)
	for _, v := range list.Items {
		if v.MetricName = asked.Name; s.isShared(i) || !selector.Matches(labels.Set(v.MetricLabels)) {
			marked := map[string]string{}
			maps.Copy(marked, v.MetricLabels)
			marked[MetricLabel] = strconv.Itoa(i)
			v.MetricLabels = marked
		}
		s.External = append(s.External, v)
	}
}

// isShared reports whether the External metric i is one of several of its name.
func (s *Step) isShared(i int) bool {
	a := s.Autoscaler()
	for other := range a.NumMetrics() {
		if m := a.Metric(other); other != i && m.Type == source.External && m.HasSource && m.Name == a.Metric(i).Name {
			return true
		}
	}
	return false
}

// selected returns the labels, with further ones that the selector requires: the response to a selector is selected by
// it, whatever labels the response lacks.
func selected(have map[string]string, selector labels.Selector) map[string]string {
	if selector.Matches(labels.Set(have)) {
		return have
	}
	all := map[string]string{}
	maps.Copy(all, have)
	requirements, _ := selector.Requirements()
	for _, r := range requirements {
		if r.Matches(labels.Set(all)) {
			continue
		}
		switch r.Operator() {
		case selection.In, selection.Equals, selection.DoubleEquals:
			all[r.Key()] = slices.Min(r.ValuesUnsorted())
		case selection.Exists:
			all[r.Key()] = ""
		case selection.NotIn, selection.NotEquals, selection.DoesNotExist:
			delete(all, r.Key())
		case selection.GreaterThan, selection.LessThan:
			// Only selectors of nodes have these.
		}
	}
	return all
}
