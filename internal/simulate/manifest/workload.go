package manifest

import (
	"encoding/json"
	"fmt"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	resourcehelpers "k8s.io/component-helpers/resource"
	"sigs.k8s.io/yaml"

	"github.com/plimsoll-dev/plimsoll/internal/observe"
	"github.com/plimsoll-dev/plimsoll/internal/quantity"
	"github.com/plimsoll-dev/plimsoll/internal/simulate"
)

// Target is the workload that the object scales, among others; nil if it is not among
// them. An HPA may name its kind in lower case.
func Target(objects []Object, ref autoscalingv2.CrossVersionObjectReference) *Object {
	for i := range objects {
		if observe.KindKey(objects[i].Kind) == observe.KindKey(ref.Kind) && objects[i].Name == ref.Name {
			return &objects[i]
		}
	}
	return nil
}

// Fill takes over what the manifest says of the pods: requests, limits, how long they
// take to be ready, and how long they may take to go.
func (o *Object) Fill(w *simulate.Workload) error {
	template, err := o.template()
	if err != nil {
		return fmt.Errorf("%s: %s %s: %w", o.Where, o.Kind, o.Name, err)
	}
	pod := &corev1.Pod{ObjectMeta: template.ObjectMeta, Spec: template.Spec}
	w.Name, w.Pod, w.Containers = o.Kind+" "+o.Name, pod, len(pod.Spec.Containers)
	requests := resourcehelpers.PodRequests(pod, resourcehelpers.PodResourcesOptions{})
	w.CPURequestMilli = float64(requests.Cpu().MilliValue())
	limits := resourcehelpers.PodLimits(pod, resourcehelpers.PodResourcesOptions{})
	w.CPULimitMilli, w.MemoryLimitBytes = 0, 0
	if isLimited(pod, corev1.ResourceCPU) {
		w.CPULimitMilli = float64(limits.Cpu().MilliValue())
	}
	if isLimited(pod, corev1.ResourceMemory) {
		w.MemoryLimitBytes = float64(limits.Memory().Value())
	}
	if ready := readyAfter(pod); ready > 0 {
		w.ReadyAfter = ready
	}
	if grace := pod.Spec.TerminationGracePeriodSeconds; grace != nil {
		w.Grace = time.Duration(*grace) * time.Second
	}
	w.PreStop = preStop(pod)
	return nil
}

// template is the pod template of any kind that has one at the same field as a Deployment.
func (o *Object) template() (*corev1.PodTemplateSpec, error) {
	spec, _ := o.content["spec"].(map[string]any)
	content, found := spec["template"]
	if o.Kind == "Pod" {
		content, found = map[string]any{"metadata": o.content["metadata"], "spec": o.content["spec"]}, true
	}
	if !found {
		return nil, fmt.Errorf("it has no spec.template")
	}
	template := &corev1.PodTemplateSpec{}
	if err := checkQuantities(content, template); err != nil {
		return nil, err
	}
	text, err := yaml.Marshal(content)
	if err != nil {
		return nil, err
	}
	if err := yaml.UnmarshalStrict(text, template); err != nil {
		return nil, fmt.Errorf("spec.template: %w", err)
	}
	if len(template.Spec.Containers) == 0 {
		return nil, fmt.Errorf("spec.template.spec.containers is empty")
	}
	return template, nil
}

// isLimited reports whether every container has a limit: otherwise the pod has none.
func isLimited(pod *corev1.Pod, name corev1.ResourceName) bool {
	if r := pod.Spec.Resources; r != nil {
		if _, found := r.Limits[name]; found {
			return true
		}
	}
	for i := range pod.Spec.Containers {
		if _, found := pod.Spec.Containers[i].Resources.Limits[name]; !found {
			return false
		}
	}
	return true
}

// readyAfter is how long the probes wait at least before the last container can be
// ready; 0 if none does.
func readyAfter(pod *corev1.Pod) time.Duration {
	longest := int32(0)
	for i := range pod.Spec.Containers {
		c := &pod.Spec.Containers[i]
		delay := int32(0)
		if c.StartupProbe != nil {
			delay += c.StartupProbe.InitialDelaySeconds
		}
		if c.ReadinessProbe != nil {
			delay = max(delay, c.ReadinessProbe.InitialDelaySeconds)
		}
		longest = max(longest, delay)
	}
	return time.Duration(longest) * time.Second
}

// preStop is how long the longest hook sleeps that runs before a container is told to stop; 0 if none
// does. How long other hooks take is not known.
func preStop(pod *corev1.Pod) time.Duration {
	longest := int64(0)
	for i := range pod.Spec.Containers {
		if l := pod.Spec.Containers[i].Lifecycle; l != nil && l.PreStop != nil && l.PreStop.Sleep != nil {
			longest = max(longest, l.PreStop.Sleep.Seconds)
		}
	}
	return time.Duration(longest) * time.Second
}

// IsWorkload reports whether the object has pods.
func (o *Object) IsWorkload() bool {
	spec, _ := o.content["spec"].(map[string]any)
	_, found := spec["template"]
	return found || o.Kind == "Pod"
}

// checkQuantities finds one that takes hours to read.
func checkQuantities(content, into any) error {
	text, err := json.Marshal(content)
	if err != nil {
		return err
	}
	return quantity.Check(text, into)
}
