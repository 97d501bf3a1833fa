package horizontal_test

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/divergence"
	explainhorizontal "github.com/plimsoll-dev/plimsoll/internal/explain/horizontal"
	snapshothorizontal "github.com/plimsoll-dev/plimsoll/internal/snapshot/horizontal"
)

// A stream of two steps: the queue has ten times what one replica should have,
// then nothing more.
func Example() {
	stream := step("12:00:00", 2, 100) + step("12:00:15", 4, 0)
	reader, evaluator := snapshothorizontal.NewReader(strings.NewReader(stream)),
		explainhorizontal.NewEvaluator(divergence.Default)
	for {
		step, err := reader.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			fmt.Println(err)
			return
		}
		result, err := evaluator.Next(step)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(result.Decision.Current, "->", result.Decision.Desired, result.Report.Reason)
	}
	// Output:
	// 2 -> 4 external metric depth(nil) above target
	// 4 -> 8 recent recommendations were higher than the current one
}

func step(clock string, replicas, depth int) string {
	return fmt.Sprintf(`---
apiVersion: v1
kind: List
items:
- apiVersion: plimsoll.dev/v1alpha1
  kind: Snapshot
  metadata: {name: web, namespace: shop}
  time: "2026-11-20T%sZ"
- apiVersion: autoscaling/v2
  kind: HorizontalPodAutoscaler
  metadata: {name: web, namespace: shop}
  spec:
    scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}
    maxReplicas: 10
    metrics:
    - type: External
      external: {metric: {name: depth}, target: {type: AverageValue, averageValue: 10}}
- apiVersion: autoscaling/v1
  kind: Scale
  metadata: {name: web, namespace: shop}
  spec: {replicas: %[2]d}
  status: {replicas: %[2]d, selector: app=web}
- apiVersion: external.metrics.k8s.io/v1beta1
  kind: ExternalMetricValueList
  items: [{metricName: depth, metricLabels: {}, timestamp: "2026-11-20T%[1]sZ", value: %[3]d}]
`, clock, replicas, depth)
}
