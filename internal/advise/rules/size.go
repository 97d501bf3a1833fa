package rules

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/plimsoll-dev/plimsoll/internal/advise/containerusage"
	"github.com/plimsoll-dev/plimsoll/internal/advise/objects"
)

func sizeRules() []*Rule {
	return []*Rule{
		{
			Name: "max-allowed-beyond-node", Level: Warning,
			Title: "maxAllowed, or minAllowed, is more than any node can provide",
			Why: "A pod stays pending if its recommendation exceeds what is free on the largest node. The " +
				"requests of DaemonSets on every node are not free. The containers of a pod and its overhead add up, and " +
				"limits that follow requests can exceed a node too. The rule needs nodes.",
			Source: guide + "#recommendations-in-a-box", Needs: []string{objects.VPA, objects.Node, objects.DaemonSet},
			Check: checkBeyondNode,
		},
		{
			Name: "vpa-container-too-small", Level: Advice, Title: "A VPA on a container too small to benefit",
			Why: "A container that uses at most 50m and 100M gains nothing from a VPA, and its evictions " +
				"affect the whole pod. The rule uses usage over time (95th percentile), otherwise the " +
				"VPA's uncapped recommendation.",
			Source: guide + "#recommendations-in-a-box", Needs: []string{objects.VPA}, Check: checkTooSmall,
		},
		{
			Name: "vpa-container-too-steady", Level: Advice, Title: "A VPA on a container too steady to benefit",
			Why: "If neither CPU nor memory usage of a container varies by more than a factor of two (5th " +
				"to 95th percentile of each pod), a fixed request works as well. The rule needs usage over at least a " +
				"day.",
			Source: guide + "#recommendations-in-a-box", Needs: []string{objects.VPA}, NeedsHistory: true, Check: checkTooSteady,
		},
		{
			Name: "min-allowed-below-idle", Level: Advice,
			Title: "minAllowed is below the highest recommendation of an idle container",
			Why: "While a container is idle its recommendation falls until the pod is evicted. Its start " +
				"or its next periodic work raises it again, and the pod is evicted again. To end that, " +
				"set minAllowed to the highest recommendation of the idle container. The rule needs usage " +
				"over at least an hour. A container is idle if its median CPU is at most 10m. Its " +
				"recommendation is the 90th percentile of CPU and the peak of memory, each with a margin " +
				"of 15 %.",
			Source: guide + "#summary", Needs: []string{objects.VPA}, NeedsHistory: true, Check: checkMinAllowedIdle,
		},
	}
}

// roomiest is the largest allocatable amount of any node that the nodeSelector of a workload allows, and what of it
// DaemonSets for every node leave; false if no such node is known. The workload may be nil.
func roomiest(
	c *objects.Collection, of *objects.Workload, name corev1.ResourceName,
) (total, left resource.Quantity, ok bool) {
	selector := labels.Everything()
	if of != nil {
		selector = labels.SelectorFromSet(of.Template.Spec.NodeSelector)
	}
	for _, n := range c.Nodes {
		q, has := n.Allocatable[name]
		if has && q.Cmp(total) > 0 && selector.Matches(labels.Set(n.Meta.Labels)) {
			total, ok = q, true
		}
	}
	left = total.DeepCopy()
	for _, w := range c.DaemonSets() {
		spec := &w.Template.Spec
		// One with a selector or an affinity may not be on that node.
		if len(spec.NodeSelector) > 0 || spec.Affinity != nil {
			continue
		}
		for _, container := range w.Containers() {
			left.Sub(container.Resources.Requests[name])
		}
	}
	return total, left, ok
}

