package rules

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/plimsoll-dev/plimsoll/internal/advise/containerusage"
	"github.com/plimsoll-dev/plimsoll/internal/advise/objects"
)

func usageRules() []*Rule {
	return []*Rule{
		{
			Name: "request-far-from-usage", Level: Advice, Title: "A request is far from the usage",
			Why: "Request the 95th percentile of the usage, or the 5th under a VPA, which raises it " +
				"itself. A request of more than double is wasted. A request of less than half slows pods " +
				"down on a full node, and shifts every target in percent. metrics.k8s.io shows a single " +
				"moment, so the rule then reports only a factor of four. A day of samples or more " +
				"(--usage) is conclusive.",
			Source: guide + "#recommendations-in-a-box", NeedsUsage: true, Check: checkRequests,
		},
		{
			Name: "initial-replicas-far", Level: Advice, Title: "Initial replicas are far from the observed replica count",
			Why: "Start with the 5th percentile of the observed replica count, so that the first minutes " +
				"are neither short of pods nor expensive. Do not set it again afterwards (see " +
				"replicas-in-manifest). The rule counts the pods in usage over time, and reports a factor " +
				"of two.",
			Source: guide + "#summary", Needs: []string{objects.HPA}, NeedsHistory: true, Check: checkInitialReplicas,
		},
		{
			Name: "uneven-load", Level: Advice, Title: "The load is spread unevenly over the pods",
			Why: "An HPA uses the average. If one pod of at least three uses twice the average, it can be " +
				"overloaded while the average is fine. More pods do not help until the load is spread " +
				"better (long-lived connections, sticky sessions, one hot key). metrics.k8s.io shows a " +
				"single moment only.",
			Source: guide + "#horizontal-pod-autoscaling-hpa", NeedsUsage: true, Check: checkUneven,
		},
		{
			Name: "container-without-sample", Level: Warning, Title: "A container that a metric counts has no sample",
			Why: "An HPA adds up the samples of a pod's containers, native sidecars among them, and divides by all their " +
				"requests. What a container without a sample uses is not in the sum, so the HPA scales up too late. A container " +
				"whose sample lacks CPU leaves its whole pod without a sample.",
			Source: hpaDocs, Needs: []string{objects.HPA}, NeedsUsage: true, Check: checkUnsampled,
		},
	}
}

func checkRequests(c *objects.Collection) []Finding {
	var found []Finding
	factor := 2.0
	if c.Usage.IsMoment {
		factor = 4
	}
	for _, w := range c.Workloads {
		samples := samplesOf(c, w)
		if !c.IsAutoscaled(w) || len(samples) == 0 {
			continue
		}
		for _, container := range w.Containers() {
			own := containerusage.OfContainer(samples, container.Name)
			if len(own) > 0 {
				found = append(found, farRequests(c, w, container, own, factor)...)
			}
		}
	}
	return found
}

// farRequests are a container's requests that are off by more than the factor.
func farRequests(
	c *objects.Collection, w *objects.Workload, container objects.Container, own []containerusage.Sample, factor float64,
) []Finding {
	var found []Finding
	percent := percentile(c, w)
	for _, name := range sized {
		request, ok := container.Resources.Requests[name]
		if !ok || request.IsZero() {
			continue
		}
		used := resource.MustParse(quantity(name, containerusage.Percentile(own, percent, amount(name))))
		times := request.AsApproximateFloat64() / used.AsApproximateFloat64()
		if times <= factor && times >= 1/factor {
			continue
		}
		f := raise(w, container, name, used,
			fmt.Sprintf("Container %s requests %s of %s; the %.0fth percentile of its usage is %s (%s).",
				container.Name, request.String(), name, percent, used.String(), c.Usage.Source))
		if c.Usage.IsMoment {
			f.Remedy = "This is one moment only: look at a day or more (--usage) before you change it."
		}
		found = append(found, f)
	}
	return found
}

func checkInitialReplicas(c *objects.Collection) []Finding {
	var found []Finding
	for _, w := range c.Workloads {
		samples := samplesOf(c, w)
		if w.Replicas == nil || *w.Replicas == 0 || len(c.HorizontalsOf(w)) == 0 || len(samples) == 0 || c.IsCluster {
			continue
		}
		observed := containerusage.PercentileOf(containerusage.Counts(samples), 5)
		have := int64(*w.Replicas)
		if observed == 0 || have <= 2*observed && observed <= 2*have {
			continue
		}
		field := objects.Field{"spec", "replicas"}
		found = append(found, Finding{
			Object: &w.Object, Field: field,
			Why:    fmt.Sprintf("It begins with %d replicas; the 5th percentile of those observed is %d.", have, observed),
			Remedy: "For the first creation only: take spec.replicas out of what is applied later.",
			Patch:  patch(&w.Object).set(field, observed).local(),
		})
	}
	return found
}

// What is reported as uneven: at least so many pods, one with so many times the average.
const (
	unevenPods     = 3
	unevenFactor   = 2
	unevenCPUMilli = 20
)

