package judge

import (
	"fmt"
	"slices"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/doctor"
)

func nodes(f *doctor.Facts) []doctor.Finding {
	if f.Nodes.Unread != nil {
		return unknown("the nodes", f.Nodes.Unread)
	}
	var found []doctor.Finding
	for i := range f.Nodes.Value {
		n := &f.Nodes.Value[i]
		if n.IsReady {
			continue
		}
		found = append(found, doctor.Finding{
			Level: doctor.Warning, Object: "Node " + n.Name, What: "it is not ready: " + n.Why,
			Why:     "its pods have no samples; their replicas count as missing in each decision",
			Do:      "see its conditions",
			Command: "kubectl describe node " + n.Name,
		})
	}
	switch {
	case len(found) > 0:
		return bounded(found)
	case len(f.Nodes.Value) == 0:
		return []doctor.Finding{{Level: doctor.Warning, What: "there are no nodes", Why: "no pod can run", Do: "add nodes"}}
	}
	return ok("%s ready", nodesReady(len(f.Nodes.Value)))
}

func nodesReady(n int) string {
	if n == 1 {
		return "1 node is"
	}
	return fmt.Sprintf("%d nodes are", n)
}

func kubelets(f *doctor.Facts) []doctor.Finding {
	if f.Nodes.Unread != nil {
		return unknown("the samples of kubelets", f.Nodes.Unread)
	}
	var found []doctor.Finding
	var unreadable []*doctor.Kubelet
	var oldest time.Duration
	read, isRightNamed := 0, false
	for i := range f.Kubelets {
		k := &f.Kubelets[i]
		switch {
		case k.Unread != nil && k.Unread.Right != "":
			// The same right for each node.
			if !isRightNamed {
				found, isRightNamed = append(found, unread("the samples of kubelets", k.Unread)), true
			}
		case k.Unread != nil:
			unreadable = append(unreadable, k)
		default:
			read++
			age := sampleAge(f, k)
			oldest = max(oldest, age)
			found = append(found, kubelet(k, age)...)
		}
	}
	found = append(found, unreadKubelets(unreadable)...)
	switch {
	case len(found) > 0:
		return bounded(found)
	case read == 0:
		return nothing
	}
	return ok("the newest samples of %s are at most %s old", count(read, "kubelet"), short(oldest))
}

// sampleAge is by the kubelet's own clock, which gave the sample its time.
func sampleAge(f *doctor.Facts, k *doctor.Kubelet) time.Duration {
	date := k.Date
	if date.IsZero() {
		date = k.ReadAt.Add(f.Server.Value.Ahead)
	}
	return date.Sub(k.Newest)
}

// unreadKubelets has a finding for each cause: a firewall blocks the port of all nodes.
func unreadKubelets(all []*doctor.Kubelet) []doctor.Finding {
	var found []doctor.Finding
	for len(all) > 0 {
		first := all[0]
		var names []string
		all = slices.DeleteFunc(all, func(k *doctor.Kubelet) bool {
			isSame := k.Unread.Why == first.Unread.Why
			if isSame {
				names = append(names, k.Node)
			}
			return isSame
		})
		one := doctor.Finding{
			Level: doctor.Warning, Object: "Node " + first.Node,
			What:    "its kubelet cannot be read through the API server: " + first.Unread.Why,
			Why:     "Plimsoll and metrics-server may not reach it either",
			Do:      "see whether the kubelet runs and whether a firewall blocks its port",
			Command: readKubelet(first),
		}
		if len(names) > 1 {
			one.Object = "Nodes " + listed(names)
			one.What = "their kubelets cannot be read through the API server: " + first.Unread.Why
			one.Why = "Plimsoll and metrics-server may not reach them either"
			one.Do = "see whether the kubelets run and whether a firewall blocks their port"
		}
		found = append(found, one)
	}
	return found
}

func kubelet(k *doctor.Kubelet, age time.Duration) []doctor.Finding {
	found := doctor.Finding{
		Level: doctor.Warning, Object: "Node " + k.Node,
		Why:     "decisions about pods of this node follow the load that late, or leave them out",
		Do:      "see the load and the log of the kubelet and of the container runtime on this node",
		Command: readKubelet(k),
	}
	switch {
	case k.HasFailed:
		found.What = "its kubelet cannot measure its containers (resource_scrape_error)"
		found.Why = "its pods have no samples"
	case k.Newest.IsZero():
		found.What = "its kubelet has no sample"
		found.Why = "its pods have no samples"
	case age > kubeletSampleWarning:
		found.What = fmt.Sprintf("the newest sample of its kubelet is %s old", short(age))
		if age > kubeletSampleProblem {
			found.Level = doctor.Problem
		}
	default:
		return nil
	}
	return []doctor.Finding{found}
}

func readKubelet(k *doctor.Kubelet) string {
	return fmt.Sprintf("kubectl get --raw /api/v1/nodes/%s/proxy/metrics/resource", k.Node)
}
