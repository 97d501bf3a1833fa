// Package workloads gives integration tests the WorkloadAutoscalers of a namespace.
package workloads

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	plimsollv1alpha1 "github.com/plimsoll-dev/plimsoll/api/plimsoll/v1alpha1"
	"github.com/plimsoll-dev/plimsoll/internal/dev/test/integration/harness"
	"github.com/plimsoll-dev/plimsoll/internal/kube/wla"
)

// Autoscalers are the WorkloadAutoscalers of a test's namespace.
type Autoscalers struct {
	*harness.Namespace
	// WLAs has no rate limit.
	WLAs wla.WorkloadAutoscalerClient

	t testing.TB
}

// Of needs a cluster with their definition.
func Of(t testing.TB, s *harness.Namespace) *Autoscalers {
	t.Helper()
	config := s.Cluster.RESTConfig()
	config.QPS = -1
	client, err := wla.New(config)
	if err != nil {
		t.Fatal(err)
	}
	return &Autoscalers{Namespace: s, WLAs: client.WorkloadAutoscalers(s.Name), t: t}
}

// AwaitWLA waits until check returns nil for the object. The message of a failure has its last status.
func (a *Autoscalers) AwaitWLA(name, what string, check func(*plimsollv1alpha1.WorkloadAutoscaler) error) {
	a.t.Helper()
	a.Eventually(what+" of "+name, func(ctx context.Context) error {
		object, err := a.WLAs.Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if err := check(object); err != nil {
			text, _ := json.Marshal(object.Status)
			return fmt.Errorf("%w\n  %s", err, text)
		}
		return nil
	})
}