func checkUneven(c *objects.Collection) []Finding {
	var found []Finding
	for _, w := range c.Workloads {
		hs := c.HorizontalsOf(w)
		byPod := containerusage.ByPod(samplesOf(c, w))
		if len(hs) == 0 || len(byPod) < unevenPods {
			continue
		}
		var sum int64
		for _, milli := range byPod {
			sum += milli
		}
		average := sum / int64(len(byPod))
		busiest := slices.MaxFunc(slices.Sorted(maps.Keys(byPod)),
			func(a, b string) int { return cmp.Compare(byPod[a], byPod[b]) })
		if byPod[busiest] < unevenFactor*average || byPod[busiest] < unevenCPUMilli {
			continue
		}
		f := Finding{
			Object: &hs[0].Object, Field: objects.Field{"spec", "metrics"},
			Why: fmt.Sprintf("Pod %s uses %dm of CPU, %.1f times the average of %dm over %d pods that the HPA sees (%s).",
				busiest, byPod[busiest], float64(byPod[busiest])/float64(max(average, 1)), average, len(byPod), c.Usage.Source),
			Remedy: "Spread the load better: look at long connections, sticky sessions and hot keys.",
		}
		if c.Usage.IsMoment {
			f.Remedy += " This is one moment only."
		}
		found = append(found, f)
	}
	return found
}

func checkUnsampled(c *objects.Collection) []Finding {
	var found []Finding
	for _, w := range c.Workloads {
		hs := c.HorizontalsOf(w)
		if len(hs) == 0 {
			continue
		}
		unsampled := unsampledOf(c, w)
		for _, h := range hs {
			found = append(found, unsampledIn(c, w, h, unsampled)...)
		}
	}
	return found
}

// unsampledIn returns findings about the metrics of an HPA for which samples of a container are missing.
func unsampledIn(
	c *objects.Collection, w *objects.Workload, h *objects.Horizontal, unsampled []objects.Container,
) []Finding {
	var found []Finding
	for _, t := range resourceTargets(h) {
		for _, container := range unsampled {
			if t.container != "" && t.container != container.Name {
				continue
			}
			why := unsampledText(c, w, container, &t)
			if why == "" {
				continue
			}
			found = append(found, Finding{
				Object: &h.Object, Field: t.field, Why: why,
				Remedy: "See whether kubectl top pods --containers lists it. A ContainerResource metric of another container " +
					"does not need it.",
			})
		}
	}
	return found
}

// unsampledText describes what is missing for a metric, of a container without a complete sample; empty if nothing is.
func unsampledText(
	c *objects.Collection, w *objects.Workload, container objects.Container, t *resourceTarget,
) string {
	partial, isPartial := c.Usage.PartialOf(w.Namespace, w.Kind, w.Name, container.Name)
	switch {
	case t.name == corev1.ResourceCPU && partial.HasCPU, t.name == corev1.ResourceMemory && partial.HasMemory:
		return ""
	case isPartial:
		return fmt.Sprintf("The samples of container %s of %s %s lack %s (%s), so the metric has no value for their pods.",
			container.Name, w.Kind, w.Name, t.name, c.Usage.Source)
	}
	return fmt.Sprintf("There is no sample of container %s of %s %s (%s), so %s.", container.Name, w.Kind, w.Name,
		c.Usage.Source, withoutSample(c, w, container, t))
}

// withoutSample describes the effect on a metric of a container without a sample.
func withoutSample(
	c *objects.Collection, w *objects.Workload, container objects.Container, t *resourceTarget,
) string {
	request, hasRequest := c.RequestOf(w, container, t.name)
	switch {
	case t.container != "":
		return "the metric has no value"
	case hasRequest && t.target.AverageUtilization != nil:
		return fmt.Sprintf("the metric lacks its use, and its request of %s counts", request.String())
	}
	return "the metric lacks its use"
}

// unsampledOf returns the workload's containers, native sidecars among them, without a complete sample of any pod.
func unsampledOf(c *objects.Collection, w *objects.Workload) (found []objects.Container) {
	samples := samplesOf(c, w)
	for _, container := range w.Containers() {
		if lacksSamples(c, w, container.Name, samples) {
			found = append(found, container)
		}
	}
	return found
}

// lacksSamples reports whether the workload's pods have samples, but none of the container. Pods that are known not to
// have the container, as before a rollout, do not count.
func lacksSamples(c *objects.Collection, w *objects.Workload, container string, samples []containerusage.Sample) bool {
	has := map[string]bool{}
	for _, p := range c.Own(w) {
		has[p.Name] = slices.ContainsFunc(slices.Concat(p.Pod.Spec.Containers, p.Pod.Spec.InitContainers),
			func(c corev1.Container) bool { return c.Name == container })
	}
	isSampled := false
	for i := range samples {
		if samples[i].Container == container {
			return false
		}
		hasIt, isKnown := has[samples[i].Pod]
		isSampled = isSampled || hasIt || !isKnown
	}
	return isSampled
}
