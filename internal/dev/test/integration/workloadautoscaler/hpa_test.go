package workloadautoscaler

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/plimsoll-dev/plimsoll/internal/migrate/convert"
)

// hpas are specs of HPAs that upstream's tests of its validation take, one of each kind.
var hpas = map[string]string{
	"defaults alone":                  `{"metrics":null}`,
	"CPU in percent":                  `{"minReplicas":1,"metrics":[{"type":"Resource","resource":{"name":"cpu","target":{"type":"Utilization","averageUtilization":70}}}]}`,
	"a ReplicationController":         `{"scaleTargetRef":{"kind":"ReplicationController","apiVersion":null}}`,
	"a ReplicationController of v1":   `{"scaleTargetRef":{"kind":"ReplicationController","apiVersion":"v1"}}`,
	"a custom resource":               `{"scaleTargetRef":{"kind":"Rollout","apiVersion":"argoproj.io/v1alpha1","name":".hidden..name"}}`,
	"a group without a version":       `{"scaleTargetRef":{"apiVersion":"apps/"}}`,
	"CPU for each pod":                `{"metrics":[{"type":"Resource","resource":{"name":"cpu","target":{"type":"AverageValue","averageValue":"300m"}}}]}`,
	"another resource":                `{"metrics":[{"type":"Resource","resource":{"name":"example.com/Foo","target":{"type":"AverageValue","averageValue":"300m"}}}]}`,
	"a metric of pods":                `{"metrics":[{"type":"Pods","pods":{"metric":{"name":"somemetric"},"target":{"type":"AverageValue","averageValue":"300m"}}}]}`,
	"a metric of pods with selector":  `{"metrics":[{"type":"Pods","pods":{"metric":{"name":"somemetric","selector":{"matchLabels":{"label":"value"},"matchExpressions":[{"key":"a","operator":"In","values":["b"]}]}},"target":{"type":"AverageValue","averageValue":"300m"}}}]}`,
	"a container's CPU in percent":    `{"metrics":[{"type":"ContainerResource","containerResource":{"name":"cpu","container":"test-container","target":{"type":"Utilization","averageUtilization":70}}}]}`,
	"a container's CPU":               `{"metrics":[{"type":"ContainerResource","containerResource":{"name":"cpu","container":"test-container","target":{"type":"AverageValue","averageValue":"300m"}}}]}`,
	"a container's huge pages":        `{"metrics":[{"type":"ContainerResource","containerResource":{"name":"hugepages-2Mi","container":"a","target":{"type":"AverageValue","averageValue":"4Mi"}}}]}`,
	"a container's extended resource": `{"metrics":[{"type":"ContainerResource","containerResource":{"name":"nvidia.com/gpu","container":"a","target":{"type":"Utilization","averageUtilization":70}}}]}`,
	"a metric of a core object":       `{"metrics":[{"type":"Object","object":{"describedObject":{"kind":"ReplicationController","name":"myrc"},"metric":{"name":"somemetric"},"target":{"type":"Value","value":"300m"}}}]}`,
	"a metric of an Ingress":          `{"metrics":[{"type":"Object","object":{"describedObject":{"apiVersion":"networking.k8s.io/v1","kind":"Ingress","name":"my-ingress"},"metric":{"name":"requests-per-second"},"target":{"type":"Value","value":"300m"}}}]}`,
	"an object for each pod":          `{"metrics":[{"type":"Object","object":{"describedObject":{"apiVersion":"v1","kind":"Service","name":"web"},"metric":{"name":"hits"},"target":{"type":"AverageValue","averageValue":"5k"}}}]}`,
	"a queue in total":                `{"metrics":[{"type":"External","external":{"metric":{"name":"somemetric","selector":{"matchLabels":{"label":"value"}}},"target":{"type":"Value","value":"300m"}}}]}`,
	"a queue for each pod":            `{"metrics":[{"type":"External","external":{"metric":{"name":"s0|queue.example.com|jobs","selector":{"matchLabels":{"label":"value"}}},"target":{"type":"AverageValue","averageValue":"300m"}}}]}`,
	"a type beside another value":     `{"metrics":[{"type":"Pods","pods":{"metric":{"name":"somemetric"},"target":{"type":"Value","averageValue":"100m","value":"1"}}}]}`,
	"two metrics": `{"metrics":[{"type":"Resource","resource":{"name":"memory","target":{"type":"AverageValue","averageValue":"1.5Gi"}}},
		{"type":"External","external":{"metric":{"name":"jobs"},"target":{"type":"AverageValue","averageValue":30}}}]}`,
	"zero by an object":    `{"minReplicas":0,"metrics":[{"type":"Object","object":{"describedObject":{"kind":"ReplicationController","name":"myrc"},"metric":{"name":"somemetric"},"target":{"type":"Value","value":"300m"}}}]}`,
	"zero by a queue":      `{"minReplicas":0,"metrics":[{"type":"External","external":{"metric":{"name":"somemetric"},"target":{"type":"AverageValue","averageValue":"300m"}}}]}`,
	"an empty behavior":    `{"behavior":{}}`,
	"an empty direction":   `{"behavior":{"scaleUp":{}}}`,
	"only one direction":   `{"behavior":{"scaleDown":{"selectPolicy":"Disabled"}}}`,
	"only a window":        `{"behavior":{"scaleDown":{"stabilizationWindowSeconds":60}}}`,
	"both directions":      `{"behavior":{"scaleUp":{"stabilizationWindowSeconds":3600,"selectPolicy":"Min","policies":[{"type":"Percent","value":10,"periodSeconds":1},{"type":"Pods","value":1,"periodSeconds":1800}]},"scaleDown":{"stabilizationWindowSeconds":0,"selectPolicy":"Disabled","policies":[{"type":"Pods","value":1,"periodSeconds":1800}]}}}`,
	"four policies":        `{"behavior":{"scaleUp":{"stabilizationWindowSeconds":120,"selectPolicy":"Max","policies":[{"type":"Pods","value":1,"periodSeconds":2},{"type":"Percent","value":3,"periodSeconds":4},{"type":"Pods","value":5,"periodSeconds":6},{"type":"Percent","value":7,"periodSeconds":8}]}}}`,
	"a tolerance":          `{"behavior":{"scaleDown":{"tolerance":"0.1","policies":[{"type":"Pods","value":1,"periodSeconds":1800}]}}}`,
	"a large tolerance":    `{"behavior":{"scaleDown":{"tolerance":"10"},"scaleUp":{"tolerance":"1m"}}}`,
	"a tolerance of zero":  `{"behavior":{"scaleDown":{"tolerance":"0"},"scaleUp":{"tolerance":0}}}`,
	"the largest limits":   `{"minReplicas":1000000,"maxReplicas":1000000}`,
	"a quantity of digits": `{"metrics":[{"type":"External","external":{"metric":{"name":"jobs"},"target":{"type":"Value","value":"1e3"}}}]}`,
}

