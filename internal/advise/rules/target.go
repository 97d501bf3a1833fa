package rules

import (
	"fmt"
	"slices"
	"strings"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/plimsoll-dev/plimsoll/internal/advise/objects"
)

// Sources of the rules.
const (
	guide     = "https://github.com/gardener/gardener/blob/master/docs/usage/autoscaling/shoot_pod_autoscaling_best_practices.md"
	hpaDocs   = "https://kubernetes.io/docs/tasks/run-application/horizontal-pod-autoscale/"
	vpaDocs   = "https://github.com/kubernetes/autoscaler/tree/master/vertical-pod-autoscaler/docs"
	pdbDocs   = "https://kubernetes.io/docs/tasks/run-application/configure-pdb/"
	k8sIssues = "https://github.com/kubernetes/kubernetes/issues/"
	vpaIssues = "https://github.com/kubernetes/autoscaler/issues/"
)

func targetRules() []*Rule {
	return []*Rule{
		{
			Name: "target-missing", Level: Error, Title: "The target does not exist",
			Why: "An autoscaler without its target does nothing, and only its status says so. In files the " +
				"target may be defined elsewhere. There the rule reports only a target that differs from " +
				"an existing workload in nothing but kind or namespace.",
			Source: hpaDocs, Needs: []string{objects.Deployment, objects.StatefulSet, objects.DaemonSet, objects.ReplicaSet},
			Check: checkTargetMissing,
		},
		{
			Name: "two-autoscalers", Level: Error, Title: "Two autoscalers of one direction have the same target",
			Why: "Two HPAs overwrite each other's replica count. Kubernetes stops both (AmbiguousSelector) " +
				"when it detects that. A WorkloadAutoscaler does not act while an HPA or an older " +
				"WorkloadAutoscaler has its target. The behaviour of two VPAs that change the same pods is undefined. " +
				"A VPA that only recommends (mode Off) is harmless.",
			Source: k8sIssues + "122059", Check: checkTwoAutoscalers,
		},
		{
			Name: "hpa-on-replicaset", Level: Error, Title: "An HPA scales the ReplicaSet of a Deployment",
			Why: "The Deployment sets the replica count of its ReplicaSets itself, so it and the HPA undo " +
				"each other's changes. After the next rollout the HPA scales an unused ReplicaSet.",
			Source: hpaDocs, Needs: []string{objects.HPA}, Check: checkReplicaSet,
		},
		{
			Name: "hpa-on-daemonset", Level: Error, Title: "An HPA scales a DaemonSet",
			Why:    "A DaemonSet has one pod per node and no scale subresource, so an HPA has nothing to set.",
			Source: hpaDocs, Needs: []string{objects.HPA}, Check: checkDaemonSet,
		},
		{
			Name: "selector-matches-others", Level: Error, Title: "The selector matches other workloads' pods",
			Why: "An HPA counts every pod that its target's selector matches. Pods of a Job with the same " +
				"labels add their usage. One such pod without a request makes the whole metric fail.",
			Source: k8sIssues + "120875", Needs: []string{objects.Pod, objects.Job, objects.CronJob}, Check: checkSelector,
		},
	}
}

// references are the autoscalers with what they refer to.
type reference struct {
	object          *objects.Object
	kind, name      string
	field           objects.Field
	isVertical, off bool
}

func references(c *objects.Collection) []reference {
	var all []reference
	for _, h := range c.Horizontals {
		ref := h.Spec.ScaleTargetRef
		all = append(all, reference{object: &h.Object, kind: ref.Kind, name: ref.Name, field: objects.Field{"spec",
			"scaleTargetRef"}})
	}
	for _, v := range c.Verticals {
		if ref := v.Spec.TargetRef; ref != nil {
			all = append(all, reference{
				object: &v.Object, kind: ref.Kind, name: ref.Name, field: objects.Field{"spec", "targetRef"},
				isVertical: true, off: v.Mode() == "Off",
			})
		}
	}
	return all
}

