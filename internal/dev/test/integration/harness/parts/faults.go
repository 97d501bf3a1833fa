package parts

import (
	"context"
	"fmt"
	"net"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	aggregator "k8s.io/kube-aggregator/pkg/client/clientset_generated/clientset"
	metricsv1beta1 "k8s.io/metrics/pkg/apis/metrics/v1beta1"
	metrics "k8s.io/metrics/pkg/client/clientset/versioned"

	"github.com/plimsoll-dev/plimsoll/internal/dev/devcluster"
)

// PodMetrics returns metrics-server's metrics of a namespace's pods.
func PodMetrics(
	ctx context.Context, cluster *devcluster.Cluster, namespace string,
) (*metricsv1beta1.PodMetricsList, error) {
	clients, err := metrics.NewForConfig(cluster.RESTConfig())
	if err != nil {
		return nil, err
	}
	return clients.MetricsV1beta1().PodMetricses(namespace).List(ctx, metav1.ListOptions{})
}

// CutOff redirects the API server's requests for a group's version to a port without a listener, until the test ends or
// the returned function is called.
func CutOff(t *testing.T, cluster *devcluster.Cluster, group, version string) (restore func()) {
	t.Helper()
	port := setPort(t, cluster, devcluster.APIServiceName(group, version), deadPort(t))
	done := false
	restore = func() {
		if !done {
			done = true
			setPort(t, cluster, devcluster.APIServiceName(group, version), port)
		}
	}
	t.Cleanup(restore)
	return restore
}

// deadPort is a port that was free a moment ago.
func deadPort(t *testing.T) int32 {
	t.Helper()
	var config net.ListenConfig
	listener, err := config.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address, ok := listener.Addr().(*net.TCPAddr)
	if err := listener.Close(); err != nil || !ok {
		t.Fatalf("%v: %v", listener.Addr(), err)
	}
	return int32(address.Port)
}

// setPort changes where an aggregated API is served and returns where it was before.
func setPort(t *testing.T, cluster *devcluster.Cluster, name string, port int32) (before int32) {
	t.Helper()
	clients, err := aggregator.NewForConfig(cluster.RESTConfig())
	if err != nil {
		t.Fatal(err)
	}
	services := clients.ApiregistrationV1().APIServices()
	ctx := context.WithoutCancel(t.Context()) // restoring outlives the test
	for {
		service, err := services.Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		before, err = move(service, port)
		if err != nil {
			t.Fatal(err)
		}
		_, err = services.Update(ctx, service, metav1.UpdateOptions{})
		if err == nil {
			return before
		}
		t.Logf("%s: %v", name, err) // a conflict with the controller that writes the condition Available
	}
}

func move(service *apiregistrationv1.APIService, port int32) (before int32, err error) {
	reference := service.Spec.Service
	if reference == nil || reference.Port == nil {
		return 0, fmt.Errorf("%s is not served by a port", service.Name)
	}
	before = *reference.Port
	reference.Port = &port
	return before, nil
}
