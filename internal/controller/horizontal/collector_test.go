package horizontal

import (
	"fmt"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"k8s.io/apimachinery/pkg/types"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal"
)

// TestPartsOfADecision: what each metric wants and which limit binds is to be seen
// for as long as the object is there.
func TestPartsOfADecision(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.addHPA(w.web("web", 2))
		w.start()
		w.set(func() { w.usage = 2000 })
		w.pass(5 * period)
		if got := w.metric("plimsoll_horizontal_bound", "web", "max_replicas", "shop"); got != 1 {
			t.Errorf("max replicas bind: %v, want 1", got)
		}
		if got := w.metric("plimsoll_horizontal_proposed_replicas", "web", "0", "Resource", "shop"); got <= 20 {
			t.Errorf("the metric wants %v replicas, want more than the 20 that may be", got)
		}
		w.deleteHPA("web")
		w.pass(period)
		if n, err := testutil.GatherAndCount(w.registry, "plimsoll_horizontal_bound"); err != nil || n != 0 {
			t.Errorf("%d series of an object that is gone, %v", n, err)
		}
	})
}

// TestPartsAreBounded: a cluster's size does not decide how much Prometheus keeps,
// but for upstream's series, which has all objects.
func TestPartsAreBounded(t *testing.T) {
	p := newParts()
	for i := range maxListed + 7 {
		p.note(types.NamespacedName{Namespace: "shop", Name: fmt.Sprintf("web-%06d", i)}, nil, &horizontal.Decision{}, new(int32))
	}
	p.note(types.NamespacedName{Namespace: "shop", Name: "web-000000"}, nil, &horizontal.Decision{}, nil)
	registry := prometheus.NewRegistry()
	registry.MustRegister(p)
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
			t.Errorf("%v are said to be left out, want 7", f.GetMetric()[0].GetGauge().GetValue())
		}
	}
}
