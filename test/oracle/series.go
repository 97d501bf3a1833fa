package oracle

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	"k8s.io/kubernetes/pkg/controller/podautoscaler/monitor"
)

const subsystem = "horizontal_pod_autoscaler_controller_"

// series are what a controller counts of its own work.
type series map[string]float64

// since are the series in text, counters as what came since an earlier look.
func (s series) since(before series) []string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(s)) {
		value := s[name]
		if strings.Contains(name, "_total{") {
			value -= before[name]
			if value == 0 {
				continue
			}
		}
		out = append(out, fmt.Sprintf("%s %g", name, value))
	}
	return out
}

// gathered reads Plimsoll's series of upstream's names.
func gathered(from prometheus.Gatherer) series {
	families, err := from.Gather()
	must(err)
	all := series{}
	for _, family := range families {
		name, ours := strings.CutPrefix(family.GetName(), subsystem)
		if !ours || family.GetType() == dto.MetricType_HISTOGRAM || strings.HasPrefix(name, "stale") {
			continue
		}
		for _, metric := range family.GetMetric() {
			all[name+"{"+labelValues(metric)+"}"] = metric.GetGauge().GetValue() + metric.GetCounter().GetValue()
		}
	}
	return all
}

func labelValues(metric *dto.Metric) string {
	var values []string
	for _, label := range metric.GetLabel() {
		values = append(values, label.GetValue())
	}
	return strings.Join(values, ",")
}

// counted implements upstream's monitor for one controller; its own is the
// process'. Label values are in the order of the labels' names, as a gatherer
// gives them.
type counted struct {
	monitor.Monitor
	mu sync.Mutex
	series
}

func (c *counted) add(n float64, name string, values ...string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.series[name+"{"+strings.Join(values, ",")+"}"] += n
}

// all is a copy.
func (c *counted) all() series {
	c.mu.Lock()
	defer c.mu.Unlock()
	return maps.Clone(c.series)
}

// ObserveReconciliationResult implements monitor.Monitor.
func (c *counted) ObserveReconciliationResult(action monitor.ActionLabel, err monitor.ErrorLabel, _ time.Duration) {
	c.add(1, "reconciliations_total", string(action), string(err))
}

// ObserveMetricComputationResult implements monitor.Monitor.
func (c *counted) ObserveMetricComputationResult(
	action monitor.ActionLabel, err monitor.ErrorLabel, _ time.Duration, kind autoscalingv2.MetricSourceType,
) {
	c.add(1, "metric_computation_total", string(action), string(err), string(kind))
}

// ObserveHPAAddition implements monitor.Monitor.
func (c *counted) ObserveHPAAddition() { c.add(1, "num_horizontal_pod_autoscalers") }

// ObserveHPADeletion implements monitor.Monitor.
func (c *counted) ObserveHPADeletion() { c.add(-1, "num_horizontal_pod_autoscalers") }

// ObserveDesiredReplicas implements monitor.Monitor.
func (c *counted) ObserveDesiredReplicas(namespace, name string, replicas int32) {
	c.mu.Lock()
	defer c.mu.Unlock()
	// The label hpa_name comes before namespace.
	c.series["desired_replicas{"+name+","+namespace+"}"] = float64(replicas)
}

// ObserveHPARequeueSkips implements monitor.Monitor: how often a cache is behind
// is chance.
func (*counted) ObserveHPARequeueSkips(string, string) {}
