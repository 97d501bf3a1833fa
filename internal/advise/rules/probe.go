package rules

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/plimsoll-dev/plimsoll/internal/advise/containerusage"
	"github.com/plimsoll-dev/plimsoll/internal/advise/objects"
)

func probeRules() []*Rule {
	return []*Rule{
		{
			Name: "no-readiness-probe", Level: Warning, Title: "An HPA by CPU on pods without a readiness probe",
			Why: "An HPA ignores the CPU of pods that are not ready. Without a readiness or startup probe " +
				"a pod is ready as soon as its containers run. So its start-up CPU counts as load, and it " +
				"gets requests before it can answer them. The rule reports nothing where Istio injects the container.",
			Source: guide + "#hpa-actually-kcm-options", Needs: []string{objects.HPA}, Check: checkReadiness,
		},
		{
			Name: "ready-while-starting", Level: Warning, Title: "Pods are ready before their start-up work is done",
			Why: "CPU that a pod uses after it is ready counts as load. If that is much more in the first " +
				"two minutes than later, start-up looks like load, and each scale-up causes the next. Let " +
				"the readiness probe or a startup probe wait for the end of the start-up work. The rule " +
				"needs usage over time and pods with their status.",
			Source: k8sIssues + "71255", NeedsHistory: true, Needs: []string{objects.HPA, objects.Pod}, Check: checkStarting,
		},
		{
			Name: "ordered-statefulset", Level: Advice, Title: "An HPA scales a StatefulSet pod by pod",
			Why: "With podManagementPolicy OrderedReady, the default, a StatefulSet creates the next pod " +
				"only once all pods before it are ready. A surge is answered one start-up at a time.",
			Source: "https://kubernetes.io/docs/concepts/workloads/controllers/statefulset/#pod-management-policies",
			Needs:  []string{objects.HPA}, Check: checkOrdered,
		},
	}
}

func checkReadiness(c *objects.Collection) []Finding {
	var found []Finding
	for _, w := range c.Workloads {
		if !isScaledByCPU(c, w) || slices.ContainsFunc(w.Containers(), isProbed) || len(w.Template.Spec.ReadinessGates) > 0 ||
			len(w.Containers()) == 0 || isInjected(w) {
			continue
		}
		f := Finding{
			Object: w.TemplateObject, Field: w.TemplateField.In("spec", "containers"),
			Why:    "No container has a readiness or startup probe, so the CPU that a pod needs to start counts as load.",
			Remedy: "Add a readiness probe that succeeds once the pod can serve.",
		}
		for _, container := range w.Containers() {
			if len(container.Ports) == 0 {
				continue
			}
			f.Field = container.Field.In("readinessProbe")
			f.Remedy = "An open port says least: ask a path that answers once the pod can serve, if there is one."
			f.Patch = patch(w.TemplateObject).set(f.Field, map[string]any{
				"tcpSocket": map[string]any{"port": int64(container.Ports[0].ContainerPort)}, "periodSeconds": int64(1),
			})
			break
		}
		found = append(found, f)
	}
	return found
}

// isInjected reports whether Istio fills a container of the template in, its probe included: see
// https://istio.io/latest/docs/setup/additional-setup/gateway/. The label of the namespace is enough for that.
func isInjected(w *objects.Workload) bool {
	return slices.ContainsFunc(w.Containers(), func(c objects.Container) bool { return c.Image == "auto" })
}

// injectors are the labels or annotations of pods by which webhooks add a container.
var injectors = map[string][]string{
	"istio-proxy":   {"sidecar.istio.io/inject", "inject.istio.io/templates", "istio.io/rev"},
	"linkerd-proxy": {"linkerd.io/inject"},
	"daprd":         {"dapr.io/enabled"},
	"vault-agent":   {"vault.hashicorp.com/agent-inject"},
}

// isAdded reports whether a webhook adds a container of that name to the pods.
func isAdded(w *objects.Workload, container string) bool {
	return slices.ContainsFunc(injectors[container], func(key string) bool {
		value := cmp.Or(w.Template.Labels[key], w.Template.Annotations[key])
		return value != "" && value != "false" && value != "disabled"
	})
}

func isProbed(c objects.Container) bool { return c.ReadinessProbe != nil || c.StartupProbe != nil }

// What is reported about a start: how much more than later is used, within which time, by how
// many pods.
const (
	startLasts  = 2 * time.Minute
	startFactor = 2
	startPods   = 2
)

func checkStarting(c *objects.Collection) []Finding {
	var found []Finding
	for _, w := range c.Workloads {
		if !isScaledByCPU(c, w) {
			continue
		}
		samples := samplesOf(c, w)
		seen, busy := 0, 0
		for _, p := range c.Own(w) {
			early, late, ok := aroundStart(p.Pod, samples)
			if !ok {
				continue
			}
			seen++
			if early > startFactor*late {
				busy++
			}
		}
		if busy < startPods || busy*2 <= seen {
			continue
		}
		found = append(found, Finding{
			Object: w.TemplateObject, Field: w.TemplateField.In("spec", "containers"),
			Why: fmt.Sprintf(
				"%d of %d pods used more than %d times as much CPU in the first %.0f minutes after they became ready as later.",
				busy, seen, startFactor, startLasts.Minutes()),
			Remedy: "Let the readiness probe fail, or add a startup probe that fails, until the start-up work is done.",
		})
	}
	return found
}

// aroundStart is the median CPU of a pod soon after it became ready and that of later.
func aroundStart(pod *corev1.Pod, samples []containerusage.Sample) (early, late int64, ok bool) {
	var ready time.Time
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.PodReady && condition.Status == corev1.ConditionTrue {
			ready = condition.LastTransitionTime.Time
		}
	}
	var soon, after []containerusage.Sample
	for _, s := range samples {
		since := s.Time.Sub(ready)
		switch {
		case s.Pod != pod.Name || since < 0:
		case since <= startLasts:
			soon = append(soon, s)
		case since > 2*startLasts:
			after = append(after, s)
		}
	}
	if ready.IsZero() || len(soon) == 0 || len(after) < 3 {
		return 0, 0, false
	}
	return containerusage.Percentile(soon, 50, containerusage.CPU),
		containerusage.Percentile(after, 50, containerusage.CPU), true
}

func checkOrdered(c *objects.Collection) []Finding {
	var found []Finding
	for _, w := range c.Workloads {
		hs := c.HorizontalsOf(w)
		if w.Kind != objects.StatefulSet || w.PodManagement == appsv1.ParallelPodManagement || len(hs) == 0 {
			continue
		}
		found = append(found, Finding{
			Object: &w.Object, Field: objects.Field{"spec", "podManagementPolicy"},
			Why: fmt.Sprintf("From %s to %d, as %s may want, the pods start one after another.",
				counted(hs[0].MinReplicas(), "pod"), hs[0].Spec.MaxReplicas, hs[0].Describe()),
			Remedy: "If the pods do not need their order, set podManagementPolicy: Parallel; on a cluster the StatefulSet has " +
				"to be made anew for that " +
				"(kubectl delete --cascade=orphan keeps its pods).",
		})
	}
	return found
}
