package sources_test

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/labels"

	plimsollv1alpha1 "github.com/plimsoll-dev/plimsoll/api/plimsoll/v1alpha1"
	"github.com/plimsoll-dev/plimsoll/internal/observe/horizontal/sources"
)

type endpoint = plimsollv1alpha1.PodEndpointMetricSource

func selectorOf(app string) *plimsollv1alpha1.LabelSelector {
	return &plimsollv1alpha1.LabelSelector{
		MatchLabels: map[string]plimsollv1alpha1.LabelValue{"app": plimsollv1alpha1.LabelValue(app)},
	}
}

// TestPodsOfMetric: whose pods expose a metric, what it is called then, and which fields may not be together.
func TestPodsOfMetric(t *testing.T) {
	for name, tt := range map[string]struct {
		change      func(*endpoint)
		pods        sources.PodSet
		by          sources.Aggregate
		called, err string
	}{
		"the target's": {func(*endpoint) {}, sources.PodSet{}, sources.Sum, "", ""},
		"a Service's": {func(m *endpoint) { m.Service, m.Aggregate = "gateway", "Max" },
			sources.PodSet{Service: "gateway"}, sources.Max, "service gateway", ""},
		"a selector's": {func(m *endpoint) {
			m.PodSelector = selectorOf("gateway")
			m.PodSelector.MatchExpressions = []plimsollv1alpha1.LabelSelectorRequirement{
				{Key: "tier", Operator: "In", Values: []plimsollv1alpha1.LabelValue{"b", ""}}, {Key: "old", Operator: "DoesNotExist"}}
		}, sources.PodSet{Labels: "app=gateway,!old,tier in (,b)"}, sources.Sum, "pods app=gateway,!old,tier in (,b)", ""},
		"both": {func(m *endpoint) { m.Service, m.PodSelector = "gateway", selectorOf("gateway") },
			sources.PodSet{}, sources.Sum, "", "service: may not be set beside podSelector"},
		"all": {func(m *endpoint) { m.PodSelector = &plimsollv1alpha1.LabelSelector{} },
			sources.PodSet{}, sources.Sum, "", "podSelector: must require a label"},
		"all, spelled out": {func(m *endpoint) {
			m.PodSelector = &plimsollv1alpha1.LabelSelector{MatchLabels: map[string]plimsollv1alpha1.LabelValue{}}
		}, sources.PodSet{}, sources.Sum, "", "podSelector: must require a label"},
		"all but some": {func(m *endpoint) {
			m.PodSelector = &plimsollv1alpha1.LabelSelector{MatchExpressions: []plimsollv1alpha1.LabelSelectorRequirement{
				{Key: "old", Operator: "DoesNotExist"},
			}}
		}, sources.PodSet{}, sources.Sum, "", "podSelector: must require a label"},
		"no selector": {func(m *endpoint) { m.PodSelector = selectorOf("a b") },
			sources.PodSet{}, sources.Sum, "", "podSelector: "},
		"the largest of rates": {func(m *endpoint) { m.Aggregate = "Max" },
			sources.PodSet{}, sources.Sum, "", "aggregate: must be Sum where valueType is Rate, unless podSelector or service is set"},
		"the largest of gauges": {func(m *endpoint) { m.Aggregate, m.ValueType = "Max", "Gauge" },
			sources.PodSet{}, sources.Max, "", ""},
		"another way": {func(m *endpoint) { m.Aggregate = "Min" },
			sources.PodSet{}, sources.Sum, "", `aggregate: "Min" is neither Sum nor Average nor Max`},
	} {
		m := podEndpoint()
		tt.change(&m)
		got, err := sources.PodEndpointOf(&m)
		if tt.err != "" {
			if err == nil || !strings.Contains(err.Error(), tt.err) {
				t.Errorf("%s: %v, want %s", name, err, tt.err)
			}
			continue
		}
		spec := metricOf(m)
		if err != nil || got.Pods != tt.pods || got.Aggregate != tt.by || extended(t, &spec).OtherPods != tt.called {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
		if got.Pods.Labels != "" && !got.Pods.Selector().Matches(labels.Set{"app": "gateway", "tier": "b"}) {
			t.Errorf("%s: %s", name, got.Pods.Selector())
		}
	}
}

// TestIdentityOfPods: metrics of other pods, or with another aggregate, are others. One of the target's pods keeps the
// identity that checkpoints have.
func TestIdentityOfPods(t *testing.T) {
	seen := map[string]bool{}
	for _, change := range []func(*endpoint){
		func(*endpoint) {},
		func(m *endpoint) { m.Service = "gateway" },
		func(m *endpoint) { m.PodSelector = selectorOf("gateway") },
		func(m *endpoint) { m.Service, m.Aggregate = "gateway", "Max" },
	} {
		m := podEndpoint()
		change(&m)
		spec := metricOf(m)
		seen[extended(t, &spec).Identity] = true
		p, err := sources.PodEndpointOf(&m)
		if page := p.Page(); err != nil || page.Pods != p.Pods {
			t.Errorf("%+v is of %+v", page, p.Pods)
		}
	}
	if len(seen) != 4 {
		t.Errorf("%d identities", len(seen))
	}
	m, sum := podEndpoint(), podEndpoint()
	sum.Aggregate = plimsollv1alpha1.SumAggregate
	of, ofSum := metricOf(m), metricOf(sum)
	if extended(t, &of).Identity != extended(t, &ofSum).Identity {
		t.Error("the default changes the identity")
	}
}
