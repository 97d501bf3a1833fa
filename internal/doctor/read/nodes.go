package read

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/plimsoll-dev/plimsoll/internal/collect/kubelet/text"
	"github.com/plimsoll-dev/plimsoll/internal/collect/page"
	"github.com/plimsoll-dev/plimsoll/internal/doctor"
)

// maxKubelets is the largest number of kubelets that are read.
const maxKubelets = 10

func nodeFacts(n *corev1.Node) doctor.Node {
	read := doctor.Node{Name: n.Name, Why: "it reports nothing", NoAgent: noAgent(n)}
	for i := range n.Status.Conditions {
		if c := &n.Status.Conditions[i]; c.Type == corev1.NodeReady {
			read.IsReady, read.Why = c.Status == corev1.ConditionTrue, cmp.Or(c.Reason, c.Message)
		}
	}
	_, read.IsOpenShift = n.Labels[openShiftLabel]
	if strings.HasPrefix(n.Spec.ProviderID, "kind://") {
		read.CgroupRoot = "/kubelet"
	}
	return read
}

// openShiftLabel is a label that each node of OpenShift has.
const openShiftLabel = "node.openshift.io/os_id"

// noAgent returns the reason that the node cannot run an agent, which mounts the cgroups of the node's Linux.
func noAgent(n *corev1.Node) string {
	labels := n.Labels
	switch {
	case labels["kubernetes.io/os"] == "windows":
		return "it runs Windows"
	case labels["type"] == "virtual-kubelet", labels["eks.amazonaws.com/compute-type"] == "fargate":
		return "a virtual node runs no DaemonSet"
	case labels[openShiftLabel] != "":
		return "OpenShift permits a mount of /sys/fs/cgroup to accounts with a SecurityContextConstraints for it alone"
	case strings.HasPrefix(n.Name, "gk3-"):
		return "GKE Autopilot permits no pod to mount /sys/fs/cgroup"
	}
	return ""
}

// nodes reads the nodes, then the kubelets of some that are ready.
func (r *reader) nodes(ctx context.Context) {
	what := request{verb: "list", resource: "nodes", isOfCluster: true}
	r.facts.Nodes = reading(ctx, r, what, func(ctx context.Context) ([]doctor.Node, error) {
		var all []doctor.Node
		err := list(ctx, r.api, "/api/v1/nodes", nil, func(n *corev1.Node) { all = append(all, nodeFacts(n)) })
		return all, err
	})
	var ready []string
	for _, n := range r.facts.Nodes.Value {
		if n.IsReady {
			ready = append(ready, n.Name)
		}
	}
	slices.Sort(ready)
	for _, name := range sampled(ready, maxKubelets) {
		r.facts.Kubelets = append(r.facts.Kubelets, doctor.Kubelet{Node: name})
	}
	each(r.facts.Kubelets, func(_ int, k *doctor.Kubelet) { r.kubelet(ctx, k) })
}

// sampled returns at most this number of names, spread over all of them.
func sampled(names []string, most int) []string {
	if len(names) <= most {
		return names
	}
	some := make([]string, most)
	for i := range some {
		some[i] = names[i*len(names)/most]
	}
	return some
}

// kubelet reads the samples of a kubelet through the API server. The Date of the answer is the kubelet's own: the API
// server passes it on.
func (r *reader) kubelet(ctx context.Context, k *doctor.Kubelet) {
	what := request{verb: "get", resource: "nodes/proxy", name: k.Node, isOfCluster: true}
	k.Unread = what.unread(r.within(ctx, func(ctx context.Context) error {
		read, err := r.api.do(ctx, http.MethodGet,
			"/api/v1/nodes/"+url.PathEscape(k.Node)+"/proxy/metrics/resource", nil, nil)
		if err != nil {
			return err
		}
		k.ReadAt = read.sent.Add(read.received.Sub(read.sent) / 2).Round(0)
		if date, err := http.ParseTime(read.header.Get("Date")); err == nil {
			k.Date = date
		}
		return newestSample(read.body, k)
	}))
}

// newestSample finds the newest sample of CPU use on the kubelet's page.
func newestSample(body []byte, k *doctor.Kubelet) error {
	lines := text.Lines(text.All, maxBytes)
	for lines.Reset(page.Text, body); lines.Next(""); {
		sample := lines.Line()
		switch text.FamilyOf(sample) {
		case text.ScrapeError:
			k.HasFailed = sample.Value != 0
		case text.NodeCPU, text.PodCPU, text.ContainerCPU:
			if at := time.UnixMilli(sample.Time.Millis); sample.Time.IsKnown && at.After(k.Newest) {
				k.Newest = at
			}
		}
	}
	return lines.Err()
}