// migrated is the spec that plimsoll migrate makes of an HPA's.
func migrated(spec map[string]any) (map[string]any, error) {
	r, err := convert.FromHPA(&unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "autoscaling/v2", "kind": autoscaler.name, "spec": unnamed(spec),
	}})
	if err != nil {
		return nil, err
	}
	raw, err := convert.Printable(r.WorkloadAutoscaler)
	if err != nil {
		return nil, err
	}
	made, _, err := unstructured.NestedMap(raw, "spec")
	return made, err
}

// The spec of an HPA is one of a WorkloadAutoscaler once its metrics have names, as it was written and as the API server
// stores it. The API server then stores the same, defaults included.
func TestSpecOfAnHPAIsAccepted(t *testing.T) {
	t.Parallel()
	objects := objectsOf(t, namespace(t))
	for what, patch := range hpas {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			written := with(t, patch)
			stored, err := objects.create(t, autoscaler, written)
			if err != nil {
				t.Fatalf("as an HPA: %v", err)
			}
			want, err := migrated(stored)
			if err != nil {
				t.Fatal(err)
			}
			for form, spec := range map[string]map[string]any{"written": written, "stored": stored} {
				made, err := migrated(spec)
				if err != nil {
					t.Fatal(err)
				}
				pasted, err := objects.create(t, workloadAutoscaler, made)
				if err != nil {
					t.Fatalf("as %s: %v", form, err)
				}
				isSame(t, want, pasted)
			}
		})
	}
}

// isSame compares what an HPA has with what a WorkloadAutoscaler has under the same names.
func isSame(t *testing.T, hpa, wla map[string]any) {
	t.Helper()
	for field, value := range hpa {
		if field == "scaleToZero" {
			continue // It has defaults of its own.
		}
		if diff := cmp.Diff(canonical(value), canonical(wla[field])); diff != "" {
			t.Errorf("%s (-HPA +WorkloadAutoscaler):\n%s", field, diff)
		}
	}
	if _, has := hpa["behavior"]; !has && wla["behavior"] != nil {
		t.Errorf("behavior is %v, and an HPA has none", wla["behavior"])
	}
}

