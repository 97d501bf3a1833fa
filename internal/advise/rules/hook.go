package rules

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/plimsoll-dev/plimsoll/internal/advise/objects"
)

// The annotations of hooks: see https://helm.sh/docs/topics/charts_hooks/ and
// https://argo-cd.readthedocs.io/en/stable/user-guide/sync-waves/.
const (
	helmHook       = "helm.sh/hook"
	helmHookDelete = "helm.sh/hook-delete-policy"
	argoHook       = "argocd.argoproj.io/hook"
	argoHookDelete = "argocd.argoproj.io/hook-delete-policy"
)

// hookOf returns the hook by which Helm or Argo CD makes the object; empty without one.
func hookOf(meta *metav1.ObjectMeta) string {
	helm, argo := meta.Annotations[helmHook], meta.Annotations[argoHook]
	switch {
	case argo != "":
		return "Argo CD's hook " + argo
	case helm == "":
		return ""
	case strings.Contains(helm, "test"):
		return "helm test"
	}
	return "Helm's hook " + helm
}

// hooksAlone are the hooks that run before the release is there, or when it goes, or not at all.
var hooksAlone = []string{"crd-install", "pre-install", "pre-delete", "post-delete", "Skip", "PreDelete", "PostDelete"}

// runsBeside reports whether a hook's pod runs while the pods of the release do.
func runsBeside(meta *metav1.ObjectMeta) bool {
	for hook := range strings.SplitSeq(cmp.Or(meta.Annotations[argoHook], meta.Annotations[helmHook]), ",") {
		if hook = strings.TrimSpace(hook); hook != "" && !slices.Contains(hooksAlone, hook) {
			return true
		}
	}
	return false
}

func checkTestPod(c *objects.Collection) []Finding {
	var found []Finding
	for _, w := range c.Workloads {
		hs := bySelector(c, w)
		if len(hs) == 0 {
			continue
		}
		workloads, pods := c.Selected(w)
		matched := func(o *objects.Object, labels objects.Field, pod string) {
			hook := hookOf(o.Meta)
			if !runsBeside(o.Meta) || o == &w.Object {
				return
			}
			remedy := "Take a label of the selector off " + pod
			switch {
			case o.Meta.Annotations[argoHook] != "" && o.Meta.Annotations[argoHookDelete] == "":
				remedy += ", or let Argo CD delete it: " + argoHookDelete + ": HookSucceeded"
			case o.Meta.Annotations[argoHook] == "" && o.Meta.Annotations[helmHookDelete] == "":
				remedy += ", or let Helm delete it: " + helmHookDelete + ": hook-succeeded"
			}
			found = append(found, Finding{
				Object: o, Field: labels, Remedy: remedy + ".",
				Why: fmt.Sprintf("The selector of %s %s, %s, also matches %s, which %s makes, so %s counts it.", w.Kind, w.Name,
					w.Selector, pod, hook, hs[0].Describe()),
			})
		}
		for _, o := range workloads {
			matched(&o.Object, o.TemplateField.In("metadata", "labels"), "the pod of this "+o.Kind)
		}
		for _, p := range pods {
			matched(&p.Object, objects.Field{"metadata", "labels"}, "this pod")
		}
	}
	return found
}
