package rules

import (
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	plimsollv1alpha1 "github.com/plimsoll-dev/plimsoll/api/plimsoll/v1alpha1"
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
				"target may be defined elsewhere. There the rule reports a target that differs from an existing workload " +
				"in nothing but kind or namespace, or in a letter or two, where nothing else scales that workload.",
			Source: hpaDocs, Needs: []string{objects.Deployment, objects.StatefulSet, objects.DaemonSet, objects.ReplicaSet},
			Check: checkTargetMissing,
		},
		{
			Name: "target-without-scale", Level: Error, Title: "The target cannot be scaled, or sized",
			Why: "An HPA scales what has a scale subresource: Deployments, StatefulSets and ReplicaSets of the group apps, " +
				"ReplicationControllers of the core group, and custom resources that have one. A VPA sizes the pods of these, " +
				"and of DaemonSets, Jobs and CronJobs. On a cluster the API server is asked which kinds it has.",
			Source: hpaDocs, Check: checkWithoutScale,
		},
		{
			Name: "target-kind-in-lower-case", Level: Advice, Title: "The target's kind is written in lower case",
			Why: "API servers' clients find kinds in lower case too, so an HPA works. Programs that compare kinds do not: " +
				"dashboards, other autoscalers that look whether the target is taken, KEDA's webhook, and the updater and the " +
				"admission controller of VPAs, which compare with the owners of pods.",
			Source: hpaDocs, Check: checkLowerCase,
		},
		{
			Name: "two-autoscalers", Level: Error, Title: "Two autoscalers of one direction have the same target",
			Why: "Two HPAs overwrite each other's replica count. Kubernetes stops both (AmbiguousSelector) " +
				"when it detects that. A WorkloadAutoscaler does not act while an HPA or an older " +
				"WorkloadAutoscaler has its target. The behaviour of two VPAs that change the same pods is undefined. " +
				"A VPA that only recommends (mode Off) is harmless, and so is a WorkloadAutoscaler in mode Preview beside an HPA.",
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
			Name: "vpa-target-controlled", Level: Error, Title: "A VPA's target belongs to another workload",
			Why: "A VPA sizes the pods of a workload that nothing else controls: a Deployment, and not its ReplicaSet; a " +
				"CronJob, and not its Jobs. For others the recommender sets the condition ConfigUnsupported, and recommends " +
				"nothing.",
			Source: vpaDocs, Needs: []string{objects.VPA, objects.ReplicaSet, objects.Job}, Check: checkControlled,
		},
	}
}

func selectorRules() []*Rule {
	return []*Rule{
		{
			Name: "selector-matches-others", Level: Error, Title: "The selector matches other workloads' pods",
			Why: "An HPA counts every pod that its target's selector matches. Pods of a Job with the same " +
				"labels add their usage. One such pod without a request makes the whole metric fail.",
			Source: k8sIssues + "120875", Needs: []string{objects.Pod, objects.Job, objects.CronJob}, Check: checkSelector,
		},
		{
			Name: "selector-matches-test-pod", Level: Warning,
			Title: "The selector matches the pod of a test or a hook",
			Why: "The pod that `helm test` makes stays after the test, and other hooks, of Helm and of Argo CD, run during " +
				"each upgrade. While such a pod is there, an HPA counts it: it lowers the average, and without a request it " +
				"makes the whole metric fail.",
			Source: "https://helm.sh/docs/topics/chart_tests/", Needs: []string{objects.Pod, objects.Job}, Check: checkTestPod,
		},
	}
}

var workloadKinds = []string{objects.Deployment, objects.StatefulSet, objects.DaemonSet, objects.ReplicaSet}

func isWorkload(version, kind string) bool {
	return objects.IsBuiltIn(version) && slices.Contains(workloadKinds, kind)
}

