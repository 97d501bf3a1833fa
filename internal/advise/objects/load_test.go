package objects_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/advise/objects"
	"github.com/plimsoll-dev/plimsoll/internal/advise/read/manifests"
)

// TestStartUpOf: nine of ten of the workload's own pods took no longer. Pods that are not ready, and those that became
// ready long after their creation, do not count.
func TestStartUpOf(t *testing.T) {
	for name, c := range map[string]struct {
		readyAfter []string
		want       time.Duration
	}{
		"ten pods":     {strings.Fields("1s 2s 3s 4s 5s 6s 7s 8s 40s 90s"), 40 * time.Second},
		"three pods":   {strings.Fields("30s 20s 10s"), 30 * time.Second},
		"two pods":     {strings.Fields("10s 20s"), 0},
		"again, later": {strings.Fields("10s 20s 30s 31m 20h"), 30 * time.Second},
		"not ready":    {strings.Fields("10s 20s 30s False False False False False"), 30 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			var text strings.Builder
			text.WriteString("{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: db}, spec: " +
				"{serviceName: db, selector: {matchLabels: {app: db}}, template: {metadata: {labels: {app: db}}, " +
				"spec: {containers: [{name: app, image: db}]}}}}\n")
			created := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
			for i, after := range c.readyAfter {
				status, ready := "True", created
				if took, err := time.ParseDuration(after); err == nil {
					ready = created.Add(took)
				} else {
					status = after
				}
				fmt.Fprintf(&text, "---\n{apiVersion: v1, kind: Pod, metadata: {name: db-%d, creationTimestamp: %q, "+
					"ownerReferences: [{apiVersion: apps/v1, kind: StatefulSet, name: db, uid: x, controller: true}]}, "+
					"spec: {containers: [{name: app, image: db}]}, status: {conditions: [{type: Ready, status: %q, "+
					"lastTransitionTime: %q}]}}\n", i, created.Format(time.RFC3339), status, ready.Format(time.RFC3339))
			}
			all := &objects.Collection{}
			manifests.Add(all, "pods.yaml", strings.NewReader(text.String()))
			if len(all.Workloads) != 1 || len(all.Unreadable) > 0 {
				t.Fatalf("%+v", all.Unreadable)
			}
			if got := objects.StartUpOf(all, all.Workloads[0]); got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
		})
	}
}
