package vertical

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/version"

	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/resize"
	"github.com/plimsoll-dev/plimsoll/internal/quantity"
)

// firstResizing is the first release whose kubelets resize pods by default.
var firstResizing = version.MustParseGeneric("1.33.0")

// NodeOf returns the fields of a node for a resize, without the requests of other pods. A kubelet whose version cannot
// be parsed is assumed to be able to resize. No object of the API shows whether its managers of CPU or memory are
// static, or whether containers swap: the kubelet refuses the resize (LearnRefusal).
func NodeOf(n *corev1.Node) resize.Node {
	node := resize.Node{Known: true, Linux: true, Resizes: true, Allocatable: AmountsOf(n.Status.Allocatable)}
	if system := n.Status.NodeInfo.OperatingSystem; system != "" {
		node.Linux = strings.EqualFold(system, "linux")
	}
	if kubelet, err := version.ParseSemantic(n.Status.NodeInfo.KubeletVersion); err == nil && kubelet.Major() > 0 {
		node.Resizes = kubelet.AtLeast(firstResizing)
	}
	return node
}

// refusals are parts of the messages by which a kubelet refuses a resize for good, and what they say of its node
// (pkg/kubelet/allocation/handlers.go, features_*.go; the same from v1.34.4 to v1.37.1).
var refusals = []struct {
	message string
	learn   func(*resize.Node)
}{
	{`alongside CPU Manager policy "static"`, func(n *resize.Node) { n.Static[vertical.CPU] = true }},
	{`alongside Memory Manager policy "Static"`, func(n *resize.Node) { n.Static[vertical.Memory] = true }},
	{"In-place resize of containers with swap is not supported", func(n *resize.Node) { n.Swaps = true }},
	{"InPlacePodVerticalScaling is disabled", func(n *resize.Node) { n.Resizes = false }},
	{"In-place pod resize is not supported on this node", func(n *resize.Node) { n.Resizes = false }},
	{"In-place pod resize is not supported on Windows", func(n *resize.Node) { n.Linux = false }},
}

// LearnRefusal adds the settings of a kubelet to its node for which it has refused to resize the pod.
func LearnRefusal(node *resize.Node, pod *corev1.Pod) {
	pending, ok := podCondition(pod.Status.Conditions, corev1.PodResizePending)
	if !ok || pending.Status != corev1.ConditionTrue || pending.Reason != corev1.PodReasonInfeasible {
		return
	}
	for i := range refusals {
		if strings.Contains(pending.Message, refusals[i].message) {
			refusals[i].learn(node)
		}
	}
}

// RequestsOf returns the requests of a pod on its node.
func RequestsOf(p *corev1.Pod) vertical.Amounts {
	pod := Pod(p)
	return pod.NodeRequests()
}

// QuotasOf returns the free amounts in the quotas of a namespace. Quotas with scopes are skipped: only the API server
// can match pods with them.
func QuotasOf(all []*corev1.ResourceQuota) []resize.Quota {
	var quotas []resize.Quota
	for _, q := range all {
		if len(q.Spec.Scopes) > 0 || q.Spec.ScopeSelector != nil {
			continue
		}
		quota := resize.Quota{
			Requests: left(q, corev1.ResourceRequestsCPU, corev1.ResourceRequestsMemory),
			Limits:   left(q, corev1.ResourceLimitsCPU, corev1.ResourceLimitsMemory),
		}
		// Without a prefix, a resource means requests.
		quota.Requests = less(quota.Requests, left(q, corev1.ResourceCPU, corev1.ResourceMemory))
		if quota != (resize.Quota{}) {
			quotas = append(quotas, quota)
		}
	}
	return quotas
}

func left(q *corev1.ResourceQuota, cpu, memory corev1.ResourceName) vertical.Amounts {
	rest := corev1.ResourceList{}
	// The API server stores 1e999999999, and subtracting from it would compute it.
	most := quantity.List(q.Status.Hard)
	taken := quantity.List(q.Status.Used)
	for name, as := range map[corev1.ResourceName]corev1.ResourceName{cpu: corev1.ResourceCPU,
		memory: corev1.ResourceMemory} {
		if hard, ok := most[name]; ok {
			used := taken[name]
			hard = hard.DeepCopy()
			hard.Sub(used)
			rest[as] = hard
		}
	}
	return AmountsOf(rest)
}

// less returns the smaller of each amount; an amount in only one of them counts.
func less(a, b vertical.Amounts) vertical.Amounts {
	for r := range vertical.Resource(vertical.Resources) {
		y, hasY := b.Get(r)
		if x, hasX := a.Get(r); hasY && (!hasX || y < x) {
			a = a.With(r, y)
		}
	}
	return a
}
