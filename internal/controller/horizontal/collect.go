package horizontal

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	customv1beta2 "k8s.io/metrics/pkg/apis/custom_metrics/v1beta2"
	externalv1beta1 "k8s.io/metrics/pkg/apis/external_metrics/v1beta1"
	metricsv1beta1 "k8s.io/metrics/pkg/apis/metrics/v1beta1"

	"github.com/plimsoll-dev/plimsoll/internal/collect/metricsapi"
	decide "github.com/plimsoll-dev/plimsoll/internal/decide/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric"
	"github.com/plimsoll-dev/plimsoll/internal/observe"
)

// MetricsSource answers for the three metrics APIs. Each call must end by
// itself, whatever the API does.
type MetricsSource interface {
	Resource(ctx context.Context, namespace, selector string) (*metricsv1beta1.PodMetricsList, error)
	Custom(ctx context.Context, query metricsapi.CustomQuery) (*customv1beta2.MetricValueList, error)
	External(ctx context.Context, namespace, metric, selector string) (*externalv1beta1.ExternalMetricValueList, error)
}

var _ MetricsSource = (*metricsapi.Client)(nil)

// answer is what a metrics API said to one metric.
type answer struct {
	// usage stands for an answer where nobody had to be asked.
	usage    observe.PodUsage
	resource *metricsv1beta1.PodMetricsList
	custom   *customv1beta2.MetricValueList
	external *externalv1beta1.ExternalMetricValueList
	err      error
	took     time.Duration
}

// collection is the questions of one object.
type collection struct {
	source   MetricsSource
	hpa      *autoscalingv2.HorizontalPodAutoscaler
	policy   *decide.Policy
	selector string

	// answers belong to the metrics; those of known need not be asked for.
	answers []answer
	known   []bool

	// once asks for the pods' metrics: several metrics are read from one answer.
	once     sync.Once
	resource answer
}

func newCollection(source MetricsSource, p *pass) *collection {
	n := len(p.policy.Metrics)
	return &collection{
		source: source, hpa: p.hpa, policy: &p.policy, selector: p.target.Scale.Status.Selector,
		answers: make([]answer, n), known: make([]bool, n),
	}
}

// isComplete says that there is nothing to ask.
func (q *collection) isComplete() bool { return !slices.Contains(q.known, false) }

// askAll asks for what is not known, side by side. The caller holds no worker
// meanwhile, so that an API that hangs keeps none.
func (q *collection) askAll(ctx context.Context) {
	var asking sync.WaitGroup
	for i := range q.answers {
		if q.known[i] {
			continue
		}
		asking.Go(func() {
			start := time.Now()
			q.answers[i] = q.ask(ctx, i)
			q.answers[i].took = time.Since(start)
		})
	}
	asking.Wait()
}

func read(translate *observe.Answers, i int, kind metric.Type, a *answer) metric.Reading {
	switch {
	case a.usage != nil:
		return translate.Measured(i, a.usage)
	case a.err != nil:
		return observe.Failed(a.err)
	case kind == metric.Pods:
		return translate.Pods(i, a.custom)
	case kind == metric.Object:
		return translate.Object(i, single(a.custom))
	case kind == metric.External:
		return translate.External(i, a.external)
	default:
		return translate.Resource(i, a.resource)
	}
}

func single(list *customv1beta2.MetricValueList) *customv1beta2.MetricValue {
	if list == nil || len(list.Items) == 0 {
		return nil
	}
	return &list.Items[0]
}

// ask puts the question of one metric. What the core finds wrong with the spec
// by itself is not asked.
func (q *collection) ask(ctx context.Context, i int) (a answer) {
	defer func() {
		// Decoding what a stranger sent must not end the process.
		if r := recover(); r != nil {
			a = answer{err: fmt.Errorf("reading the answer failed: %v", r)}
		}
	}()
	spec, known := &q.hpa.Spec.Metrics[i], &q.policy.Metrics[i]
	if known.Target.Type == "" || known.SelectorError != "" {
		return answer{}
	}
	switch known.Type {
	case metric.Resource, metric.ContainerResource:
		q.once.Do(func() {
			q.resource.resource, q.resource.err = q.source.Resource(ctx, q.hpa.Namespace, q.selector)
		})
		return q.resource
	case metric.Pods:
		return q.askPods(ctx, spec.Pods)
	case metric.Object:
		return q.askObject(ctx, spec.Object)
	case metric.External:
		selector, err := selectorText(spec.External.Metric.Selector)
		if err == nil {
			a.external, err = q.source.External(ctx, q.hpa.Namespace, spec.External.Metric.Name, selector)
		}
		a.err = err
		return a
	default:
		return answer{err: errors.New("unknown metric source type")}
	}
}

func (q *collection) askPods(ctx context.Context, source *autoscalingv2.PodsMetricSource) (a answer) {
	selector, err := selectorText(source.Metric.Selector)
	if err != nil {
		return answer{err: err}
	}
	a.custom, a.err = q.source.Custom(ctx, metricsapi.CustomQuery{
		Namespace: q.hpa.Namespace, Kind: schema.GroupKind{Kind: "Pod"}, Name: metricsapi.AllObjects,
		Selector: q.selector, Metric: source.Metric.Name, MetricSelector: selector,
	})
	return a
}

func (q *collection) askObject(ctx context.Context, source *autoscalingv2.ObjectMetricSource) (a answer) {
	selector, err := selectorText(source.Metric.Selector)
	if err != nil {
		return answer{err: err}
	}
	described := source.DescribedObject
	a.custom, a.err = q.source.Custom(ctx, metricsapi.CustomQuery{
		Namespace: q.hpa.Namespace, Kind: schema.FromAPIVersionAndKind(described.APIVersion, described.Kind).GroupKind(),
		Name: described.Name, Metric: source.Metric.Name, MetricSelector: selector,
	})
	return a
}

// selectorText is a metric's selector as the APIs take it; none and an empty
// one select everything.
func selectorText(selector *metav1.LabelSelector) (string, error) {
	s, err := metav1.LabelSelectorAsSelector(selector)
	if err != nil {
		return "", err
	}
	return s.String(), nil
}
