package devcluster_test

import (
	"context"
	"errors"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/plimsoll-dev/plimsoll/internal/dev/devcluster"
)

// Benchmarks compare resolutions on one cluster: metrics-server can go, with its API, and come back otherwise.
func TestMetricsServerRestarts(t *testing.T) {
	c := shared.Cluster(t)
	asked := func() error {
		_, err := c.Client().Discovery().ServerResourcesForGroupVersion("metrics.k8s.io/v1beta1")
		return err
	}
	if err := asked(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		// As the other tests expect it.
		if err := c.RestartMetricsServer(context.Background(),
			devcluster.MetricsServerConfig{Resolution: devcluster.DefaultMetricResolution}); err != nil {
			t.Error(err)
		}
	})
	if err := c.StopMetricsServer(t.Context()); err != nil {
		t.Fatal(err)
	}
	eventually(t, 30*time.Second, func(context.Context) error {
		if err := asked(); !apierrors.IsNotFound(err) {
			return errors.Join(errors.New("the API is still there"), err)
		}
		return nil
	})
	if err := c.StopMetricsServer(t.Context()); err != nil {
		t.Errorf("stopped twice: %v", err)
	}
	if err := c.RestartMetricsServer(t.Context(),
		devcluster.MetricsServerConfig{Resolution: 15 * time.Second, RequestTimeout: 10 * time.Second}); err != nil {
		t.Fatal(err)
	}
	eventually(t, 30*time.Second, func(context.Context) error { return asked() })
}