func checkBeyondNode(c *objects.Collection) []Finding {
	var found []Finding
	for _, v := range c.Verticals {
		if v.Spec.ResourcePolicy == nil {
			continue
		}
		for i := range v.Spec.ResourcePolicy.ContainerPolicies {
			container := v.Spec.ResourcePolicy.ContainerPolicies[i].ContainerName
			found = append(found, beyondNode(c, v, v.PolicyFor(container))...)
		}
		if w := c.TargetOfVertical(v); w != nil {
			found = append(found, beyondNodeTogether(c, w, v)...)
		}
	}
	return found
}

// beyondNode are the amounts that one policy allows and no node can give.
func beyondNode(c *objects.Collection, v *objects.Vertical, policy objects.Policy) []Finding {
	var found []Finding
	for _, name := range sized {
		total, left, known := roomiest(c, c.TargetOfVertical(v), name)
		if !known || !policy.Controls(name) || left.Sign() <= 0 {
			continue
		}
		for _, of := range []string{minAllowed, maxAllowed} {
			bound, bounded := policy.MinAllowed[name]
			if of == maxAllowed {
				bound, bounded = policy.MaxAllowed[name]
			}
			if !bounded || bound.Cmp(left) <= 0 {
				continue
			}
			field := policy.Field.In(of, string(name))
			found = append(found, Finding{
				Object: &v.Object, Field: field,
				Why: fmt.Sprintf("%s of %s is %s; the largest node can give %s, and %s beside the DaemonSets' pods.", of,
					name, bound.String(), total.String(), left.String()),
				Patch: patch(&v.Object).set(field, left.String()),
			})
		}
	}
	return found
}

// isBeyondNode reports whether no known node can give so much.
func (s *sizing) isBeyondNode(c *objects.Collection, amount resource.Quantity) bool {
	_, left, known := roomiest(c, s.w, s.name)
	return known && left.Sign() > 0 && amount.Cmp(left) > 0
}

// Below these a container is too small for a VPA, and within this factor too steady.
const (
	smallCPUMilli    = 50
	smallMemoryBytes = 100_000_000
	steadyFactor     = 2
	idleCPUMilli     = 10
	day              = 24 * time.Hour
)

func checkTooSmall(c *objects.Collection) []Finding {
	var found []Finding
	eachSized(c, func(v *objects.Vertical, w *objects.Workload, container objects.Container) {
		if !sizesAny(v, container.Name) {
			return
		}
		n := typical(c, v, w, container.Name)
		if n == nil || !n.isSmall() {
			return
		}
		found = append(found, Finding{
			Object: &v.Object, Field: objects.Field{"spec", "resourcePolicy", "containerPolicies"},
			Why: fmt.Sprintf("Container %s takes %dm and %d MB (%s), no more than the 50m and 100 MB from which a VPA pays.",
				container.Name, n.cpuMilli, n.memoryBytes/1_000_000, n.from),
			Patch: setPolicy(v, container.Name, "mode", "Off"),
		})
	})
	return found
}

func sizesAny(v *objects.Vertical, container string) bool {
	policy := v.PolicyFor(container)
	return policy.Controls(corev1.ResourceCPU) || policy.Controls(corev1.ResourceMemory)
}

// need is what a container takes.
type need struct {
	cpuMilli, memoryBytes int64
	from                  string
}

// typical is what a container takes, from usage over time or else from the VPA's
// recommendation before its caps; nil if neither is known.
func typical(c *objects.Collection, v *objects.Vertical, w *objects.Workload, container string) *need {
	samples := containerusage.OfContainer(samplesOf(c, w), container)
	if len(samples) > 0 && !c.Usage.IsMoment {
		return &need{
			cpuMilli:    containerusage.Percentile(samples, 95, containerusage.CPU),
			memoryBytes: containerusage.Percentile(samples, 95, containerusage.Memory),
			from:        "95th percentile in " + c.Usage.Source,
		}
	}
	if v.Status.Recommendation == nil {
		return nil
	}
	for _, r := range v.Status.Recommendation.ContainerRecommendations {
		cpu, hasCPU := r.UncappedTarget[corev1.ResourceCPU]
		memory, hasMemory := r.UncappedTarget[corev1.ResourceMemory]
		if r.ContainerName == container && hasCPU && hasMemory {
			return &need{cpuMilli: cpu.MilliValue(), memoryBytes: memory.Value(), from: "the VPA's uncapped recommendation"}
		}
	}
	return nil
}

