package vertical

import (
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/resize"
)

// KubeletRefusals are the reasons why the kubelet of a node resizes no pods, or not all. The updater learns some of
// them only when the kubelet refuses to resize a pod, which may belong to any workload.
type KubeletRefusals struct {
	// StaticCPU and StaticMemory are set if the policy of its CPU manager or memory manager is static.
	StaticCPU    bool `json:"staticCPU,omitempty"`
	StaticMemory bool `json:"staticMemory,omitempty"`
	// Swaps is set if containers may swap.
	Swaps bool `json:"swaps,omitempty"`
	// NoResizes is set if it cannot resize pods.
	NoResizes bool `json:"noResizes,omitempty"`
	NotLinux  bool `json:"notLinux,omitempty"`
}

// RefusalsOf returns those of a node.
func RefusalsOf(n *resize.Node) KubeletRefusals {
	return KubeletRefusals{
		StaticCPU: n.Static[vertical.CPU], StaticMemory: n.Static[vertical.Memory], Swaps: n.Swaps,
		NoResizes: !n.Resizes, NotLinux: !n.Linux,
	}
}

// AddTo adds them to those of the node.
func (r KubeletRefusals) AddTo(n *resize.Node) {
	n.Static[vertical.CPU] = n.Static[vertical.CPU] || r.StaticCPU
	n.Static[vertical.Memory] = n.Static[vertical.Memory] || r.StaticMemory
	n.Swaps, n.Resizes, n.Linux = n.Swaps || r.Swaps, n.Resizes && !r.NoResizes, n.Linux && !r.NotLinux
}
