package whatif

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"

	"github.com/plimsoll-dev/plimsoll/internal/explain/explainer"
	"github.com/plimsoll-dev/plimsoll/internal/explain/leader"
	"github.com/plimsoll-dev/plimsoll/internal/loadhistory"
	"github.com/plimsoll-dev/plimsoll/internal/ui/view"
)

const (
	storedHPA = `
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: web, namespace: shop, uid: u-1}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}
  minReplicas: 2
  maxReplicas: 20
  metrics:
  - {type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 70}}}
  - {type: Pods, pods: {metric: {name: requests}, target: {type: AverageValue, averageValue: "100"}}}
status: {currentReplicas: 3, desiredReplicas: 3}
`
	storedDeployment = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: app, image: web, resources: {requests: {cpu: 400m}}}]}
`
)

// cluster returns a cluster with the HPA, half an hour of 3 pods at the target and half an hour of 9.
func cluster(t *testing.T) *explainer.ClusterReader {
	t.Helper()
	return clusterWith(t, storedHPA)
}

// clusterWith returns that cluster with another HPA.
func clusterWith(t *testing.T, hpa string) *explainer.ClusterReader {
	t.Helper()
	var h loadhistory.History
	begin := time.Now().Add(-time.Hour)
	for second := range 3600 {
		p := loadhistory.Point{Load: 3, PerPodMilli: 280, Wanted: 4, Ready: 4}
		if second >= 1800 {
			p.Load = 9
		}
		h.Add(begin.Add(time.Duration(second)*time.Second), p)
	}
	history, err := h.AppendBinary(nil)
	if err != nil {
		t.Fatal(err)
	}
	answers := map[string]string{
		"/apis/autoscaling/v2/namespaces/shop/horizontalpodautoscalers/web": hpa,
		"/apis/apps/v1/namespaces/shop/deployments/web":                     storedDeployment,
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/horizontalpodautoscalers/shop/web/history" {
			_, _ = w.Write(history)
			return
		}
		if r.Method != http.MethodGet {
			t.Errorf("%s %s: what is played writes nothing", r.Method, r.URL.Path)
		}
		text, err := yaml.YAMLToJSON([]byte(answers[r.URL.Path]))
		if err != nil {
			t.Error(err)
		}
		w.Header().Set("Content-Type", "application/json")
		if answers[r.URL.Path] == "" {
			w.WriteHeader(http.StatusNotFound)
		}
		_, _ = w.Write(text)
	}))
	t.Cleanup(server.Close)
	reader, err := explainer.NewClusterReader(&rest.Config{Host: server.URL},
		leader.Finder{Address: strings.TrimPrefix(server.URL, "http://")}, explainer.Options{Controller: explainer.Auto})
	if err != nil {
		t.Fatal(err)
	}
	return reader
}

func asked(changes view.Changes) *view.WhatIfRequest {
	return &view.WhatIfRequest{Kind: view.HPA, Namespace: "shop", Name: "web", LastSeconds: 7200, Changes: changes}
}

// TestPlay: a lower target leads to more pods, and a lower maximum to fewer, which lack capacity. The load and the
// result of the current settings stay the same.
func TestPlay(t *testing.T) {
	reader := cluster(t)
	play := func(changes view.Changes) *view.WhatIf {
		t.Helper()
		result, err := Play(t.Context(), reader, asked(changes), []string{"--context=kind-shop"}, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		if n := len(result.Load); n == 0 || len(result.AsIs.Desired) != n || len(result.Changed.Desired) != n ||
			len(result.AsIs.Ready) != n || len(result.Changed.Ready) != n {
			t.Fatalf("%d loads, %d and %d desired counts", n, len(result.AsIs.Desired), len(result.Changed.Desired))
		}
		return result
	}
	lower := play(view.Changes{Targets: []view.TargetChange{{Metric: 0, Value: "35"}}})
	if as, with := slices.Max(lower.AsIs.Desired), slices.Max(lower.Changed.Desired); 2*with < 3*as {
		t.Errorf("at most %d as it is and %d with half the target, want about twice as many", as, with)
	}
	if lower.Changed.PodHours <= lower.AsIs.PodHours {
		t.Errorf("pod-hours %v as it is, %v with half the target", lower.AsIs.PodHours, lower.Changed.PodHours)
	}
	if !strings.HasPrefix(lower.Command, "kubectl --context=kind-shop patch ") {
		t.Errorf("the command names no cluster: %s", lower.Command)
	}
	bounded := play(view.Changes{MaxReplicas: ptr.To[int32](4)})
	if got := slices.Max(bounded.Changed.Desired); got != 4 {
		t.Errorf("at most %d with maxReplicas 4", got)
	}
	if bounded.Changed.ShortPercent <= bounded.AsIs.ShortPercent || bounded.Changed.LongestShortSeconds <= 0 {
		t.Errorf("short of capacity %+v as it is, %+v with maxReplicas 4", bounded.AsIs, bounded.Changed)
	}
	if bounded.AsIs.PodHours != lower.AsIs.PodHours {
		t.Errorf("as it is: %v and %v pod-hours", bounded.AsIs.PodHours, lower.AsIs.PodHours)
	}
	if !strings.Contains(strings.Join(bounded.Notes, "\n"), "in pods at the target") {
		t.Errorf("notes %q", bounded.Notes)
	}
}

// TestWhatSavingsCost: the result has fewer pod-hours, and also how long the load is above the target, and the
// assumption for that.
func TestWhatSavingsCost(t *testing.T) {
	bounded, err := Play(t.Context(), cluster(t), asked(view.Changes{MaxReplicas: ptr.To[int32](4)}), nil, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	if bounded.Changed.AboveTargetPercent < 40 || bounded.AsIs.AboveTargetPercent > 10 {
		t.Errorf("above the target %v %% as it is, %v %% with maxReplicas 4 for half an hour of a load of 9",
			bounded.AsIs.AboveTargetPercent, bounded.Changed.AboveTargetPercent)
	}
	// For maxReplicas 4 are too few, and for no other reason; 20 are enough.
	if at := bounded.Changed.AboveAtMaxPercent; at < 0.9*bounded.Changed.AboveTargetPercent || bounded.AsIs.AboveAtMaxPercent != 0 {
		t.Errorf("above the target at maxReplicas %v %% as it is, %v %% with maxReplicas 4", bounded.AsIs.AboveAtMaxPercent, at)
	}
	for _, want := range []string{"each of which serves 100 requests/s; a pod serves 100 requests/s at its target, as requests says",
		"cpu is what requests use", "requests is the requests that a pod serves per second", "simulate --from horizontalpodautoscaler/web -n shop", "is ready 7s after", "Plimsoll's loop decides in both"} {
		if !strings.Contains(strings.Join(bounded.Notes, "\n"), want) {
			t.Errorf("the notes lack %q: %q", want, bounded.Notes)
		}
	}
}

// TestTolerance: above the target is above it by more than the tolerance of the object as it is, for both settings:
// seven pods of a load of 9 use 29 % more than the target.
func TestTolerance(t *testing.T) {
	for name, tt := range map[string]struct {
		behavior, changed string
		least, most       float64
	}{
		"the default":                  {"", "", 40, 60},
		"the object's own":             {"{scaleUp: {tolerance: 400m}}", "", 0, 5},
		"not that of the changed one":  {"", "{scaleUp: {tolerance: 400m}}", 40, 60},
		"the object's, though changed": {"{scaleUp: {tolerance: 400m}}", "{scaleUp: {tolerance: 50m}}", 0, 5},
	} {
		t.Run(name, func(t *testing.T) {
			hpa := storedHPA
			if tt.behavior != "" {
				hpa = strings.Replace(hpa, "spec:\n", "spec:\n  behavior: "+tt.behavior+"\n", 1)
			}
			changes := view.Changes{MaxReplicas: ptr.To[int32](7), Behavior: tt.changed}
			result, err := Play(t.Context(), clusterWith(t, hpa), asked(changes), nil, time.Now())
			if err != nil {
				t.Fatal(err)
			}
			if got := result.Changed.AboveTargetPercent; got < tt.least || got > tt.most {
				t.Errorf("above the target %v %% of the time with maxReplicas 7, want %v to %v", got, tt.least, tt.most)
			}
		})
	}
}

// TestRequests: a target in requests works like one in CPU.
func TestRequests(t *testing.T) {
	half := view.Changes{Targets: []view.TargetChange{{Metric: 1, Value: "50"}}}
	result, err := Play(t.Context(), cluster(t), asked(half), nil, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	if as, with := slices.Max(result.AsIs.Desired), slices.Max(result.Changed.Desired); 2*with < 3*as {
		t.Errorf("at most %d as it is and %d with half the requests a pod, want about twice as many", as, with)
	}
	if result.Warning != "" {
		t.Errorf("warning %q", result.Warning)
	}
}

// TestWarning: the result says why its measures do not answer the question.
func TestWarning(t *testing.T) {
	reader := cluster(t)
	for want, changes := range map[string]view.Changes{
		"changed: metric cpu never asks for more pods":   {Targets: []view.TargetChange{{Metric: 0, Value: "300"}}},
		"the settings make no difference to this load, ": {MaxReplicas: ptr.To[int32](19)},
	} {
		result, err := Play(t.Context(), reader, asked(changes), nil, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(result.Warning, want) {
			t.Errorf("%+v: warning %q, want %q", changes, result.Warning, want)
		}
	}
}

// TestInvalid: settings that cannot be simulated lead to an error of the request that says so.
func TestInvalid(t *testing.T) {
	reader := cluster(t)
	for name, tt := range map[string]struct {
		request *view.WhatIfRequest
		want    string
	}{
		"nothing":     {asked(view.Changes{}), "Nothing was changed"},
		"only blanks": {asked(view.Changes{Behavior: " \n"}), "Nothing was changed"},
		"what there is": {asked(view.Changes{MinReplicas: ptr.To[int32](2), Targets: []view.TargetChange{
			{Metric: 0, Value: "70%"}, {Metric: 1, Value: "0.1k"}}}), "Nothing was changed"},
		"a VPA":            {&view.WhatIfRequest{Kind: view.VPA, Namespace: "shop", Name: "web"}, "kind"},
		"too short":        {&view.WhatIfRequest{Kind: view.HPA, Namespace: "shop", Name: "web", LastSeconds: 1, Changes: view.Changes{MinReplicas: ptr.To[int32](3)}}, "lastSeconds"},
		"too long":         {&view.WhatIfRequest{Kind: view.HPA, Namespace: "shop", Name: "web", LastSeconds: 1 << 60, Changes: view.Changes{MinReplicas: ptr.To[int32](3)}}, "lastSeconds"},
		"no such metric":   {asked(view.Changes{Targets: []view.TargetChange{{Metric: 2, Value: "50"}}}), "no metric 2"},
		"a metric below 0": {asked(view.Changes{Targets: []view.TargetChange{{Metric: -1, Value: "50"}}}), "no metric -1"},
		"no percentage":    {asked(view.Changes{Targets: []view.TargetChange{{Metric: 0, Value: "half"}}}), "percentage"},
		"no quantity":      {asked(view.Changes{Targets: []view.TargetChange{{Metric: 1, Value: "much"}}}), "quantities"},
		"many targets":     {asked(view.Changes{Targets: make([]view.TargetChange, 51)}), "at most 50"},
		"no YAML":          {asked(view.Changes{Behavior: "a: [b"}), "behavior"},
		"no behavior":      {asked(view.Changes{Behavior: "scaleSideways: {}"}), "scaleSideways"},
		"no metric that follows": {asked(view.Changes{Targets: []view.TargetChange{{Metric: 0, Value: "300"}, {Metric: 1, Value: "1k"}}}),
			"changed: metric cpu never asks for more pods: "},
		"schedules": {asked(view.Changes{Schedules: "[]"}), "only a WorkloadAutoscaler"},
	} {
		_, err := Play(t.Context(), reader, tt.request, nil, time.Now())
		var invalid *InvalidError
		if !errors.As(err, &invalid) || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want an InvalidError with %q", name, err, tt.want)
		}
	}
}

// TestPatch: the patch has exactly the changed fields, and is quoted for a shell.
func TestPatch(t *testing.T) {
	reader := cluster(t)
	result, err := Play(t.Context(), reader, asked(view.Changes{
		MinReplicas: ptr.To[int32](3), Behavior: "scaleDown: {stabilizationWindowSeconds: 60}",
		Targets: []view.TargetChange{{Metric: 0, Value: "60%"}, {Metric: 1, Value: "50"}},
	}), nil, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	want := []operation{
		{"add", "/spec/behavior", map[string]any{"scaleDown": map[string]any{"stabilizationWindowSeconds": 60.0}}},
		{"add", "/spec/metrics/0/resource/target/averageUtilization", 60.0},
		{"add", "/spec/metrics/1/pods/target/averageValue", "50"},
		{"add", "/spec/minReplicas", 3.0},
	}
	var got []operation
	if err := json.Unmarshal([]byte(result.Patch), &got); err != nil {
		t.Fatal(err)
	}
	wanted, _ := json.Marshal(want)
	if found, _ := json.Marshal(got); string(found) != string(wanted) {
		t.Errorf("patch %s, want %s", found, wanted)
	}
	const name = `it's; $(touch /tmp/x) "here"`
	patch, command, err := patchOf(view.HPA, "shop", name, []change{{path: []string{"spec", "behavior"}, value: name}})
	if err != nil {
		t.Fatal(err)
	}
	words, err := exec.Command("sh", "-c", "kubectl() { printf '%s\\n' \"$@\"; }; "+command).Output()
	wantWords := strings.Join([]string{"patch", "horizontalpodautoscaler", name, "-n", "shop", "--type=json", "-p", patch}, "\n")
	if err != nil || strings.TrimSpace(string(words)) != wantWords {
		t.Errorf("the shell passes %q on, %v; want %q", words, err, wantWords)
	}
}