func checkTooSteady(c *objects.Collection) []Finding {
	var found []Finding
	eachSized(c, func(v *objects.Vertical, w *objects.Workload, container objects.Container) {
		samples := containerusage.OfContainer(samplesOf(c, w), container.Name)
		if !sizesAny(v, container.Name) || containerusage.Length(samples) < day {
			return
		}
		why := fmt.Sprintf("The 95th percentile of container %s is", container.Name)
		for _, name := range sized {
			spread := spreadOverTime(samples, name)
			if spread > steadyFactor {
				return
			}
			why += fmt.Sprintf(" %.2g times the 5th of %s,", spread, name)
		}
		// One that is too small is reported as such.
		if n := typical(c, v, w, container.Name); n != nil && n.isSmall() {
			return
		}
		found = append(found, Finding{
			Object: &v.Object, Field: objects.Field{"spec", "resourcePolicy", "containerPolicies"},
			Why: why + " less than the factor of 2 from which a VPA pays.", Patch: setPolicy(v, container.Name, "mode", "Off"),
		})
	})
	return found
}

// spreadOverTime is by which factor the use of a pod changes, of the pod that changes most: pods of different load are
// no reason for a VPA, which recommends the same for all.
func spreadOverTime(samples []containerusage.Sample, name corev1.ResourceName) float64 {
	byPod := map[string][]containerusage.Sample{}
	for _, s := range samples {
		byPod[s.Pod] = append(byPod[s.Pod], s)
	}
	most := 0.0
	for _, own := range byPod {
		low, high := containerusage.Percentile(own, 5, amount(name)), containerusage.Percentile(own, 95, amount(name))
		most = max(most, float64(high)/float64(max(low, 1)))
	}
	return most
}

func (n *need) isSmall() bool {
	return n.cpuMilli <= smallCPUMilli && n.memoryBytes <= smallMemoryBytes
}

// margin is what the recommender adds, in percent.
const margin = 15

func checkMinAllowedIdle(c *objects.Collection) []Finding {
	var found []Finding
	eachSized(c, func(v *objects.Vertical, w *objects.Workload, container objects.Container) {
		samples := containerusage.OfContainer(samplesOf(c, w), container.Name)
		if !v.Evicts() || containerusage.Length(samples) < time.Hour ||
			containerusage.Percentile(samples, 50, containerusage.CPU) > idleCPUMilli {
			return
		}
		policy := v.PolicyFor(container.Name)
		for _, name := range sized {
			percent := 90.0
			if name == corev1.ResourceMemory {
				percent = 100
			}
			highest := resource.MustParse(quantity(name,
				containerusage.Percentile(samples, percent, amount(name))*(100+margin)/100))
			least, bounded := policy.MinAllowed[name]
			if !bounded || !policy.Controls(name) || least.Cmp(highest) >= 0 {
				continue
			}
			p := setPolicy(v, container.Name, "minAllowed", merged(policy.MinAllowed, name, highest))
			found = append(found, Finding{
				Object: &v.Object, Field: policy.Field.In("minAllowed", string(name)), Patch: p,
				Why: fmt.Sprintf("Container %s idles, and is recommended up to %s of %s at its busiest; minAllowed is %s.",
					container.Name, highest.String(), name, least.String()),
			})
		}
	})
	return found
}

// merged is a list of amounts with one of them changed.
func merged(list corev1.ResourceList, name corev1.ResourceName, value resource.Quantity) map[string]any {
	all := map[string]any{}
	for other, q := range list {
		all[string(other)] = q.String()
	}
	all[string(name)] = value.String()
	return all
}
