package harness

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
	"github.com/plimsoll-dev/plimsoll/internal/dev/devcluster/adapter"
	"github.com/plimsoll-dev/plimsoll/internal/dev/devcluster/kubelet"
)

// Fault makes one of the adapter's metrics misbehave for those who ask for it in the namespace, until the test ends; the
// zero value heals it.
func (s *Namespace) Fault(metric string, fault adapter.Fault) {
	faults := s.Cluster.Adapter().Faults
	faults.SetIn(s.Name, metric, fault)
	s.t.Cleanup(func() { faults.SetIn(s.Name, metric, adapter.Fault{}) })
}

// FaultPod makes the kubelet's report about a pod wrong, until the test ends; the zero value heals it.
func (s *Namespace) FaultPod(pod string, fault kubelet.PodFault) {
	faults := s.Cluster.Kubelets().Faults
	faults.SetPod(s.Name, pod, fault)
	s.t.Cleanup(func() { faults.SetPod(s.Name, pod, kubelet.PodFault{}) })
}

// PodMetrics is what metrics-server says of the namespace's pods.
func (s *Namespace) PodMetrics(ctx context.Context) (*metricsv1beta1.PodMetricsList, error) {
	clients, err := metrics.NewForConfig(s.Cluster.RESTConfig())
	if err != nil {
		return nil, err
	}
	return clients.MetricsV1beta1().PodMetricses(s.Name).List(ctx, metav1.ListOptions{})
}

// CutOff makes the API server look for a group's version at a port where nobody listens, until the test ends or the
// function that it returns is called.
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
