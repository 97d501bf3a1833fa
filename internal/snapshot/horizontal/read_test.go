package horizontal

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const (
	hpaItem = `
- apiVersion: autoscaling/v2
  kind: HorizontalPodAutoscaler
  metadata: {name: web, namespace: shop}
  spec: {maxReplicas: 5, scaleTargetRef: {kind: Deployment, name: web}}`
	scaleItem = `
- apiVersion: autoscaling/v1
  kind: Scale
  spec: {replicas: 2}
  status: {replicas: 2, selector: app=web}`
	snapshotItem = `
- apiVersion: plimsoll.dev/v1alpha1
  kind: Snapshot
  metadata: {name: web, namespace: shop}
  time: "2026-11-20T12:00:00.123456789Z"`
	document = "apiVersion: v1\nkind: List\nitems:" + hpaItem + scaleItem + snapshotItem
)

func TestReadErrors(t *testing.T) {
	with := func(old, replacement string) string {
		if !strings.Contains(document, old) {
			t.Fatalf("%q is not in the document", old)
		}
		return strings.Replace(document, old, replacement, 1)
	}
	extra := func(item string) string { return document + "\n" + item }
	cases := map[string]struct {
		reason, document, want string
	}{
		"not YAML": {
			"the line is named", "a: [", "document 1: line 1: did not find expected node content",
		},
		"not a list": {
			"a lone object is not a step", "apiVersion: v1\nkind: Pod", "document 1: is a Pod, want a v1 List",
		},
		"no kind": {"", "items: []", "document 1: kind: Required value"},
		"no items": {
			"what is missing is named", "apiVersion: v1\nkind: List",
			"document 1: items: no autoscaling/v2 HorizontalPodAutoscaler and no plimsoll.dev/v1alpha1 WorkloadAutoscaler",
		},
		"no scale": {
			"", with(scaleItem, ""), "document 1: items: no autoscaling/v1 Scale",
		},
		"no snapshot": {
			"", with(snapshotItem, ""), "document 1: items: no plimsoll.dev/v1alpha1 Snapshot",
		},
		"unknown kind": {
			"a kind that would be ignored is an error", extra(`- {apiVersion: v1, kind: Service, metadata: {name: web}}`),
			`document 1: item 4 (Service web): kind Service of "v1" is not part of a snapshot`,
		},
		"other version": {
			"", with("autoscaling/v2", "autoscaling/v1"),
			`document 1: item 1 (HorizontalPodAutoscaler shop/web): kind HorizontalPodAutoscaler of "autoscaling/v1" is not part of a snapshot`,
		},
		"list in list": {"", extra(`- {apiVersion: v1, kind: List}`), "document 1: item 4 (List): a list within the list"},
		"twice": {
			"", document + scaleItem, "document 1: item 4 (Scale): second of its kind, a step has one",
		},
		"unknown field": {
			"a misspelt field is named with its path", with("maxReplicas", "maxReplica"),
			`document 1: item 1 (HorizontalPodAutoscaler shop/web): unknown field "spec.maxReplica"`,
		},
		"doubled field": {
			"", with("kind: Scale", "kind: Scale\n  kind: Scale"), `document 1: line 10: key "kind" already set in map`,
		},
		"doubled field in JSON": {
			"", `{"apiVersion":"v1","kind":"List","items":[{"apiVersion":"v1","kind":"Pod","spec":{},"spec":{}}]}`,
			`document 1: item 1 (Pod): duplicate field "spec"`,
		},
		"wrong type": {
			"", with("maxReplicas: 5", "maxReplicas: many"),
			"document 1: item 1 (HorizontalPodAutoscaler shop/web): cannot unmarshal string into Go struct field " +
				"HorizontalPodAutoscalerSpec.spec.maxReplicas of type int32",
		},
		"second document": {
			"the count goes on", document + "\n---\n" + with("maxReplicas: 5", "maxReplicas: 0"),
			"document 2: HorizontalPodAutoscaler: spec.maxReplicas: 0, must be set and greater than 0",
		},
		"max below min": {
			"", with("maxReplicas: 5", "maxReplicas: 5, minReplicas: 7"),
			"document 1: HorizontalPodAutoscaler: spec.maxReplicas: 5, must be greater than or equal to `minReplicas` 7",
		},
		"negative replicas": {
			"", with("spec: {replicas: 2}", "spec: {replicas: -2}"),
			"document 1: Scale: spec.replicas: -2, must be greater than or equal to 0",
		},
		"no time": {
			"", strings.Split(document, "\n  time:")[0], "document 1: Snapshot: time: Required value",
		},
		"snapshot of another": {
			"", document[:len(document)-len(snapshotItem)] + strings.Replace(snapshotItem, "web", "api", 1),
			"document 1: Snapshot: metadata: shop/api is not the HorizontalPodAutoscaler's name shop/web",
		},
		"negative tolerance": {
			"", document + "\n  options: {tolerance: -0.1}",
			"document 1: Snapshot: options.tolerance: -0.1, must be greater than or equal to 0",
		},
		"negative window": {
			"", document + "\n  options: {downscaleStabilization: -5s}",
			"document 1: Snapshot: options.downscaleStabilization: -5s, must not be negative",
		},
		"margin below 1": {
			"", document + "\n  options: {surge: {margin: 0.5}}",
			"document 1: Snapshot: options.surge.margin: 0.5, must be greater than or equal to 1",
		},
		"margin above the steep factor": {
			"", document + "\n  options: {surge: {margin: 9}}",
			"document 1: Snapshot: options.surge.steepFactor: 8, must be greater than or equal to the margin 9",
		},
		"negative surge window": {
			"", document + "\n  options: {surge: {window: -1s}}",
			"document 1: Snapshot: options.surge.window: -1s, must not be negative",
		},
		"negative CPU": {
			"", document + "\n  options: {surge: {leastCPU: -5m}}",
			"document 1: Snapshot: options.surge.leastCPU: -5m, must not be negative",
		},
		"negative readiness": {
			"", document + "\n  options: {surge: {readyFor: -5s}}",
			"document 1: Snapshot: options.surge.readyFor: -5s, must not be negative",
		},
		"unknown window": {
			"", document + interval("long", `"2026-11-20T12:00:00Z"`, "1s"),
			`document 1: PodMetrics web-0: metadata.annotations[plimsoll.dev/window]: "long", known are "surge" and "earlier"`,
		},
		"interval without a time": {
			"", document + interval("surge", "null", "1s"), "document 1: PodMetrics web-0: timestamp: Required value",
		},
		"interval without a length": {
			"", document + interval("surge", `"2026-11-20T12:00:00Z"`, "0s"),
			"document 1: PodMetrics web-0: window: 0s, must be greater than 0",
		},
		"unknown option": {
			"", document + "\n  options: {syncPeriod: 5s}",
			`document 1: item 3 (Snapshot shop/web): unknown field "options.syncPeriod"`,
		},
		"state of another version": {
			"", document + "\n  state: {version: 9}", "document 1: Snapshot: state.version: 9, this program knows 1",
		},
		"empty change": {
			"", document + "\n  history: {scaleEvents: [{time: \"2026-11-20T12:00:00Z\", change: 0}]}",
			"document 1: Snapshot: history.scaleEvents[0].change: 0, want a number of replicas",
		},
		"recommendation without time": {
			"", document + "\n  history: {recommendations: [{replicas: 3}]}",
			"document 1: Snapshot: history.recommendations[0].time: Required value",
		},
		"error of no metric": {
			"", document + "\n  errors: [{metricIndex: 1, message: gone}]",
			"document 1: Snapshot: errors[0].metricIndex: 1, the HorizontalPodAutoscaler has 1 metrics",
		},
		"error twice": {
			"", document + "\n  errors: [{metricIndex: 0, message: gone}, {metricIndex: 0, message: gone}]",
			"document 1: Snapshot: errors[1].metricIndex: Duplicate value: 0",
		},
		"text after a separator": {
			"they would get lost", "--- a: 1\n", `document 1: "--- a: 1": a separator stands on a line of its own`,
		},
		"cut off": {"", `{"apiVersion": "v1"`, "document 1: ends before its last brace"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			reader := NewReader(strings.NewReader(tc.document))
			var err error
			for err == nil {
				_, err = reader.Next()
			}
			if diff := cmp.Diff(tc.want, err.Error()); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

func FuzzReader(f *testing.F) {
	f.Add(document)
	f.Add(`{"apiVersion":"v1","kind":"List","items":[]}`)
	f.Add("---\n{a: [b, {c: d}]}\n---\n")
	f.Fuzz(func(t *testing.T, stream string) {
		reader := NewReader(strings.NewReader(stream))
		for range 100 {
			step, err := reader.Next()
			if err != nil {
				return
			}
			if (step.HPA == nil) == (step.Workload == nil) || step.Scale == nil || step.Snapshot == nil {
				t.Fatalf("an incomplete step: %+v", step)
			}
		}
	})
}

// interval is an item: PodMetrics of that window.
func interval(window, timestamp, length string) string {
	return fmt.Sprintf("\n- {apiVersion: metrics.k8s.io/v1beta1, kind: PodMetrics, metadata: {name: web-0, annotations: "+
		"{plimsoll.dev/window: %s}}, "+
		"timestamp: %s, window: %s, containers: []}", window, timestamp, length)
}
