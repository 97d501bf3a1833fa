package manifest

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/simulate"
)

// A quantity that takes hours to read is an error that names the object and the field.
func TestQuantityThatTakesHours(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	const text = `
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: web}
spec: {maxReplicas: 3, metrics: [{type: Resource, resource: {name: cpu, target: {type: AverageValue, averageValue: "1e-999999999"}}}]}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec: {template: {spec: {containers: [{name: app, resources: {limits: {memory: "1E-1000000000"}}}]}}}
`
	done := make(chan struct{})
	go func() {
		defer close(done)
		objects, err := Read("web.yaml", strings.NewReader(text))
		if err != nil || len(objects) != 2 {
			t.Error(objects, err)
			return
		}
		if _, err := objects[0].HPA(); err == nil ||
			!strings.Contains(err.Error(), "spec.metrics[0].resource.target.averageValue: quantity") {
			t.Error(err)
		}
		if err := objects[1].Fill(&simulate.Workload{}); err == nil ||
			!strings.Contains(err.Error(), "spec.containers[0].resources.limits[memory]: quantity") {
			t.Error(err)
		}
	}()
	select {
	case <-done:
	case <-ctx.Done():
		t.Fatal("not read within 20 s")
	}
}
