package source_test

import (
	"testing"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/divergence"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric/source"
)

// TestDescribe checks the names that reasons give to metrics.
func TestDescribe(t *testing.T) {
	spec := func(t source.Type, target source.TargetType) source.Spec {
		return source.Spec{
			Type: t, Name: "rps", Container: "app", SelectorText: "nil",
			Object: source.ObjectRef{Kind: "Service", Name: "web"}, Target: source.Target{Type: target},
		}
	}

	for name, tt := range map[string]struct {
		spec source.Spec
		// upstream is without any divergence, true with AccurateMessages.
		upstream, truth string
	}{
		"resource utilization": {
			spec(source.Resource, source.Utilization), "rps resource utilization (percentage of request)",
			"rps resource utilization (percentage of request)",
		},
		"resource usage": {spec(source.Resource, source.AverageValue), "rps resource", "rps resource"},
		"container utilization": {
			spec(source.ContainerResource, source.Utilization), "rps container resource utilization (percentage of request)",
			"rps container resource utilization (percentage of request)",
		},
		"container usage": {spec(source.ContainerResource, source.AverageValue), "rps resource", "rps resource"},
		"pods":            {spec(source.Pods, source.AverageValue), "pods metric rps", "pods metric rps"},
		"object value":    {spec(source.Object, source.Value), "Service metric rps", "Service metric rps"},
		// Upstream's slip: kubernetes names an Object metric with an average value external.
		"object average": {spec(source.Object, source.AverageValue), "external metric rps(nil)", "Service metric rps"},
		"external value": {spec(source.External, source.Value), "external metric rps(nil)", "external metric rps(nil)"},
		"external average": {spec(source.External, source.AverageValue), "external metric rps(nil)",
			"external metric rps(nil)"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := tt.spec.Describe(divergence.None); got != tt.upstream {
				t.Errorf("upstream says %q, got %q", tt.upstream, got)
			}
			if got := tt.spec.Describe(divergence.AccurateMessages); got != tt.truth {
				t.Errorf("the truth is %q, got %q", tt.truth, got)
			}
		})
	}
}