// canonical is a value in which quantities are written alike: an API server stores those of its own kinds in the
// canonical form, and those of others as they are.
func canonical(value any) any {
	switch v := value.(type) {
	case map[string]any:
		changed := map[string]any{}
		for key, child := range v {
			if key == "value" || key == "averageValue" || key == "tolerance" {
				if q, err := resource.ParseQuantity(fmt.Sprint(child)); err == nil {
					child = q.String()
				}
			}
			// An HPA's empty version is absent.
			if key != "apiVersion" || child != "" {
				changed[key] = canonical(child)
			}
		}
		return changed
	case []any:
		changed := make([]any, len(v))
		for i := range v {
			changed[i] = canonical(v[i])
		}
		return changed
	}
	return value
}

// The API server accepts and refuses the same specs of WorkloadAutoscalers as of HPAs, for random specs that are mostly
// right.
func TestRandomSpecsAreAcceptedAlike(t *testing.T) {
	t.Parallel()
	objects := objectsOf(t, namespace(t))
	const specs, workers = 600, 8
	var mu sync.Mutex
	accepted := 0
	var wait sync.WaitGroup
	for worker := range workers {
		wait.Go(func() {
			for i := worker; i < specs; i += workers {
				spec := random{rand.New(rand.NewPCG(1, uint64(i)))}.spec()
				if hasUnusableTarget(spec) {
					continue
				}
				hpa, refusal := objects.dryRun(t, autoscaler, spec)
				var wla map[string]any
				made, err := migrated(spec)
				if err == nil {
					wla, err = objects.dryRun(t, workloadAutoscaler, made)
				}
				if (refusal == nil) != (err == nil) {
					t.Errorf("%d: HPA: %v\nWorkloadAutoscaler: %v\n%s", i, refusal, err, encoded(t, spec))
					continue
				}
				if err == nil {
					want, err := migrated(hpa)
					if err != nil {
						t.Error(err)
					}
					isSame(t, want, wla)
					mu.Lock()
					accepted++
					mu.Unlock()
				}
			}
		})
	}
	wait.Wait()
	t.Logf("%d of %d were accepted", accepted, specs)
	if accepted < specs/5 || accepted > specs*4/5 {
		t.Errorf("%d of %d were accepted: the test compares too little", accepted, specs)
	}
}

// hasUnusableTarget reports whether the target of a metric of type Object names another value than it has. The API
// server accepts it for an HPA, whose controller then finds no target (replica counts cannot be computed from it), and
// refuses it for a WorkloadAutoscaler.
func hasUnusableTarget(spec map[string]any) bool {
	metrics, _ := spec["metrics"].([]any)
	for _, m := range metrics {
		metric, _ := m.(map[string]any)
		object, _ := metric["object"].(map[string]any)
		target, _ := object["target"].(map[string]any)
		_, hasValue := target["value"]
		_, hasAverage := target["averageValue"]
		isValue, isAverage := target["type"] == "Value", target["type"] == "AverageValue"
		if target != nil && (hasValue != isValue || hasAverage != isAverage) {
			return true
		}
	}
	return false
}

// random makes specs of HPAs.
type random struct{ *rand.Rand }

// absent is left out.
const absent = "absent"

// of returns one of the good values, seldom one of the bad ones.
func (r random) of(good, bad []any) any {
	if len(bad) > 0 && r.IntN(40) == 0 {
		return bad[r.IntN(len(bad))]
	}
	return good[r.IntN(len(good))]
}

func without(fields map[string]any) map[string]any {
	for key, value := range fields {
		if value == absent {
			delete(fields, key)
		}
	}
	return fields
}

func (r random) spec() map[string]any {
	return without(map[string]any{
		"scaleTargetRef": r.reference(absent, "v1", "", "/v1"),
		"minReplicas":    r.of([]any{absent, int64(1), int64(3)}, []any{int64(-1), int64(0), int64(7), nil}),
		"maxReplicas":    r.of([]any{int64(5), int64(3)}, []any{absent, int64(0), int64(-1), nil}),
		"metrics":        r.of([]any{absent, r.metrics(1), r.metrics(1), r.metrics(2), r.metrics(3)}, []any{nil}),
		"behavior":       r.of([]any{absent, r.behavior()}, []any{nil, map[string]any{}}),
	})
}

// reference has, seldom, one of these versions, which only some references may have.
func (r random) reference(versions ...any) map[string]any {
	return without(map[string]any{
		"apiVersion": r.of([]any{"apps/v1", "example.com/v1"}, append(versions, "a/b/c", "apps/", "/", "//", nil)),
		"kind":       r.of([]any{"Deployment", "ReplicationController"}, []any{absent, "", "..", "a/b", "a%b", "...", ".", "ä"}),
		"name":       r.of([]any{"web", "Web.x"}, []any{absent, "", "..", "a/b", "a%b", "..a", ".a", ".", "a b"}),
	})
}

