//go:build keda

package keda

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	plimsollv1alpha1 "github.com/plimsoll-dev/plimsoll/api/plimsoll/v1alpha1"
	"github.com/plimsoll-dev/plimsoll/internal/dev/test/integration/harness"
	"github.com/plimsoll-dev/plimsoll/internal/dev/test/integration/harness/workloads"
)

// The output for triggers with all convertible settings is accepted by the API server.
func TestNativeIsAccepted(t *testing.T) {
	s := &scaled{Autoscalers: workloads.Of(t, namespace(t)), t: t, backups: t.TempDir()}
	text, err := os.ReadFile("../../../migrate/session/testdata/scaledobject-native.yaml")
	if err != nil {
		t.Fatal(err)
	}
	s.Create(harness.Workload{Name: "worker"}.Deployment())
	s.KubectlInput(strings.ReplaceAll(string(text), "namespace: shop", "namespace: "+s.Name), "apply", "-f", "-")
	manifest, stderr, err := s.migrate("worker", "--native")
	// Only KEDA could name the metric of the last trigger, whose server there is not.
	if n := strings.Count(stderr, "not migrated"); n > 1 || strings.Count(manifest, "serverAddress") != 3 {
		t.Fatalf("%v\n%s%s", err, stderr, manifest)
	}
	s.KubectlInput(manifest, "create", "--dry-run=server", "-f", "-")
}

// ScaledObjects are migrated under load to metrics that Plimsoll reads itself. Then nothing needs KEDA, which ends;
// a target goes to zero and comes back, by a query, a poll and a push.
func TestMigrateNative(t *testing.T) {
	kinds := []string{byPrometheus, byScaler, byPush}
	s := newScaled(t, 0, kinds...)
	s.begin("--metric-server="+strings.TrimPrefix(load.prometheus, "http://"), "--metric-server="+load.scaler)
	s.migrateUnderLoad(kinds, kinds, "--native")
	for _, kind := range kinds {
		want := plimsollv1alpha1.ExternalScalerMetricSourceType
		if kind == byPrometheus {
			want = plimsollv1alpha1.PrometheusMetricSourceType
		}
		s.AwaitWLA(kind, "metrics of its own", func(w *plimsollv1alpha1.WorkloadAutoscaler) error {
			if len(w.Spec.Metrics) != 1 || w.Spec.Metrics[0].Type != want {
				return fmt.Errorf("%+v", w.Spec.Metrics)
			}
			return nil
		})
	}
	running.operator.Stop(t.Context())
	for _, kind := range kinds {
		s.follows(kind, "", 5)
		load.set(s.queue(kind), 0)
		s.AwaitReplicas(harness.Deployment, kind, 0)
		s.want(kind, 3)
		s.AwaitReplicas(harness.Deployment, kind, 3)
		s.changesHands(kind, upstream, plimsoll)
	}
	// The push, and no other trigger.
	s.Eventually("Plimsoll's streams", func(context.Context) error {
		if polled, pushed := load.open(s.queue(byScaler)), load.open(s.queue(byPush)); polled != 0 || pushed != 1 {
			return fmt.Errorf("%d of external, %d of external-push", polled, pushed)
		}
		return nil
	})
	if err := running.startOperator(t.Context()); err != nil {
		t.Fatal(err)
	}
	// Nothing needs the ScaledObject either. The way back makes it again.
	if err := s.client.Delete(t.Context(), byScaler, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	s.Eventually("the end of a ScaledObject", func(ctx context.Context) error {
		_, err := s.client.Get(ctx, byScaler, metav1.GetOptions{})
		if !apierrors.IsNotFound(err) {
			return fmt.Errorf("it is there: %w", err)
		}
		return nil
	})
	s.want(byScaler, 6)
	s.AwaitReplicas(harness.Deployment, byScaler, 6)
	s.back(kinds...)
	s.awaitHPA(byScaler, 6)
}
