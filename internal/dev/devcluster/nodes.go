package devcluster

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/plimsoll-dev/plimsoll/internal/dev/devcluster/build"
)

// maxNodes is the number of networks of 256 pod addresses in the pods' range, 10.128.0.0/9.
const maxNodes = 127 * 256

// nodeName names the simulated nodes from 0.
func nodeName(index int) string { return fmt.Sprintf("node-%d", index) }

// createNodes registers the simulated nodes, ready from the first moment; KWOK then renews their leases.
func (c *Cluster) createNodes(ctx context.Context) error {
	for i, name := range c.nodeNames {
		node := c.node(i, name)
		if _, err := c.client.CoreV1().Nodes().Create(ctx, node, metav1.CreateOptions{}); err != nil {
			return fmt.Errorf("create node %s: %w", name, err)
		}
	}
	return nil
}

func (c *Cluster) node(index int, name string) *corev1.Node {
	shape := c.config.NodeShape
	podCIDR := fmt.Sprintf("10.%d.%d.0/24", 128+index/256, index%256)
	offered := corev1.ResourceList{
		corev1.ResourceCPU:              *resource.NewMilliQuantity(shape.CPUMilli, resource.DecimalSI),
		corev1.ResourceMemory:           *resource.NewQuantity(shape.MemoryBytes, resource.BinarySI),
		corev1.ResourcePods:             *resource.NewQuantity(shape.Pods, resource.DecimalSI),
		corev1.ResourceEphemeralStorage: resource.MustParse("100Gi"),
	}
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{
			Name: name,
			Labels: map[string]string{
				corev1.LabelHostname: name, corev1.LabelOSStable: "linux", corev1.LabelArchStable: "amd64",
				corev1.LabelTopologyZone: fmt.Sprintf("zone-%d", index%3), corev1.LabelTopologyRegion: "simulated",
			},
		},
		Spec: corev1.NodeSpec{PodCIDR: podCIDR, PodCIDRs: []string{podCIDR}},
		Status: corev1.NodeStatus{
			Capacity: offered, Allocatable: offered,
			Phase:      corev1.NodeRunning,
			Conditions: healthyConditions(),
			Addresses: []corev1.NodeAddress{
				{Type: corev1.NodeInternalIP, Address: "127.0.0.1"}, {Type: corev1.NodeHostName, Address: name},
			},
			DaemonEndpoints: corev1.NodeDaemonEndpoints{
				KubeletEndpoint: corev1.DaemonEndpoint{Port: int32(c.simulation.kubeletPort(name))},
			},
			NodeInfo: corev1.NodeSystemInfo{
				OperatingSystem: "linux", Architecture: "amd64", KubeletVersion: c.kubernetes,
				ContainerRuntimeVersion: "simulated://" + build.KWOKVersion, OSImage: "simulated", KernelVersion: "simulated",
			},
		},
	}
}

func healthyConditions() []corev1.NodeCondition {
	now := metav1.NewTime(time.Now())
	condition := func(kind corev1.NodeConditionType, status corev1.ConditionStatus, reason string) corev1.NodeCondition {
		return corev1.NodeCondition{
			Type: kind, Status: status, Reason: reason, LastHeartbeatTime: now, LastTransitionTime: now,
		}
	}
	return []corev1.NodeCondition{
		condition(corev1.NodeReady, corev1.ConditionTrue, "KubeletReady"),
		condition(corev1.NodeMemoryPressure, corev1.ConditionFalse, "KubeletHasSufficientMemory"),
		condition(corev1.NodeDiskPressure, corev1.ConditionFalse, "KubeletHasNoDiskPressure"),
		condition(corev1.NodePIDPressure, corev1.ConditionFalse, "KubeletHasSufficientPID"),
	}
}
