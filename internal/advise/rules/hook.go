package rules

import (
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/plimsoll-dev/plimsoll/internal/advise/objects"
)

// hookOf is what Helm makes an object for; empty for one that is no hook.
func hookOf(meta *metav1.ObjectMeta) string {
	hook := meta.Annotations["helm.sh/hook"]
	switch {
	case hook == "":
		return ""
	case strings.Contains(hook, "test"):
		return "helm test"
	}
	return "Helm's hook " + hook
}

// hooksAlone are Helm's hooks that run before the release is there, or when it goes.
var hooksAlone = []string{"crd-install", "pre-install", "pre-delete", "post-delete"}

// runsBeside reports whether a hook's pod runs while the pods of the release do.
func runsBeside(meta *metav1.ObjectMeta) bool {
	for hook := range strings.SplitSeq(meta.Annotations["helm.sh/hook"], ",") {
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
			if o.Meta.Annotations["helm.sh/hook-delete-policy"] == "" {
				remedy += ", or let Helm delete it: helm.sh/hook-delete-policy: hook-succeeded"
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
