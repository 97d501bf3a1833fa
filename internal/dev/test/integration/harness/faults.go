package harness

import (
	"github.com/plimsoll-dev/plimsoll/internal/dev/devcluster/adapter"
	"github.com/plimsoll-dev/plimsoll/internal/dev/devcluster/kubelet"
)

// Fault makes one of the adapter's metrics misbehave for requests about the namespace, until the test
// ends; the zero value heals it.
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
