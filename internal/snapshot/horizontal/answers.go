package horizontal

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	custommetricsv1beta2 "k8s.io/metrics/pkg/apis/custom_metrics/v1beta2"
	externalmetricsv1beta1 "k8s.io/metrics/pkg/apis/external_metrics/v1beta1"
	metricsv1beta1 "k8s.io/metrics/pkg/apis/metrics/v1beta1"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric/source"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/podselector"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/trigger"
	"github.com/plimsoll-dev/plimsoll/internal/observe"
	observehorizontal "github.com/plimsoll-dev/plimsoll/internal/observe/horizontal"
)

// Observe returns the observation of the step's decision. As the controller does, it leaves out pods and readings that
// the decision does not need.
func (s *Step) Observe(p *horizontal.Policy) (horizontal.Observation, error) {
	target, selector := s.target()
	a := s.Autoscaler()
	o := horizontal.Observation{Target: target, ScaledToZero: a.ScaledToZero()}
	observeWorkload(s, &o)
	var known bool
	if o.Trigger, known = trigger.Parse(s.Snapshot.Trigger); !known {
		return o, fmt.Errorf("trigger: %q is neither periodic nor samples nor event", s.Snapshot.Trigger)
	}
	o.NewerAwaited = s.Snapshot.NewerAwaited
	if s.Snapshot.StartUp != nil {
		o.StartUp = s.Snapshot.StartUp.Duration
	}
	if message := s.Snapshot.VerticalConflict; message != nil {
		o.Conflict = horizontal.Conflict{Message: *message, Shown: a.InConflict()}
	}
	state := s.Snapshot.State
	if state == nil {
		state = &horizontal.State{}
	}
	if target.Selector.Problem != podselector.Fine || !horizontal.NeedsReadings(p, state, &o) {
		return o, nil
	}
	pods := observe.PodsOf(s.pods(selector))
	o.Pods = observe.Pods(pods)
	answers := &answers{
		Answers: observehorizontal.NewAnswers(p, pods), step: s, selector: selector, policy: p, pods: o.Pods,
	}
	answers.LeaveOutOthers(a.SelectsByOwner())
	o.Readings = make([]metric.Reading, len(p.Metrics))
	for i := range p.Metrics {
		var err error
		if o.Readings[i], err = answers.reading(i); err != nil {
			return o, fmt.Errorf("spec.metrics[%d]: %w", i, err)
		}
		o.Readings[i].Asked = s.askedFor(i)
	}
	return o, nil
}

// askedFor returns the time of the request for metric i; zero if the step lacks it.
func (s *Step) askedFor(i int) time.Time {
	for _, a := range s.Snapshot.Asked {
		if a.MetricIndex == i {
			return a.Time
		}
	}
	return time.Time{}
}

func (s *Step) target() (horizontal.Target, labels.Selector) {
	if s.Snapshot.ScaleError != "" {
		return horizontal.Target{Error: s.Snapshot.ScaleError}, labels.Nothing()
	}
	target, selector := observehorizontal.Target(s.Scale)
	if message := s.Snapshot.AmbiguousSelector; message != "" && target.Selector.Problem == podselector.Fine {
		target.Selector = podselector.Selector{Problem: podselector.Ambiguous, Message: message}
	}
	return target, selector
}

// local reports whether an object of that namespace is one of the step's; it may be omitted.
func (s *Step) local(namespace string) bool {
	return namespace == "" || namespace == s.Autoscaler().Namespace
}

func (s *Step) pods(selector labels.Selector) []*corev1.Pod {
	var pods []*corev1.Pod
	for _, pod := range s.Pods {
		if s.local(pod.Namespace) && selector.Matches(labels.Set(pod.Labels)) {
			pods = append(pods, pod)
		}
	}
	return pods
}

// answers selects from a step the responses of the metrics APIs.
type answers struct {
	*observehorizontal.Answers
	step     *Step
	selector labels.Selector
	policy   *horizontal.Policy
	pods     []metric.Pod
}