func (r random) metrics(n int) []any {
	list := make([]any, n)
	for i := range list {
		list[i] = r.metric()
	}
	return list
}

func (r random) metric() map[string]any {
	sources := []string{"Resource", "ContainerResource", "Pods", "Object", "External"}
	fields := []string{"resource", "containerResource", "pods", "object", "external"}
	i := r.IntN(len(sources))
	metric := without(map[string]any{
		"type": r.of([]any{sources[i]}, []any{absent, "", "Foo", sources[r.IntN(len(sources))]}), fields[i]: r.source(fields[i]),
	})
	if r.IntN(40) == 0 {
		other := fields[r.IntN(len(fields))]
		metric[other] = r.source(other)
	}
	return metric
}

func (r random) source(field string) map[string]any {
	identifier := without(map[string]any{
		"name":     r.of([]any{"hits", "a|b", "A_b:c"}, []any{absent, "", "..", ".", "a/b", "%"}),
		"selector": r.of([]any{absent, map[string]any{"matchLabels": map[string]any{"a": "b"}}}, []any{nil, map[string]any{}}),
	})
	source := map[string]any{"target": r.target(field)}
	switch field {
	case "resource":
		source["name"] = r.of([]any{"cpu", "memory"}, []any{absent, "", "Foo", "a/b/c", "nvidia.com/gpu"})
	case "containerResource":
		source["name"] = r.of([]any{"cpu", "memory", "nvidia.com/gpu", "hugepages-2Mi", "ephemeral-storage"},
			[]any{absent, "", "Foo", "a/b/c", "requests.a.b/c", "hugepages-", "storage", "kubernetes.io/x", "Ab.c/d", "a.b/", "/a", "a.b/c d"})
		source["container"] = r.of([]any{"app", "a-1"}, []any{absent, "", "A", "a.b", "-a", "a-"})
	case "object":
		source["describedObject"], source["metric"] = r.reference(absent, "v1", "", "/v1"), identifier
	default:
		source["metric"] = identifier
	}
	if r.IntN(80) == 0 {
		delete(source, "target")
	}
	return without(source)
}

func (r random) target(field string) map[string]any {
	quantities := []any{"100m", "5", "1.5Gi", int64(7), "1e3", "+5", ".5", "1n", "0.1n"}
	bad := []any{"0", int64(0), "-1", int64(-7), "-1m", "0e5", "five", "", nil}
	one := r.of([]any{"averageValue"}, []any{"value", "averageUtilization"})
	switch field {
	case "resource", "containerResource":
		one = r.of([]any{"averageValue", "averageUtilization"}, []any{"value"})
	case "object", "external":
		one = r.of([]any{"averageValue", "value"}, []any{"averageUtilization"})
	}
	target := without(map[string]any{
		"type": r.of([]any{"Utilization", "Value", "AverageValue"}, []any{absent, "", "boogity"}),
	})
	for _, name := range []string{"value", "averageValue", "averageUtilization"} {
		switch {
		case name != one && r.IntN(30) > 0:
		case name == "averageUtilization":
			target[name] = r.of([]any{int64(1), int64(70), int64(200)}, []any{int64(0), int64(-1), nil})
		default:
			target[name] = r.of(quantities, bad)
		}
	}
	return target
}

func (r random) behavior() map[string]any {
	return without(map[string]any{
		"scaleUp": r.of([]any{absent, r.rules(), r.rules()}, []any{nil}), "scaleDown": r.of([]any{absent, r.rules()}, []any{nil}),
	})
}

func (r random) rules() map[string]any {
	policy := func() any {
		return without(map[string]any{
			"type":          r.of([]any{"Pods", "Percent"}, []any{absent, "", "Nodes"}),
			"value":         r.of([]any{int64(1), int64(500)}, []any{absent, int64(0), int64(-1)}),
			"periodSeconds": r.of([]any{int64(1), int64(1800)}, []any{absent, int64(0), int64(-1), int64(1801)}),
		})
	}
	return without(map[string]any{
		"stabilizationWindowSeconds": r.of([]any{absent, int64(0), int64(3600)}, []any{int64(-1), int64(3601), nil}),
		"selectPolicy":               r.of([]any{absent, "Max", "Min", "Disabled"}, []any{"", "max", nil}),
		"policies":                   r.of([]any{absent, []any{policy()}, []any{policy(), policy()}}, []any{[]any{}, nil}),
		"tolerance":                  r.of([]any{absent, "0.1", "0", int64(2)}, []any{"-0.1", int64(-1), "a", nil}),
	})
}
