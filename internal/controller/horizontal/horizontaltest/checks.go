package horizontaltest

import (
	"fmt"
	"slices"
	"strings"

	"github.com/prometheus/client_golang/prometheus/testutil"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
)

// Set changes the world under its lock.
func (w *World) Set(change func()) {
	w.Mu.Lock()
	defer w.Mu.Unlock()
	change()
}

// ScaleWrites returns the writes of scales so far.
func (w *World) ScaleWrites() []string {
	w.Mu.Lock()
	defer w.Mu.Unlock()
	return slices.Clone(w.Scaled)
}

// HasEvent reports whether an event has a part.
func (w *World) HasEvent(part string) bool {
	w.Mu.Lock()
	defer w.Mu.Unlock()
	return slices.ContainsFunc(w.Events, func(e string) bool { return strings.Contains(e, part) })
}

// Decisions returns the number of decisions that requested the pods' metrics.
func (w *World) Decisions() int {
	w.Mu.Lock()
	defer w.Mu.Unlock()
	return len(w.Asked)
}

// Condition returns the status and the reason of a condition of an HPA.
func (w *World) Condition(name string, kind autoscalingv2.HorizontalPodAutoscalerConditionType) string {
	for _, c := range w.HPA(name).Status.Conditions {
		if c.Type == kind {
			return fmt.Sprintf("%s %s", c.Status, c.Reason)
		}
	}
	return "none"
}

// Metric returns the value of a series by its name and labels' values.
func (w *World) Metric(name string, labels ...string) float64 {
	w.T.Helper()
	families, err := w.Registry.Gather()
	if err != nil {
		w.T.Fatal(err)
	}
	for _, family := range families {
		if family.GetName() != name {
			continue
		}
		for _, m := range family.GetMetric() {
			var values []string
			for _, l := range m.GetLabel() {
				values = append(values, l.GetValue())
			}
			if slices.Equal(values, labels) {
				return m.GetGauge().GetValue() + m.GetCounter().GetValue()
			}
		}
	}
	return 0
}

// Series counts the series of a metric.
func (w *World) Series(name string) int {
	w.T.Helper()
	n, err := testutil.GatherAndCount(w.Registry, name)
	if err != nil {
		w.T.Fatal(err)
	}
	return n
}

// WantReplicas fails the test if a Deployment has another count.
func (w *World) WantReplicas(name string, want int32, why string) {
	w.T.Helper()
	if got := w.Replicas(name); got != want {
		w.T.Fatalf("%s has %d replicas, want %d: %s (events %q)", name, got, want, why, w.Events)
	}
}
