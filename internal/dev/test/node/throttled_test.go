//go:build node

package node

import (
	"context"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// TestThrottled: a container that wants a core and may use a twentieth of it. Its use alone does not show that.
func TestThrottled(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	s.recommend("web", `,"updatePolicy":{"updateMode":"Off"}`)
	s.deploy(workload{
		name: "web", replicas: 1, args: []string{"-cpu-milli=1000"},
		requests: map[corev1.ResourceName]string{"cpu": "50m", "memory": "32Mi"},
		limits:   map[corev1.ResourceName]string{"cpu": "50m"},
	})
	s.running("web")
	s.eventually(patience, "a condition that says so", func(ctx context.Context) error {
		c, err := s.condition(ctx, "web", "CPUContended")
		if err == nil && (c.Status != corev1.ConditionTrue || !strings.Contains(c.Message, "container app")) {
			err = fmt.Errorf("%+v", c)
		}
		if err == nil {
			t.Logf("CPUContended: %s: %s", c.Reason, c.Message)
		}
		return err
	})
}
