package rules

import (
	"fmt"
	"slices"
	"strings"

	"github.com/plimsoll-dev/plimsoll/internal/advise/objects"
)

const replicationController = "ReplicationController"

// groups are the API versions of the kinds of Kubernetes that make pods.
var groups = map[string]string{
	objects.Deployment: "apps/v1", objects.StatefulSet: "apps/v1", objects.ReplicaSet: "apps/v1",
	objects.DaemonSet: "apps/v1", replicationController: "v1", objects.Job: "batch/v1", objects.CronJob: "batch/v1",
}

// unscaled are those without a scale subresource: a VPA sizes their pods all the same.
var unscaled = []string{objects.DaemonSet, objects.Job, objects.CronJob}

// notScaled says why nothing scales or sizes what is referred to; empty where that is not so, or not known.
func (r *reference) notScaled(c *objects.Collection) string {
	kind := canonical(r.kind)
	if r.isOther || r.kind == "" || kind == objects.DaemonSet && !r.isVertical {
		return "" // the API server refuses the second, and hpa-on-daemonset is about the third
	}
	if _, isKnown := groups[r.kind]; isKnown && r.isVertical && objects.IsBuiltIn(r.version) {
		return "" // a VPA finds these by their kind alone, whatever version of Kubernetes' own groups it names
	}
	needsScale := !r.isVertical || !slices.Contains(unscaled, kind)
	if served, ok := c.Served[r.version+" "+r.kind]; ok {
		switch {
		case !served.IsServed:
			return fmt.Sprintf("The cluster has no kind %s in %s.", r.kind, r.version)
		case !served.HasScale && needsScale:
			return fmt.Sprintf("%s of %s has no scale subresource.", r.kind, r.version)
		}
		return ""
	}
	return r.unknownToKubernetes()
}

// unknownToKubernetes is notScaled where no cluster can be asked.
func (r *reference) unknownToKubernetes() string {
	kind := canonical(r.kind)
	version, isKnown := groups[kind]
	switch {
	case r.version == "" || isCustom(groupOf(r.version)):
		return "" // the API server refuses the one, and the other is a custom resource
	case !isKnown:
		return fmt.Sprintf("Kubernetes has no kind %s in %s with pods that an autoscaler could change.", r.kind, r.version)
	case groupOf(version) != groupOf(r.version):
		return fmt.Sprintf("There is no kind %s in %s; it is in %s.", r.kind, r.version, version)
	case !r.isVertical && slices.Contains(unscaled, kind):
		return fmt.Sprintf("%s of %s has no scale subresource.", r.kind, r.version)
	case r.kind != kind && r.kind != strings.ToLower(r.kind):
		return fmt.Sprintf("There is no kind %s in %s, but %s.", r.kind, r.version, kind)
	}
	return ""
}

// ownGroups are the API groups of Kubernetes that have names as those of custom resources: nothing in them has a scale.
var ownGroups = []string{
	"admissionregistration.k8s.io", "apiextensions.k8s.io", "apiregistration.k8s.io", "authentication.k8s.io",
	"authorization.k8s.io", "certificates.k8s.io", "coordination.k8s.io", "discovery.k8s.io", "events.k8s.io",
	"flowcontrol.apiserver.k8s.io", "networking.k8s.io", "node.k8s.io", "rbac.authorization.k8s.io", "resource.k8s.io",
	"scheduling.k8s.io", "storage.k8s.io",
}

// isCustom reports whether the kinds of a group are custom resources.
func isCustom(group string) bool {
	return strings.Contains(group, ".") && !slices.Contains(ownGroups, group)
}

// canonical is the kind of Kubernetes that is written so but for upper and lower case, or the kind itself.
func canonical(kind string) string {
	for known := range groups {
		if strings.EqualFold(known, kind) {
			return known
		}
	}
	return kind
}

func groupOf(version string) string {
	group, _, has := strings.Cut(version, "/")
	if !has {
		return ""
	}
	return group
}

func checkWithoutScale(c *objects.Collection) []Finding {
	var found []Finding
	for _, r := range references(c) {
		why := r.notScaled(c)
		if why == "" {
			continue
		}
		f := Finding{Object: r.object, Field: r.field, Why: why,
			Remedy: "Name the workload that makes the pods, or delete the autoscaler."}
		if version, ok := groups[canonical(r.kind)]; ok && (r.isVertical || !slices.Contains(unscaled, canonical(r.kind))) {
			f.Remedy = ""
			f.Patch = patch(r.object).set(r.field.In("apiVersion"), version)
			if r.kind != canonical(r.kind) {
				f.Patch.set(r.field.In("kind"), canonical(r.kind))
			}
		}
		found = append(found, f)
	}
	return found
}

func checkLowerCase(c *objects.Collection) []Finding {
	var found []Finding
	for _, r := range references(c) {
		if r.isOther || r.kind == canonical(r.kind) || r.kind != strings.ToLower(r.kind) || r.notScaled(c) != "" {
			continue
		}
		field := r.field.In("kind")
		f := Finding{
			Object: r.object, Field: field, Why: fmt.Sprintf("The kind is %s, written %s.", canonical(r.kind), r.kind),
			Patch: patch(r.object).set(field, canonical(r.kind)),
		}
		if r.isVertical {
			f.Why = fmt.Sprintf("The kind is %s, written %s: the VPA recommends, and changes no pods.", canonical(r.kind),
				r.kind)
		}
		found = append(found, f)
	}
	return found
}
