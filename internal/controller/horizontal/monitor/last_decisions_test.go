package monitor

import (
	"fmt"
	"testing"

	"github.com/plimsoll-dev/plimsoll/internal/observe"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal"
)

// TestSeriesAreBounded: a cluster's size does not decide how much Prometheus keeps,
// but for upstream's series, which has all objects.
func TestSeriesAreBounded(t *testing.T) {
	decisions := newLastDecisions()
	for i := range maxListed + 7 {
		decisions.note(observe.HPA("shop", fmt.Sprintf("web-%06d", i)), nil,
			&horizontal.Decision{}, new(int32))
	}
	decisions.note(observe.HPA("shop", "web-000000"), nil, &horizontal.Decision{}, nil)
	registry := prometheus.NewRegistry()
	registry.MustRegister(decisions)
	n, err := testutil.GatherAndCount(registry, "plimsoll_horizontal_bound")
	if err != nil || n != maxListed {
		t.Errorf("%d objects have series, %v; want %d", n, err, maxListed)
	}
	const desired = upstreamSubsystem + "_desired_replicas"
	if n, err := testutil.GatherAndCount(registry, desired); err != nil || n != maxListed+7 {
		t.Errorf("%d objects have a count, %v; want all", n, err)
	}
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() == "plimsoll_horizontal_unlisted_objects" && f.GetMetric()[0].GetGauge().GetValue() != 7 {
			t.Errorf("%v count as left out, want 7", f.GetMetric()[0].GetGauge().GetValue())
		}
	}
}