var workloadKinds = []string{objects.Deployment, objects.StatefulSet, objects.DaemonSet, objects.ReplicaSet}

func checkTargetMissing(c *objects.Collection) []Finding {
	var found []Finding
	for _, r := range references(c) {
		if !slices.Contains(workloadKinds, r.kind) || c.Target(r.object.Namespace, r.kind, r.name) != nil {
			continue
		}
		like := similar(c, r)
		switch {
		case like != nil && like.Namespace == r.object.Namespace:
			found = append(found, Finding{
				Object: r.object, Field: r.field,
				Why: fmt.Sprintf("There is no %s %s in namespace %s, but a %s of that name.", r.kind, r.name, r.object.Namespace,
					like.Kind),
				Patch: patch(r.object).set(r.field.In("kind"), like.Kind).set(r.field.In("apiVersion"), like.APIVersion),
			})
		case like != nil:
			found = append(found, Finding{
				Object: r.object, Field: r.field,
				Why: fmt.Sprintf("There is no %s %s in namespace %s, but one in namespace %s.", r.kind, r.name,
					r.object.Namespace, like.Namespace),
				Remedy: "Give both the same namespace: an autoscaler sees its own only.",
			})
		case c.IsCluster:
			found = append(found, Finding{
				Object: r.object, Field: r.field,
				Why:    fmt.Sprintf("There is no %s %s in namespace %s.", r.kind, r.name, r.object.Namespace),
				Remedy: "Correct the reference, or delete the autoscaler.",
			})
		}
	}
	return found
}

// similar is a workload of that name and another kind, or else in another namespace.
func similar(c *objects.Collection, r reference) *objects.Workload {
	var elsewhere *objects.Workload
	for _, w := range c.Named(r.name) {
		switch {
		case !slices.Contains(workloadKinds, w.Kind):
		case w.Namespace == r.object.Namespace:
			return w
		case w.Kind == r.kind && !c.IsCluster:
			elsewhere = w
		}
	}
	return elsewhere
}

func checkTwoAutoscalers(c *objects.Collection) []Finding {
	var found []Finding
	first := map[string]*objects.Object{}
	for _, r := range references(c) {
		if r.off {
			continue
		}
		// The API's clients accept a kind in lower case too.
		key := strings.Join([]string{fmt.Sprint(r.isVertical), r.object.Namespace, strings.ToLower(r.kind), r.name}, "/")
		other := first[key]
		if other == nil {
			first[key] = r.object
			continue
		}
		f := Finding{
			Object: r.object, Field: r.field,
			Why: fmt.Sprintf("%s %s has the same target, %s %s.", other.Kind, other.Name, r.kind, r.name),
			Remedy: "Put the metrics of both into one and delete the other: an HPA takes the highest count that any metric " +
				"asks for.",
		}
		if r.object.Kind != other.Kind {
			f.Remedy = "Delete the HPA: the WorkloadAutoscaler does not act before. plimsoll migrate does it without a change " +
				"of the count."
		}
		if r.isVertical {
			f.Remedy = "Delete one of them, or let it only recommend."
			f.Patch = patch(r.object).set(objects.Field{"spec", "updatePolicy", "updateMode"}, "Off")
		}
		found = append(found, f)
	}
	return found
}

func checkReplicaSet(c *objects.Collection) []Finding {
	var found []Finding
	for _, h := range c.Horizontals {
		w := c.TargetOfHorizontal(h)
		if w == nil || w.Kind != objects.ReplicaSet {
			continue
		}
		owner := metav1.GetControllerOf(w.Meta)
		if owner == nil || owner.Kind != objects.Deployment {
			continue
		}
		ref := objects.Field{"spec", "scaleTargetRef"}
		found = append(found, Finding{
			Object: &h.Object, Field: ref,
			Why: fmt.Sprintf("ReplicaSet %s belongs to Deployment %s, which sets its count.", w.Name, owner.Name),
			Patch: patch(&h.Object).set(ref, map[string]any{
				"apiVersion": owner.APIVersion, "kind": owner.Kind, "name": owner.Name,
			}),
		})
	}
	return found
}

