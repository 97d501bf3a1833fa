package rules

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/plimsoll-dev/plimsoll/internal/advise/containerusage"
	"github.com/plimsoll-dev/plimsoll/internal/advise/objects"
)

func requestRules() []*Rule {
	return []*Rule{
		{
			Name: "missing-request", Level: Error, Title: "Utilization target without a request",
			Why: "Utilization is usage in percent of the request. If one container of the pod has no " +
				"request, even a sidecar, the HPA computes nothing (FailedGetResourceMetric) and does not " +
				"scale. A limit, or a LimitRange's default, replaces a missing request.",
			Source: k8sIssues + "79365", Needs: []string{objects.HPA, objects.LimitRange}, Check: checkMissingRequest,
		},
		{
			Name: "hpa-vpa-same-resource", Level: Error, Title: "HPA on utilization and VPA on the same resource",
			Why: "When the VPA changes the request, utilization changes without a change of load, so the " +
				"HPA scales. That changes the usage per pod, so the VPA changes the request again. An " +
				"averageValue does not depend on requests.",
			Source: guide + "#combining-hpa-and-vpa", Needs: []string{objects.HPA, objects.VPA}, Check: checkSameResource,
		},
		{
			Name: "best-effort", Level: Warning, Title: "An autoscaled workload's pods are BestEffort",
			Why: "Pods without any request or limit may be placed anywhere, are evicted first, and can " +
				"disturb others. Prefer Burstable: requests, and no limits unless you know them. The rule " +
				"reports nothing where missing-request does.",
			Source: guide + "#quality-of-service-qos", Needs: []string{objects.LimitRange}, Check: checkBestEffort,
		},
	}
}

// Requests to begin with where nothing is known of usage.
const (
	startCPU    = "100m"
	startMemory = "128Mi"
)

// suggest is a request for a container that has none, and where it is from.
func suggest(
	c *objects.Collection, w *objects.Workload, container string, name corev1.ResourceName,
) (request, why string) {
	samples := containerusage.OfContainer(samplesOf(c, w), container)
	if len(samples) == 0 {
		start := beginning(c, w, container, name)
		return start, start + " is only a number to begin with: measure, and request what the container uses."
	}
	percent := percentile(c, w)
	return quantity(name, containerusage.Percentile(samples, percent, amount(name))),
		fmt.Sprintf("The value is the %.0fth percentile of the usage in %s.", percent, c.Usage.Source)
}

// beginning is a request where nothing is known of usage: none from which a VPA would evict the pod at once.
func beginning(c *objects.Collection, w *objects.Workload, container string, name corev1.ResourceName) string {
	start := resource.MustParse(startMemory)
	if name == corev1.ResourceCPU {
		start = resource.MustParse(startCPU)
	}
	for _, v := range c.VerticalsOf(w) {
		s := sizing{v: v, w: w, policy: v.PolicyFor(container), name: name}
		if least := s.leastRecommended(); v.Evicts() && s.policy.Controls(name) && start.Cmp(least) < 0 {
			start = least
		}
	}
	return start.String()
}

// percentile is that of usage which the guide wants requested: under a VPA the 5th, as
// it raises requests itself, else the 95th.
func percentile(c *objects.Collection, w *objects.Workload) float64 {
	if len(c.VerticalsOf(w)) > 0 {
		return 5
	}
	return 95
}

func samplesOf(c *objects.Collection, w *objects.Workload) []containerusage.Sample {
	return c.Usage.OfWorkload(w.Namespace, w.Kind, w.Name)
}

func amount(name corev1.ResourceName) func(containerusage.Sample) int64 {
	if name == corev1.ResourceCPU {
		return containerusage.CPU
	}
	return containerusage.Memory
}

// quantity writes thousandths of a core, or bytes as whole Mi.
func quantity(name corev1.ResourceName, value int64) string {
	if name == corev1.ResourceCPU {
		return resource.NewMilliQuantity(max(value, 1), resource.DecimalSI).String()
	}
	const mi = 1 << 20
	return resource.NewQuantity(max((value+mi-1)/mi, 1)*mi, resource.BinarySI).String()
}

