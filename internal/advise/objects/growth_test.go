package objects_test

import (
	"fmt"
	"strconv"
	"testing"

	"github.com/plimsoll-dev/plimsoll/internal/advise/objects"
	"github.com/plimsoll-dev/plimsoll/internal/advise/rules"
)

// populated has a Deployment with an HPA, a VPA and a PodDisruptionBudget n times, all in
// one namespace, and a pod of each.
func populated(n int) *objects.Collection {
	c := &objects.Collection{IsCluster: true}
	for i := range n {
		name := "web-" + strconv.Itoa(i)
		labels := map[string]any{"app": name, "part-of": "shop"}
		object := func(version, kind string, spec map[string]any) map[string]any {
			return map[string]any{
				"apiVersion": version, "kind": kind, "metadata": map[string]any{"namespace": "shop", "name": name}, "spec": spec,
			}
		}
		ref := map[string]any{"apiVersion": "apps/v1", "kind": "Deployment", "name": name}
		selector := map[string]any{"matchLabels": labels}
		containers := []any{map[string]any{
			"name":  "app",
			"image": "web", "resources": map[string]any{"requests": map[string]any{"cpu": "100m", "memory": "300Mi"}},
		}}
		c.Add(object("apps/v1", "Deployment", map[string]any{
			"selector": selector, "template": map[string]any{"metadata": map[string]any{"labels": labels},
				"spec": map[string]any{"containers": containers}},
		}), objects.Place{})
		c.Add(object("autoscaling/v2", "HorizontalPodAutoscaler",
			map[string]any{"scaleTargetRef": ref, "minReplicas": int64(2), "maxReplicas": int64(9)}), objects.Place{})
		c.Add(object("autoscaling.k8s.io/v1", "VerticalPodAutoscaler", map[string]any{"targetRef": ref}), objects.Place{})
		c.Add(object("policy/v1", "PodDisruptionBudget", map[string]any{"selector": selector, "minAvailable": int64(2)}),
			objects.Place{})
		pod := object("v1", "Pod", map[string]any{"containers": containers})
		pod["metadata"] = map[string]any{"namespace": "shop", "name": name + "-x", "labels": labels, "ownerReferences": []any{
			map[string]any{"apiVersion": "apps/v1", "kind": "Deployment", "name": name, "uid": "u", "controller": true},
		}}
		c.Add(pod, objects.Place{})
	}
	return c
}

// All rules together compare objects with those that they have to do with, and not with
// all: twice the objects take twice the comparisons.
func TestRulesCompareWithFewOthers(t *testing.T) {
	counts := map[int]int{}
	for _, n := range []int{50, 100, 400} {
		c := populated(n)
		if report := rules.Run(c, rules.All()); len(report.Findings) < n || len(c.Unreadable) > 0 {
			t.Fatalf("%d findings; unreadable: %+v", len(report.Findings), c.Unreadable)
		}
		counts[n] = c.Comparisons()
	}
	if counts[100] != 2*counts[50] || counts[400] != 8*counts[50] || counts[50] == 0 {
		t.Errorf("comparisons by workloads: %v", counts)
	}
}

func BenchmarkRules(b *testing.B) {
	for _, n := range []int{334, 3334} {
		b.Run(fmt.Sprint(5*n), func(b *testing.B) {
			for b.Loop() {
				rules.Run(populated(n), rules.All())
			}
		})
	}
}