func checkDaemonSet(c *objects.Collection) []Finding {
	var found []Finding
	for _, h := range c.Horizontals {
		if ref := h.Spec.ScaleTargetRef; ref.Kind == objects.DaemonSet {
			found = append(found, Finding{
				Object: &h.Object, Field: objects.Field{"spec", "scaleTargetRef", "kind"},
				Why:    fmt.Sprintf("DaemonSet %s has a pod for each node, and no count that an %s could set.", ref.Name, h.Noun()),
				Remedy: "Delete the " + h.Noun() + "; a VPA can size the pods of a DaemonSet.",
			})
		}
	}
	return found
}

func checkSelector(c *objects.Collection) []Finding {
	var found []Finding
	for _, w := range c.Workloads {
		hs := c.HorizontalsOf(w)
		isExact := !slices.ContainsFunc(hs, func(h *objects.Horizontal) bool { return !h.CountsOwnPods() })
		if isExact || w.Selector == nil || w.Selector.Empty() {
			continue
		}
		if others := others(c, w); len(others) > 0 {
			f := Finding{
				Object: &w.Object, Field: objects.Field{"spec", "selector"},
				Why: fmt.Sprintf("The selector %s also matches the pods of %s, so their usage counts.", w.Selector,
					strings.Join(others, ", ")),
				Remedy: "Give the pods of each a label that only they have, and select by it; a selector can be changed only by " +
					"making the workload anew.",
			}
			if len(hs) == 1 && hs[0].Workload != nil {
				f.Remedy = "Or give the pods of each a label that only they have."
				f.Patch = patch(&hs[0].Object).set(objects.Field{"spec", "selectionStrategy"}, "OwnerReferences")
			}
			found = append(found, f)
		}
	}
	return found
}

// others are those whose pods the workload's selector matches too.
func others(c *objects.Collection, w *objects.Workload) []string {
	var names []string
	workloads, pods := c.Selected(w)
	for _, o := range workloads {
		// What another workload owns is reported with its owner.
		if o == w || metav1.GetControllerOf(o.Meta) != nil {
			continue
		}
		if owner := metav1.GetControllerOf(w.Meta); owner != nil && owner.Kind == o.Kind && owner.Name == o.Name {
			continue
		}
		names = append(names, o.Kind+" "+o.Name)
	}
	for _, p := range pods {
		if metav1.GetControllerOf(p.Meta) == nil {
			names = append(names, "nobody (Pod "+p.Name+")")
		}
	}
	return names
}

// utilization is a metric that is a part of what is requested.
type utilization struct {
	field     objects.Field
	resource  string
	container string
	percent   int32
}

// utilizations are the HPA's metrics of that kind.
func utilizations(h *objects.Horizontal) []utilization {
	var found []utilization
	for i, m := range h.Metrics() {
		field := objects.Field{"spec", "metrics", fmt.Sprint(i)}
		switch {
		case m.Type == autoscalingv2.ResourceMetricSourceType && m.Resource != nil &&
			m.Resource.Target.AverageUtilization != nil:
			found = append(found, utilization{
				field: field.In("resource"), resource: string(m.Resource.Name), percent: *m.Resource.Target.AverageUtilization,
			})
		case m.Type == autoscalingv2.ContainerResourceMetricSourceType && m.ContainerResource != nil &&
			m.ContainerResource.Target.AverageUtilization != nil:
			found = append(found, utilization{
				field: field.In("containerResource"), resource: string(m.ContainerResource.Name),
				container: m.ContainerResource.Container,
				percent:   *m.ContainerResource.Target.AverageUtilization,
			})
		}
	}
	return found
}