func checkTargetMissing(c *objects.Collection) []Finding {
	var found []Finding
	for _, r := range references(c) {
		if !isWorkload(r.version, r.kind) || r.target != nil || r.isOther {
			continue
		}
		like := similar(c, r)
		likely := likelyTarget(c, &r)
		switch {
		case like != nil && like.Namespace == r.object.Namespace:
			found = append(found, Finding{
				Object: r.object, Field: r.field,
				Why:   fmt.Sprintf("There is no %s %s%s, but a %s of that name.", r.kind, r.name, inNamespace(r.object), like.Kind),
				Patch: patch(r.object).set(r.field.In("kind"), like.Kind).set(r.field.In("apiVersion"), like.APIVersion),
			})
		case like != nil:
			found = append(found, Finding{
				Object: r.object, Field: r.field,
				Why: fmt.Sprintf("There is no %s %s%s, but one%s.", r.kind, r.name, inNamespace(r.object),
					inNamespace(&like.Object)),
				Remedy: "Give both the same namespace: an autoscaler sees its own only.",
			})
		case likely != nil && (c.IsCluster || isMisspelling(r.name, likely.Name)):
			found = append(found, Finding{
				Object: r.object, Field: r.field,
				Why: fmt.Sprintf("There is no %s %s%s, but %s %s, which no autoscaler changes.", r.kind, r.name,
					inNamespace(r.object), likely.Kind, likely.Name),
				Remedy: fmt.Sprintf("Did you mean %s %s?", likely.Kind, likely.Name), Patch: r.referTo(likely),
			})
		case c.IsCluster:
			found = append(found, Finding{
				Object: r.object, Field: r.field,
				Why:    fmt.Sprintf("There is no %s %s%s.", r.kind, r.name, inNamespace(r.object)),
				Remedy: "Correct the reference, or delete the autoscaler.",
			})
		}
	}
	return found
}

// inNamespace says where an object is, if it says so itself.
func inNamespace(o *objects.Object) string {
	if namespace := o.NamedNamespace(); namespace != "" {
		return " in namespace " + namespace
	}
	return ""
}

// similar is a workload of that name and another kind, or else in another namespace.
func similar(c *objects.Collection, r reference) *objects.Workload {
	var elsewhere *objects.Workload
	for _, w := range c.Named(r.name) {
		switch {
		case !isWorkload(w.APIVersion, w.Kind):
		case w.Namespace == r.object.Namespace:
			return w
		case w.Kind == r.kind && !c.IsCluster && !w.IsAnywhere() && !r.object.IsAnywhere():
			elsewhere = w
		}
	}
	return elsewhere
}

func checkTwoAutoscalers(c *objects.Collection) []Finding {
	var found []Finding
	first := map[string]*reference{}
	all := references(c)
	for i := range all {
		r := &all[i]
		if r.off || r.name == "" { // the API server refuses the latter
			continue
		}
		key := strings.Join([]string{fmt.Sprint(r.isVertical), r.object.Namespace, objects.ResourceKey(r.version, r.kind),
			r.name}, "/")
		if r.target != nil {
			key = fmt.Sprint(r.isVertical) + " " + r.target.Key()
		}
		other := first[key]
		switch {
		case other == nil, r.mayStandBy(other) && other.isPreview, other.object.IsUnserved && !r.object.IsUnserved:
			first[key] = r
		case !r.mayStandBy(other) && (other.object.IsUnserved || !r.object.IsUnserved):
			found = append(found, twoAutoscalers(c, r, other))
		}
	}
	return found
}

