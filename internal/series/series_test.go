package series

import (
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
)

func gauge(name string) prometheus.Gauge {
	return prometheus.NewGauge(prometheus.GaugeOpts{Name: name, Help: "what it is"})
}

func TestRegister(t *testing.T) {
	registry := prometheus.NewRegistry()
	first, second := gauge("one"), gauge("one")
	others, labels := prometheus.GaugeOpts{Name: "many", Help: "what they are"}, []string{"label"}
	gauges, again := prometheus.NewGaugeVec(others, labels), prometheus.NewGaugeVec(others, []string{"other"})
	counters := prometheus.NewCounterVec(prometheus.CounterOpts(others), labels)
	if err := Register(registry, &first); err != nil {
		t.Fatal(err)
	}
	first.Set(3)
	if err := Register(registry, &second); err != nil || second != first || testutil.ToFloat64(second) != 3 {
		t.Errorf("one that is registered already: %v", err)
	}
	if err := Register(registry, &gauges); err != nil {
		t.Fatal(err)
	}
	if err := Register(registry, &again); err == nil {
		t.Error("others of the same name")
	}
	if err := Register(registry, &counters); err == nil {
		t.Error("others of the same name and another kind")
	}
}