func checkMissingRequest(c *objects.Collection) []Finding {
	var found []Finding
	seen := map[string]bool{}
	for _, h := range c.Horizontals {
		for _, f := range missingRequests(c, h) {
			if key := f.Object.Key() + f.Field.String(); !seen[key] {
				seen[key] = true
				found = append(found, f)
			}
		}
	}
	return found
}

// missingRequests are those that keep one HPA from working.
func missingRequests(c *objects.Collection, h *objects.Horizontal) []Finding {
	w := c.TargetOfHorizontal(h)
	if w == nil {
		return nil
	}
	var found []Finding
	for _, u := range utilizations(h) {
		if !slices.Contains(sized, corev1.ResourceName(u.resource)) {
			continue // resource-not-measured
		}
		for _, container := range withoutRequest(c, w, u) {
			f := missingRequest(c, w, container, u)
			f.Why = fmt.Sprintf(
				"Container %s requests no %s, so %s cannot compute its utilization target of %d %%: it does not scale.",
				container.Name, u.resource, h.Describe(), u.percent)
			found = append(found, f)
		}
	}
	return found
}

// withoutRequest are the containers that keep a utilization from being computed.
func withoutRequest(c *objects.Collection, w *objects.Workload, u utilization) []objects.Container {
	name := corev1.ResourceName(u.resource)
	if u.container == "" && w.PodRequests(name) {
		return nil
	}
	var found []objects.Container
	for _, container := range w.Containers() {
		if u.container != "" && container.Name != u.container {
			continue
		}
		if _, ok := c.RequestOf(w, container, name); !ok {
			found = append(found, container)
		}
	}
	return found
}

func missingRequest(c *objects.Collection, w *objects.Workload, container objects.Container, u utilization) Finding {
	field := container.Field.In("resources", "requests", u.resource)
	value, remedy := suggest(c, w, container.Name, corev1.ResourceName(u.resource))
	p := patch(w.TemplateObject).set(field, value)
	return Finding{Object: w.TemplateObject, Field: field, Remedy: remedy, Patch: p}
}

func checkBestEffort(c *objects.Collection) []Finding {
	var found []Finding
	for _, w := range c.Workloads {
		if !c.IsAutoscaled(w) || len(w.Containers()) == 0 || !isBestEffort(c, w) ||
			slices.ContainsFunc(c.HorizontalsOf(w), func(h *objects.Horizontal) bool { return len(utilizations(h)) > 0 }) {
			continue
		}
		p := patch(w.TemplateObject)
		var names []string
		for _, container := range w.Containers() {
			cpu, _ := suggest(c, w, container.Name, corev1.ResourceCPU)
			memory, _ := suggest(c, w, container.Name, corev1.ResourceMemory)
			p.set(container.Field.In("resources"), map[string]any{"requests": map[string]any{"cpu": cpu, "memory": memory}})
			names = append(names, container.Name)
		}
		found = append(found, Finding{
			Object: w.TemplateObject, Field: w.TemplateField.In("spec", "containers"),
			Why: fmt.Sprintf("No container (%s) requests or limits anything, so the pods are BestEffort%s.",
				strings.Join(names, ", "), untilSized(c, w)),
			Remedy: "The numbers are to begin with, unless usage is known: request what the containers use.", Patch: p,
		})
	}
	return found
}

// untilSized is when that ends, under a VPA.
func untilSized(c *objects.Collection, w *objects.Workload) string {
	for _, v := range c.VerticalsOf(w) {
		return fmt.Sprintf(" until VPA %s has a recommendation, and where its webhook does not answer", v.Name)
	}
	return ""
}

// isBestEffort reports whether no container requests or limits anything. Init containers that end count too
// (k8s.io/kubernetes, pkg/apis/core/v1/helper/qos).
func isBestEffort(c *objects.Collection, w *objects.Workload) bool {
	all := w.Containers()
	for i := range w.Template.Spec.InitContainers {
		all = append(all, objects.Container{Container: &w.Template.Spec.InitContainers[i]})
	}
	for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
		if w.PodRequests(name) {
			return false
		}
		for _, container := range all {
			// The quality of service leaves out what is zero.
			request, _ := c.RequestOf(w, container, name)
			limit, _, _ := c.LimitOf(w, container, name)
			if !request.IsZero() || !limit.IsZero() {
				return false
			}
		}
	}
	return true
}
