package horizontal

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metricsv1beta1 "k8s.io/metrics/pkg/apis/metrics/v1beta1"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric/source"
	"github.com/plimsoll-dev/plimsoll/internal/observe"
	observehorizontal "github.com/plimsoll-dev/plimsoll/internal/observe/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/output"
)

// unsampled is a container that the samples of some pods leave out.
type unsampled struct {
	container string
	pods      int
	// failsPods is set if the samples name the container without the resource: its pods have no sample then.
	failsPods bool
}

// unsampledOf returns the containers, native sidecars among them, without a sample of metric i, of type Resource.
func (r *Result) unsampledOf(i int) (all []unsampled) {
	spec := &r.Policy.Metrics[i]
	if spec.Type != source.Resource {
		return nil
	}
	pods := map[string]*corev1.Pod{}
	for _, pod := range r.Step.Pods {
		pods[pod.Name] = pod
	}
	at := map[unsampled]int{}
	for k := range r.Step.PodMetrics {
		m := &r.Step.PodMetrics[k]
		pod := pods[m.Name]
		if pod == nil || m.Annotations[observehorizontal.WindowAnnotation] != "" ||
			m.Annotations[observehorizontal.ContainerAnnotation] != "" {
			continue
		}
		for c := range observe.Lasting(pod) {
			isNamed, isSampled := isSampled(m, c.Name, corev1.ResourceName(spec.Name))
			if isSampled {
				continue
			}
			kind := unsampled{container: c.Name, failsPods: isNamed}
			if _, known := at[kind]; !known {
				at[kind] = len(all)
				all = append(all, kind)
			}
			all[at[kind]].pods++
		}
	}
	return all
}

func isSampled(m *metricsv1beta1.PodMetrics, container string, name corev1.ResourceName) (isNamed, isSampled bool) {
	for i := range m.Containers {
		if m.Containers[i].Name == container {
			_, isSampled = m.Containers[i].Usage[name]
			return true, isSampled
		}
	}
	return false, false
}

// unsampledText names the containers without a sample in the line of metric i; empty without such.
func (r *Result) unsampledText(i int) (text string) {
	for _, u := range r.unsampledOf(i) {
		text += fmt.Sprintf("; no sample of container %s in %s", u.container, podsText(u.pods, ""))
	}
	return text
}

// writeUnsampled prints the containers without a sample, and what follows from that.
func (r *Result) writeUnsampled(p *output.Page, i int) {
	for _, u := range r.unsampledOf(i) {
		follows := "the value lacks its use"
		switch {
		case u.failsPods:
			follows = "these pods have no sample"
		case r.Policy.Metrics[i].Target.Type == source.Utilization:
			follows += ", and its request counts"
		}
		p.Detail("no sample", fmt.Sprintf("of container %s in %s: %s", u.container, podsText(u.pods, ""), follows))
	}
}
