package explained

import (
	"maps"
	"math"
	"slices"

	corev1 "k8s.io/api/core/v1"

	vpav1 "github.com/plimsoll-dev/plimsoll/api/autoscaling/v1"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/histogram"
	explainvertical "github.com/plimsoll-dev/plimsoll/internal/explain/vertical"
	"github.com/plimsoll-dev/plimsoll/internal/ui/view"
)

// milliPerCore converts the explanation's amounts of CPU, which are in thousandths of a core.
const milliPerCore = 1000

// AddVertical adds the numbers in an explanation of a VerticalPodAutoscaler.
func AddVertical(o *view.Object, e *explainvertical.Explanation) {
	o.Summary, o.Lines = e.Summary(), e.Lines()
	out := e.Output()
	v := &view.Vertical{
		Mode: out.Mode, Containers: []view.VerticalContainer{}, Pods: []view.VerticalPod{}, Updater: e.UpdaterSentences(),
	}
	for i := range out.Containers {
		v.Containers = append(v.Containers, containerOf(e, &out.Containers[i]))
	}
	for i := range e.Update.Pods {
		verdict := &e.Update.Pods[i]
		v.Pods = append(v.Pods, view.VerticalPod{
			Name: verdict.Pod.Name, Requests: explainvertical.RequestsText(verdict), Says: e.PodSentences(verdict),
		})
	}
	o.Vertical = v
}

func containerOf(e *explainvertical.Explanation, c *explainvertical.Container) view.VerticalContainer {
	container := view.VerticalContainer{Name: c.Name, Samples: c.Samples}
	for j := range c.Resources {
		kind := vertical.Resource(j)
		resource := resourceOf(e, c.Name, kind)
		for _, bound := range c.Resources[j].Bounds {
			used := float64(bound.Used)
			if kind == vertical.CPU {
				used /= milliPerCore
			}
			resource.Percentiles = append(resource.Percentiles, view.Percentile{
				Percent: math.Round(1e4*bound.Percentile) / 100, Value: used,
			})
		}
		container.Resources = append(container.Resources, resource)
	}
	return container
}

// resourceOf returns the published amounts of a container's resource, its use and its requests.
func resourceOf(e *explainvertical.Explanation, container string, r vertical.Resource) view.VerticalResource {
	name := corev1.ResourceName(r.String())
	out := view.VerticalResource{Name: r.String()}
	var published []vpav1.RecommendedContainerResources
	if recommendation := e.Step.Object.Status.Recommendation; recommendation != nil {
		published = recommendation.ContainerRecommendations
	}
	for i := range published {
		if c := &published[i]; c.ContainerName == container {
			out.Target, out.Lower = amountOf(c.Target, name), amountOf(c.LowerBound, name)
			out.Upper, out.Uncapped = amountOf(c.UpperBound, name), amountOf(c.UncappedTarget, name)
		}
	}
	for _, checkpoint := range e.Step.Checkpoints {
		if checkpoint.Spec.ContainerName != container {
			continue
		}
		weights := &checkpoint.Status.CPUHistogram
		if r == vertical.Memory {
			weights = &checkpoint.Status.MemoryHistogram
		}
		out.Histogram = barsOf(weights, r)
	}
	out.Requests = requestsOf(e.Step.Pods, container, name)
	return out
}

// amountOf returns nil without an amount, and for a quantity that is infinite as a float.
func amountOf(list corev1.ResourceList, name corev1.ResourceName) *float64 {
	quantity, ok := list[name]
	if !ok {
		return nil
	}
	amount := quantity.AsApproximateFloat64()
	if math.IsInf(amount, 0) {
		return nil
	}
	return &amount
}

// barsOf returns the buckets of a checkpoint that have a weight. A checkpoint from the API is untrusted: it ignores
// values that no recommender writes.
func barsOf(saved *vpav1.HistogramCheckpoint, r vertical.Resource) []view.Bar {
	shape := histogram.ShapeOf(r, 0)
	total := 0.0
	var filled []int
	for _, bucket := range slices.Sorted(maps.Keys(saved.BucketWeights)) {
		if bucket >= 0 && bucket < histogram.Buckets && saved.BucketWeights[bucket] > 0 {
			filled = append(filled, bucket)
			total += float64(saved.BucketWeights[bucket])
		}
	}
	var bars []view.Bar
	for _, bucket := range filled {
		bars = append(bars, view.Bar{
			From: shape.Start(uint64(bucket)), To: shape.Start(uint64(bucket) + 1),
			Weight: float64(saved.BucketWeights[bucket]) / total,
		})
	}
	return bars
}

// requestsOf returns the different requests of a container's pods, the smallest first.
func requestsOf(pods []*corev1.Pod, container string, name corev1.ResourceName) []float64 {
	different := map[float64]bool{}
	for _, pod := range pods {
		for i := range pod.Spec.Containers {
			c := &pod.Spec.Containers[i]
			if amount := amountOf(c.Resources.Requests, name); c.Name == container && amount != nil {
				different[*amount] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(different))
}
