package upgrade

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/plimsoll-dev/plimsoll/internal/dev/devcluster"
	"github.com/plimsoll-dev/plimsoll/internal/dev/test/integration/harness"
)

// TestHarmIsFound: what TestUpgrade checks fails where a change of the definitions harms the objects of clusters. Where the
// API server ratchets (by default from Kubernetes 1.30 on), an update that leaves a refused value as it is passes: the
// object would seem to be fine until somebody creates it again, in another cluster or from a backup.
func TestHarmIsFound(t *testing.T) {
	all := releases(t)
	next := all[slices.IndexFunc(all, func(release string) bool { return filepath.Base(release) == "next" })]
	for name, c := range map[string]struct {
		// harm changes the schema of a WorkloadAutoscaler's spec.
		harm func(properties map[string]any)
		// want are the object and what it says of it.
		object, want string
	}{
		"a field is dropped": {
			harm:   func(spec map[string]any) { delete(properties(spec), "selectionStrategy") },
			object: "every-metric", want: "lacks spec.selectionStrategy",
		},
		"a field in a list is dropped": {
			harm: func(spec map[string]any) {
				metric, _ := property(spec, "metrics")["items"].(map[string]any)
				delete(properties(property(metric, "podEndpoint")), "timeoutSeconds")
			},
			object: "every-metric", want: "lacks spec.metrics[6].podEndpoint.timeoutSeconds",
		},
		"a rule of the spec is tightened": {
			harm:   func(spec map[string]any) { addRule(spec, "self.maxReplicas <= 50") },
			object: "every-metric", want: "is refused when it is created again",
		},
		"a rule of a field is tightened": {
			harm:   func(spec map[string]any) { addRule(property(spec, "paused"), "self.replicas <= 2") },
			object: "paused", want: "is refused when it is created again",
		},
		"a value is no longer permitted": {
			harm:   func(spec map[string]any) { property(spec, "mode")["enum"] = []any{"Active", "Paused"} },
			object: "behavior", want: "is refused when it is created again",
		},
		"a change is no longer permitted": {
			harm:   func(spec map[string]any) { addRule(property(spec, "maxReplicas"), "self == oldSelf") },
			object: "nightly", want: "is not updated",
		},
		"a list is bounded": {
			harm:   func(spec map[string]any) { property(spec, "schedules")["maxItems"] = int64(2) },
			object: "behavior", want: "is refused when it is created again",
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := harness.NewNamespace(t, shared.Cluster(t))
			objects := hold(t, s, next)
			definitions := ours(t)
			for _, definition := range definitions {
				if definition.GetName() == "workloadautoscalers.plimsoll.dev" {
					for _, version := range versionsOf(definition) {
						schema, _ := version["schema"].(map[string]any)
						whole, _ := schema["openAPIV3Schema"].(map[string]any)
						c.harm(property(whole, "spec"))
					}
				}
			}
			define(t, s, definitions)
			found := problems(t, objects)
			t.Logf("found:\n%s", strings.Join(found, "\n"))
			if !slices.ContainsFunc(found, func(p string) bool { return strings.HasPrefix(p, c.object+" "+c.want) }) {
				t.Errorf("that %s %s is not found", c.object, c.want)
			}
		})
	}
}

func properties(schema map[string]any) map[string]any {
	all, _ := schema["properties"].(map[string]any)
	return all
}

func property(schema map[string]any, name string) map[string]any {
	p, _ := properties(schema)[name].(map[string]any)
	return p
}

func addRule(schema map[string]any, rule string) {
	rules, _ := schema["x-kubernetes-validations"].([]any)
	schema["x-kubernetes-validations"] = append(rules, map[string]any{"rule": rule, "message": "is tightened"})
}

func ours(t *testing.T) []*unstructured.Unstructured {
	t.Helper()
	definitions, err := devcluster.Definitions()
	if err != nil {
		t.Fatal(err)
	}
	return definitions
}