func (a *answers) reading(i int) (metric.Reading, error) {
	activity := sourceReading(a.step, i).activity()
	if slices.Contains(a.step.Snapshot.Awaited, i) {
		return metric.Reading{Pending: true, Activity: activity}, nil
	}
	for _, e := range a.step.Snapshot.Errors {
		if e.MetricIndex == i {
			return metric.Reading{Error: e.Message, Activity: activity}, nil
		}
	}
	m := a.step.Autoscaler().Metric(i)
	switch {
	case !m.HasSource:
		return metric.Reading{Empty: true}, nil
	case m.IsOwn:
		return a.ownReading(i), nil
	case m.Type == source.Pods:
		return a.Pods(i, a.podValues(&m)), nil
	case m.Type == source.Object:
		value, err := a.objectValue(&m)
		if err != nil || value == nil {
			return metric.Reading{Error: "the snapshot has no value of this metric"}, err
		}
		return a.Object(i, value), nil
	case m.Type == source.External:
		return a.External(i, a.series(i)), nil
	default:
		return a.Resource(i, a.podMetrics()), nil
	}
}

func (a *answers) podMetrics() *metricsv1beta1.PodMetricsList {
	list := &metricsv1beta1.PodMetricsList{}
	for _, m := range a.step.PodMetrics {
		if a.step.local(m.Namespace) && a.selector.Matches(labels.Set(m.Labels)) {
			list.Items = append(list.Items, m)
		}
	}
	return list
}

func (a *answers) podValues(asked *observehorizontal.Metric) *custommetricsv1beta2.MetricValueList {
	list := &custommetricsv1beta2.MetricValueList{}
	for _, v := range a.step.Custom {
		if v.DescribedObject.Kind == "Pod" && a.step.local(v.DescribedObject.Namespace) && identifies(asked, &v.Metric) {
			list.Items = append(list.Items, v)
		}
	}
	return list
}

// objectValue returns the one value of the object, nil if there is none. The value of a Namespace is that of the
// HorizontalPodAutoscaler's, whatever name the metric has, and has no namespace.
func (a *answers) objectValue(asked *observehorizontal.Metric) (*custommetricsv1beta2.MetricValue, error) {
	name := asked.Object.Name
	if isNamespace(asked.Object) {
		name = a.step.Autoscaler().Namespace
	}
	var found *custommetricsv1beta2.MetricValue
	for i := range a.step.Custom {
		v := &a.step.Custom[i]
		object := &v.DescribedObject
		if object.Kind != asked.Object.Kind || object.Name != name || !a.step.local(object.Namespace) ||
			!identifies(asked, &v.Metric) {
			continue
		}
		if found != nil {
			return nil, fmt.Errorf("the snapshot has two values of metric %s on %s %s", v.Metric.Name, object.Kind, object.Name)
		}
		found = v
	}
	return found, nil
}

func isNamespace(ref autoscalingv2.CrossVersionObjectReference) bool {
	kind := schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind)
	return kind.Kind == "Namespace" && kind.Group == ""
}

// series returns those of the External metric i: with its name, and its mark or, without marks, labels that it selects.
func (a *answers) series(i int) *externalmetricsv1beta1.ExternalMetricValueList {
	list := &externalmetricsv1beta1.ExternalMetricValueList{}
	asked, own := a.step.Autoscaler().Metric(i), strconv.Itoa(i)
	selector := selectorOf(asked.Selector)
	for _, v := range a.step.External {
		mark, isMarked := v.MetricLabels[MetricLabel]
		if v.MetricName == asked.Name && (mark == own || !isMarked && selector.Matches(labels.Set(v.MetricLabels))) {
			list.Items = append(list.Items, v)
		}
	}
	return list
}

// selectorOf selects series of the metric. An invalid selector selects none, and the core reports the error.
func selectorOf(asked *metav1.LabelSelector) labels.Selector {
	if asked == nil {
		return labels.Everything()
	}
	selector, err := metav1.LabelSelectorAsSelector(asked)
	if err != nil {
		return labels.Nothing()
	}
	return selector
}

func identifies(asked *observehorizontal.Metric, got *custommetricsv1beta2.MetricIdentifier) bool {
	return asked.Name == got.Name && selectorKey(asked.Selector) == selectorKey(got.Selector)
}

// selectorKey is equal for selectors that select the same by the same terms; nil equals an empty one.
func selectorKey(s *metav1.LabelSelector) string {
	if s == nil {
		return ""
	}
	var terms []string
	for key, value := range s.MatchLabels {
		terms = append(terms, fmt.Sprintf("%q in [%q]", key, value))
	}
	for _, e := range s.MatchExpressions {
		values := slices.Clone(e.Values)
		slices.Sort(values)
		terms = append(terms, fmt.Sprintf("%q %s %q", e.Key, strings.ToLower(string(e.Operator)), values))
	}
	slices.Sort(terms)
	return strings.Join(terms, ", ")
}
