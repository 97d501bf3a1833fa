package horizontal

import (
	"strings"
	"testing"
	"time"

	plimsollv1alpha1 "github.com/plimsoll-dev/plimsoll/api/plimsoll/v1alpha1"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/divergence"
	"github.com/plimsoll-dev/plimsoll/internal/explain/historybounds"
)

// ownDocument is a step whose only metric is read by the controller.
const ownDocument = `apiVersion: v1
kind: List
items:
- apiVersion: plimsoll.dev/v1alpha1
  kind: WorkloadAutoscaler
  metadata: {name: web, namespace: shop}
  spec:
    scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}
    maxReplicas: 20
    metrics:
      - name: requests
        type: Prometheus
        prometheus:
          serverAddress: http://prometheus:9090
          query: sum(requests)
          target: {type: AverageValue, averageValue: "10"}
- apiVersion: autoscaling/v1
  kind: Scale
  metadata: {name: web, namespace: shop}
  spec: {replicas: 2}
  status: {replicas: 2, selector: app=web}
- apiVersion: plimsoll.dev/v1alpha1
  kind: Snapshot
  metadata: {name: web, namespace: shop}
  time: "2026-11-20T11:59:00Z"
  awaited: [0]`

// TestReadElsewhere: without the controller, what only it reads is unknown, and the status has why it cannot read it.
func TestReadElsewhere(t *testing.T) {
	step := stepOf(t, ownDocument)
	explained := func() string {
		policy := step.Policy(step.Snapshot.Options.Flags())
		e, err := WithoutHistory(step, &historybounds.Known{
			Autoscaler: step.Autoscaler(), Policy: &policy, Current: 2, Period: 15 * time.Second,
			Divergences: divergence.Default,
		}, "the controller does not answer")
		if err != nil {
			t.Fatal(err)
		}
		var text strings.Builder
		if err := e.WriteText(&text, Style{}); err != nil {
			t.Fatal(err)
		}
		return text.String()
	}
	step.Workload.Status.DesiredReplicas = 4
	if got, want := explained(), "Cannot be decided here, because only the controller reads requests; the target has 2 "+
		"replicas, and the controller wants 4 (from the object's status).\n"; !strings.HasPrefix(got, want) {
		t.Errorf("got\n%s\nwant %s", got, want)
	}
	step.Workload.Status.Metrics = []plimsollv1alpha1.MetricStatus{{
		Name: "requests", Failure: &plimsollv1alpha1.MetricFailure{Message: `metric "requests": unable to get Prometheus ` +
			"query sum(requests): unable to fetch metrics from Prometheus: it answered 403 Forbidden"},
	}}
	got := explained()
	for _, want := range []string{
		"Stays at 2: requests cannot be read by the controller (Prometheus: it answered 403 Forbidden).\n",
		"  metric 1       requests: only the controller reads it; the object's status says that it cannot: metric ",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing in\n%s", want, got)
		}
	}
}