// TestUpgrade: the objects of each release that clusters may hold are served in whole after this commit's definitions
// have replaced those under which they were created. Their owner can apply and create them as before, and the controller
// acts on them.
func TestUpgrade(t *testing.T) {
	var plimsoll *harness.Plimsoll
	for _, release := range releases(t) {
		t.Run(filepath.Base(release), func(t *testing.T) {
			s := harness.NewNamespace(t, shared.Cluster(t))
			objects := hold(t, s, release)
			define(t, s, ours(t))
			for _, problem := range problems(t, objects) {
				t.Error(problem)
			}
			paused := awaitedCounts(t, objects)
			for name := range paused {
				s.Create(harness.Workload{Name: name}.Deployment())
			}
			if plimsoll == nil {
				var err error
				if plimsoll, err = harness.NewPlimsoll(t.Context(), s.Cluster); err != nil {
					t.Fatal(err)
				}
				if err := plimsoll.Start(context.WithoutCancel(t.Context())); err != nil {
					t.Fatal(err)
				}
			}
			for name, count := range paused {
				s.AwaitReplicas(harness.Deployment, name, count)
			}
			for i := range objects {
				awaitDecision(s, &objects[i])
			}
		})
	}
}

// awaitedCounts are the replica counts of the Deployments whose WorkloadAutoscalers are paused at one.
func awaitedCounts(t *testing.T, objects []held) map[string]int64 {
	t.Helper()
	counts := map[string]int64{}
	for i := range objects {
		object := objects[i].manifest.Object
		count, isPaused, _ := unstructured.NestedInt64(object, "spec", "paused", "replicas")
		if name, _, _ := unstructured.NestedString(object, "spec", "scaleTargetRef", "name"); isPaused {
			counts[name] = count
		}
	}
	if len(counts) == 0 {
		t.Fatal("no WorkloadAutoscaler of the release is paused at a replica count")
	}
	return counts
}

// awaitDecision waits until the controller has written the status of a WorkloadAutoscaler as it is now.
func awaitDecision(s *harness.Namespace, o *held) {
	if o.manifest.GetKind() != "WorkloadAutoscaler" {
		return
	}
	s.Eventually("a decision on "+o.manifest.GetName(), func(ctx context.Context) error {
		object, err := o.client.Get(ctx, o.manifest.GetName(), metav1.GetOptions{})
		if err != nil {
			return err
		}
		observed, _, err := unstructured.NestedInt64(object.Object, "status", "observedGeneration")
		if err == nil && observed != object.GetGeneration() {
			err = fmt.Errorf("generation %d of %d is decided", observed, object.GetGeneration())
		}
		return err
	})
}

// problems are what has become worse for the objects, each beginning with the name of one.
func problems(t *testing.T, objects []held) (found []string) {
	t.Helper()
	for i := range objects {
		o, name := &objects[i], objects[i].manifest.GetName()
		lacks := func(object *unstructured.Unstructured, when string) {
			for _, part := range []string{"spec", "status"} {
				for _, field := range lost(o.before.Object[part], object.Object[part], part) {
					found = append(found, fmt.Sprintf("%s lacks %s %s", name, field, when))
				}
			}
		}
		served, err := o.client.Get(t.Context(), name, metav1.GetOptions{})
		if err != nil {
			found = append(found, fmt.Sprintf("%s is not served: %v", name, err))
			continue
		}
		lacks(served, "after the upgrade")
		if updated, err := o.update(t.Context()); err != nil {
			found = append(found, fmt.Sprintf("%s is not updated: %v", name, err))
		} else {
			lacks(updated, "after an update")
		}
		if err := o.createAgain(t.Context()); err != nil {
			found = append(found, fmt.Sprintf("%s is refused when it is created again: %v", name, err))
		}
	}
	return found
}

// update applies the manifest with one more replica, if it has any, and with a label.
func (o *held) update(ctx context.Context) (*unstructured.Unstructured, error) {
	changed := o.manifest.DeepCopy()
	delete(changed.Object, "status")
	changed.SetLabels(map[string]string{"upgraded": "true"})
	if most, has, _ := unstructured.NestedInt64(changed.Object, "spec", "maxReplicas"); has {
		if err := unstructured.SetNestedField(changed.Object, most+1, "spec", "maxReplicas"); err != nil {
			return nil, err
		}
		if err := unstructured.SetNestedField(o.before.Object, most+1, "spec", "maxReplicas"); err != nil {
			return nil, err
		}
	}
	return o.client.Apply(ctx, changed.GetName(), changed, metav1.ApplyOptions{FieldManager: owner})
}

// createAgain creates the object under another name, for which nothing is ratcheted.
func (o *held) createAgain(ctx context.Context) error {
	again := o.manifest.DeepCopy()
	delete(again.Object, "status")
	again.SetName(again.GetName() + "-again")
	_, err := o.client.Create(ctx, again, metav1.CreateOptions{
		DryRun: []string{metav1.DryRunAll}, FieldValidation: metav1.FieldValidationStrict,
	})
	return err
}