// twoAutoscalers is the finding about two autoscalers of one target. If one of them has the name of a workload that
// nothing scales, it proposes that workload as the target.
func twoAutoscalers(c *objects.Collection, r, other *reference) Finding {
	f := Finding{
		Object: r.object, Field: r.field,
		Why: fmt.Sprintf("%s %s has the same target, %s %s.", other.object.Kind, other.object.Name, r.kind, r.name),
		Remedy: "Put the metrics of both into one and delete the other: an HPA takes the highest count that any metric " +
			"asks for.",
	}
	if mistaken, likely := mistakenReference(c, r, other); mistaken != nil {
		f.Object, f.Field = mistaken.object, mistaken.field
		f.Why = fmt.Sprintf("%s %s is the target of another one too, and nothing scales %s %s.", mistaken.kind,
			mistaken.name, likely.Kind, likely.Name)
		f.Remedy = fmt.Sprintf("Did you mean %s %s?", likely.Kind, likely.Name)
		f.Patch = mistaken.referTo(likely)
		return f
	}
	kinds := []string{r.object.Kind, other.object.Kind}
	switch {
	case slices.Contains(kinds, objects.ScaledObject) && slices.Contains(kinds, objects.HPA):
		f.Remedy = "Delete the HPA: KEDA makes one of the ScaledObject. A trigger of type cpu or memory replaces its " +
			"metrics."
	case r.isOther && r.isVertical, other.isOther && r.isVertical:
		f.Remedy = "Delete one of them: both change the same pods."
	case r.isOther || other.isOther:
		f.Remedy = "Delete one of them: both set the replica count."
	case slices.Contains(kinds, objects.ScaledObject) && slices.Contains(kinds, objects.WLA):
		f.Remedy = "Delete the ScaledObject: the WorkloadAutoscaler does not act before. plimsoll migrate does it without " +
			"a change of the count."
	case r.isVertical:
		f.Remedy = "Delete one of them, or let it only recommend."
		f.Patch = patch(r.object).set(objects.Field{"spec", "updatePolicy", "updateMode"}, "Off")
	case kinds[0] != kinds[1]:
		f.Remedy = "Delete the HPA: the WorkloadAutoscaler does not act before. plimsoll migrate does it without a change " +
			"of the count."
	}
	return f
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

func checkControlled(c *objects.Collection) []Finding {
	var found []Finding
	for _, v := range c.Verticals {
		w := c.TargetOfVertical(v)
		if w == nil {
			continue
		}
		owner := metav1.GetControllerOf(w.Meta)
		if owner == nil || !objects.IsBuiltIn(owner.APIVersion) || groups[owner.Kind] == "" {
			continue
		}
		ref := objects.Field{"spec", "targetRef"}
		found = append(found, Finding{
			Object: &v.Object, Field: ref,
			Why: fmt.Sprintf("%s %s belongs to %s %s, so the VPA recommends nothing.", w.Kind, w.Name, owner.Kind, owner.Name),
			Patch: patch(&v.Object).set(ref, map[string]any{
				"apiVersion": owner.APIVersion, "kind": owner.Kind, "name": owner.Name,
			}),
		})
	}
	return found
}

func checkDaemonSet(c *objects.Collection) []Finding {
	var found []Finding
	for _, h := range c.Horizontals {
		if ref := h.Spec.ScaleTargetRef; strings.EqualFold(ref.Kind, objects.DaemonSet) {
			found = append(found, Finding{
				Object: &h.Object, Field: objects.Field{"spec", "scaleTargetRef", "kind"},
				Why:    fmt.Sprintf("DaemonSet %s has a pod for each node, and no count to set.", ref.Name),
				Remedy: "Delete the " + h.Noun() + "; a VPA can size the pods of a DaemonSet.",
			})
		}
	}
	return found
}

// bySelector are the HPAs of a workload where one of them counts the pods that its selector matches, with any owner.
func bySelector(c *objects.Collection, w *objects.Workload) []*objects.Horizontal {
	hs := c.HorizontalsOf(w)
	isExact := !slices.ContainsFunc(hs, func(h *objects.Horizontal) bool { return !h.CountsOwnPods() })
	if isExact || w.Selector == nil || w.Selector.Empty() {
		return nil
	}
	return hs
}

func checkSelector(c *objects.Collection) []Finding {
	var found []Finding
	for _, w := range c.Workloads {
		hs := bySelector(c, w)
		if len(hs) == 0 {
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
				f.Patch = patch(&hs[0].Object).set(objects.Field{"spec", "selectionStrategy"},
					string(plimsollv1alpha1.SelectionStrategyOwnerReference))
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
		if o == w || metav1.GetControllerOf(o.Meta) != nil || hookOf(o.Meta) != "" || w.Replaces(o) {
			continue
		}
		if owner := metav1.GetControllerOf(w.Meta); owner != nil && owner.Kind == o.Kind && owner.Name == o.Name {
			continue
		}
		names = append(names, o.Kind+" "+o.Name)
	}
	for _, p := range pods {
		if metav1.GetControllerOf(p.Meta) == nil && hookOf(p.Meta) == "" {
			names = append(names, "Pod "+p.Name+", which no workload owns")
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
	for _, t := range resourceTargets(h) {
		if p := t.target.AverageUtilization; p != nil {
			found = append(found, utilization{field: t.field, resource: string(t.name), container: t.container, percent: *p})
		}
	}
	return found
}
