package manifest

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	autoscalingv2 "k8s.io/api/autoscaling/v2"

	plimsollv1alpha1 "github.com/plimsoll-dev/plimsoll/api/plimsoll/v1alpha1"
	"github.com/plimsoll-dev/plimsoll/internal/simulate"
)

const both = `
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: web}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}
  maxReplicas: 10
  metrics:
  - type: Resource
    resource: {name: cpu, target: {type: Utilization, averageUtilization: 50}}
---
# Only a comment.
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      terminationGracePeriodSeconds: 7
      containers:
      - name: app
        resources: {requests: {cpu: 200m}, limits: {cpu: "1"}}
        readinessProbe: {initialDelaySeconds: 12, httpGet: {port: 80}}
        lifecycle: {preStop: {sleep: {seconds: 4}}}
      - name: proxy
        resources: {requests: {cpu: 50m}}
`

func readOne(t *testing.T, text string) []Object {
	t.Helper()
	objects, err := Read("web.yaml", strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return objects
}

func TestRead(t *testing.T) {
	objects := readOne(t, both)
	if len(objects) != 2 || objects[0].Kind != HPAKind || !objects[1].IsWorkload() {
		t.Fatalf("%+v", objects)
	}
	hpa, err := objects[0].HPA()
	if err != nil || *hpa.Spec.MinReplicas != 1 || hpa.Spec.MaxReplicas != 10 || hpa.Namespace != "default" {
		t.Fatalf("%+v, %v", hpa, err)
	}
	target := Target(objects, hpa.Spec.ScaleTargetRef)
	w := simulate.DefaultWorkload()
	if err := target.Fill(&w); err != nil {
		t.Fatal(err)
	}
	// One container without a limit leaves the pod without one.
	if w.CPURequestMilli != 250 || w.CPULimitMilli != 0 || w.ReadyAfter != 12*time.Second || w.Grace != 7*time.Second ||
		w.PreStop != 4*time.Second || w.Containers != 2 {
		t.Errorf("%+v", w)
	}
}

// TestTargetInLowerCase: an HPA may name a kind in lower case.
func TestTargetInLowerCase(t *testing.T) {
	objects := readOne(t, both)
	ref := autoscalingv2.CrossVersionObjectReference{Kind: "deployment", Name: objects[1].Name}
	if Target(objects, ref) != &objects[1] {
		t.Error("a kind in lower case is another one")
	}
}

func TestOldVersion(t *testing.T) {
	hpa, err := readOneHPA(t, `{apiVersion: autoscaling/v1, kind: HorizontalPodAutoscaler, metadata: {name: a},
spec: {maxReplicas: 3, targetCPUUtilizationPercentage: 65, scaleTargetRef: {kind: Deployment, name: a}}}`)
	if err != nil || *hpa.Spec.Metrics[0].Resource.Target.AverageUtilization != 65 || hpa.Spec.ScaleTargetRef.Name != "a" {
		t.Errorf("%+v, %v", hpa, err)
	}
}

func TestErrors(t *testing.T) {
	const head = "{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, metadata: {name: a}, spec: "
	for text, want := range map[string]string{
		head + "{maxReplicas: 3, minReplica: 2}}": "minReplica",
		head + "{}}": "spec.maxReplicas: Required value: must be set",
		head + "{maxReplicas: 3, minReplicas: 4}}":                                                                                     "spec.maxReplicas: Invalid value: 3",
		head + "{maxReplicas: 3, minReplicas: 0}}":                                                                                     "spec.metrics: Forbidden: must specify at least one Object or External metric",
		head + "{maxReplicas: 3, metrics: [{type: Pods}]}}":                                                                            "spec.metrics[0].pods: Required value",
		head + "{maxReplicas: 3, metrics: [{type: Resource, resource: {name: cpu, target: {averageUtilization: 5}}}]}}":                "spec.metrics[0].resource.target.type: Required value",
		head + "{maxReplicas: 3, metrics: [{type: Resource, resource: {name: cpu, target: {type: AverageValue, averageValue: -1}}}]}}": "averageValue: Invalid value",
		head + "{maxReplicas: 3, behavior: {scaleDown: {selectPolicy: max}}}}":                                                         "selectPolicy: Unsupported value",
		head + "{maxReplicas: '3'}}":                                                                                                   "spec.maxReplicas must be a whole number, and is the string \"3\"",
		"{apiVersion: autoscaling/v2beta2, kind: HorizontalPodAutoscaler}":                                                             "want autoscaling/v2",
		head + "{maxReplicas: 3, behavior: {scaleUp: {policies: [{type: Pods, value: 0, periodSeconds: 1}]}}}}":                        "scaleUp.policies[0]",
	} {
		_, err := readOneHPA(t, text)
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "a.yaml: document 1") {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
	for text, want := range map[string]string{"": "no object", "a: b": "no kind", "a: [": "document 1"} {
		if _, err := Read("a.yaml", strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

func TestSet(t *testing.T) {
	object := readOne(t, both)[0]
	for text, want := range map[string]string{
		"spec.maxReplicas=20": "20",
		"spec.behavior.scaleUp.policies[0]={type: Pods, value: 3, periodSeconds: 60}": "{Pods 3 60}",
		"spec.behavior.scaleDown.stabilizationWindowSeconds=7":                        "7",
		"spec.metrics[0].resource.target.averageUtilization=33":                       "33",
	} {
		a, err := ParseAssignment(text)
		if err != nil {
			t.Fatal(err)
		}
		other, err := object.With(a)
		if err != nil {
			t.Fatal(err)
		}
		hpa, err := other.HPA()
		if err != nil {
			t.Fatal(err)
		}
		var got string
		switch {
		case strings.Contains(text, "policies"):
			p := hpa.Spec.Behavior.ScaleUp.Policies[0]
			got = "{" + string(p.Type) + " " + itoa(p.Value) + " " + itoa(p.PeriodSeconds) + "}"
		case strings.Contains(text, "Window"):
			got = itoa(*hpa.Spec.Behavior.ScaleDown.StabilizationWindowSeconds)
		case strings.Contains(text, "metrics"):
			got = itoa(*hpa.Spec.Metrics[0].Resource.Target.AverageUtilization)
		default:
			got = itoa(hpa.Spec.MaxReplicas)
		}
		if got != want {
			t.Errorf("%s: %s", text, got)
		}
	}
	for _, text := range []string{"maxReplicas=3", "spec.maxReplicas", "spec.metrics[x]=1", "spec.metrics[5]=1",
		"spec..a=1", "spec.maxReplicas.a=1"} {
		a, err := ParseAssignment(text)
		if err == nil {
			_, err = object.With(a)
		}
		if err == nil {
			t.Errorf("%s is taken", text)
		}
	}
	if hpa, err := object.HPA(); err != nil || hpa.Spec.MaxReplicas != 10 {
		t.Errorf("the original has changed: %+v, %v", hpa, err)
	}
}

func itoa(n int32) string { return strconv.Itoa(int(n)) }

func readOneHPA(t *testing.T, text string) (*autoscalingv2.HorizontalPodAutoscaler, error) {
	t.Helper()
	objects, err := Read("a.yaml", strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return objects[0].HPA()
}

const wla = `{apiVersion: plimsoll.dev/v1alpha1, kind: WorkloadAutoscaler, metadata: {name: web},
spec: {maxReplicas: 9, scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web},
schedules: [{name: day, start: 0 8 * * *, durationSeconds: 3600, minReplicas: 3}]}}`

// TestWorkloadAutoscalers: what is left out has its defaults, wherever it is.
func TestWorkloadAutoscalers(t *testing.T) {
	text := strings.Replace(wla, "maxReplicas: 9", `maxReplicas: 9, behavior: {}, metrics: [{name: jobs, type: Prometheus,
prometheus: {serverAddress: "http://prometheus:9090", query: sum(up), target: {type: Value, value: 5}}}]`, 1)
	objects, err := Read("web.yaml", strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	a, err := objects[0].Autoscaler()
	if err != nil {
		t.Fatal(err)
	}
	want := a.Workload.Spec.DeepCopy()
	plimsollv1alpha1.SetDefaults(want)
	if diff := cmp.Diff(*want, a.Workload.Spec); diff != "" {
		t.Errorf("defaults are missing (-want +got):\n%s", diff)
	}
	if *a.MinReplicas() != 1 || a.Workload.Spec.Schedules[0].TimeZone != "Etc/UTC" || a.Namespace != "default" ||
		a.Workload.Spec.Metrics[0].Prometheus.Target.Value.String() != "5" {
		t.Errorf("read as %+v", a.Workload.Spec)
	}
}

// TestRefusedWorkloadAutoscalers: what an API server would refuse is refused, with its field and the server's words.
func TestRefusedWorkloadAutoscalers(t *testing.T) {
	const cpu = "maxReplicas: 9, metrics: [{name: cpu, type: Resource, resource: {name: cpu, target: "
	for name, c := range map[string]struct{ from, to, want string }{
		"another version":     {"v1alpha1", "v1", `apiVersion "plimsoll.dev/v1", want plimsoll.dev/v1alpha1`},
		"no max":              {"maxReplicas: 9, ", "", "spec.maxReplicas: Required value"},
		"a min above the max": {"maxReplicas: 9", "maxReplicas: 9, minReplicas: 10", "spec.maxReplicas: Invalid value: must be greater than or equal to minReplicas"},
		"a misspelt field":    {"durationSeconds", "duration", `unknown field "spec.schedules[0].duration"`},
		"a short schedule":    {"3600", "59", "spec.schedules[0].durationSeconds: Invalid value: 59: "},
		"a long ramp":         {"3600", "3600, rampSeconds: 86401", "spec.schedules[0].rampSeconds: Invalid value: 86401: "},
		"no bound":            {", minReplicas: 3", "", "spec.schedules[0].minReplicas: Required value: must set minReplicas, maxReplicas or both"},
		"nothing to go by":    {"schedules: [{name: day, start: 0 8 * * *, durationSeconds: 3600, minReplicas: 3}]", "metrics: []", "spec.metrics: Required value: must have a metric where there are no schedules"},
		"no name":             {"maxReplicas: 9", "maxReplicas: 9, metrics: [{type: Resource}]", "spec.metrics[0].name: Required value"},
		"no such day":         {"0 8 * * *", "0 8 32 * *", "spec.schedules[0].start: Invalid value"},
		"paused alone":        {"maxReplicas: 9", "maxReplicas: 9, paused: {replicas: 2}", "spec.paused: Forbidden: may be set only where mode is Paused"},
		"an endless quantity": {"maxReplicas: 9", cpu + `{type: AverageValue, averageValue: "1e1000000000"}}}]`, "spec.metrics[0].resource.target.averageValue: Invalid value"},
		"an instant sync":     {"maxReplicas: 9", "maxReplicas: 9, syncPeriodSeconds: 2", "spec.syncPeriodSeconds: Invalid value: 2: "},
		"an endless price":    {"maxReplicas: 9", "maxReplicas: 9, forecast: {shortageCostFactor: 1001}", "spec.forecast.shortageCostFactor: Invalid value: 1001: "},
		"a fallback at once": {"maxReplicas: 9", cpu + "{type: Utilization, averageUtilization: 5}}, " +
			"fallback: {failureDurationSeconds: 0, replicas: 1}}]", "spec.metrics[0].fallback.failureDurationSeconds: Invalid value: 0: "},
		"a target without any": {"maxReplicas: 9", cpu + "{type: Utilization}}}]", "spec.metrics[0].resource.target.averageUtilization: Required value: must be set where type is Utilization"},
	} {
		objects, err := Read("web.yaml", strings.NewReader(strings.Replace(wla, c.from, c.to, 1)))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		_, err = objects[0].Autoscaler()
		if want := "web.yaml: document 1: WorkloadAutoscaler web: " + c.want; err == nil || !strings.Contains(err.Error(), c.want) ||
			!strings.HasPrefix(err.Error(), want[:len(want)-len(c.want)]) {
			t.Errorf("%s: %v, want %s", name, err, want)
		}
	}
}
