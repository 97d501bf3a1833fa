package rules

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

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
