package horizontal

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	plimsollv1alpha1 "github.com/plimsoll-dev/plimsoll/api/plimsoll/v1alpha1"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/divergence"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/podselector"
	"github.com/plimsoll-dev/plimsoll/internal/observe"
	observehorizontal "github.com/plimsoll-dev/plimsoll/internal/observe/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/snapshot"
	snapshothorizontal "github.com/plimsoll-dev/plimsoll/internal/snapshot/horizontal"
)

// document is a step without any metrics' values.
const document = `apiVersion: v1
kind: List
items:
- apiVersion: autoscaling/v2
  kind: HorizontalPodAutoscaler
  metadata: {name: web, namespace: shop}
  spec: {maxReplicas: 5, scaleTargetRef: {kind: Deployment, name: web}}
- apiVersion: autoscaling/v1
  kind: Scale
  spec: {replicas: 2}
  status: {replicas: 2, selector: app=web}
- apiVersion: plimsoll.dev/v1alpha1
  kind: Snapshot
  metadata: {name: web, namespace: shop}
  time: "2026-11-20T12:00:00.123456789Z"`

func stepOf(t *testing.T, text string) *snapshothorizontal.Step {
	t.Helper()
	step, err := snapshothorizontal.NewReader(strings.NewReader(text)).Next()
	if err != nil {
		t.Fatal(err)
	}
	return step
}

// live returns a decision with only the object and its scale.
func live(t *testing.T) *snapshothorizontal.Live {
	step := stepOf(t, document)
	target, _ := observehorizontal.Target(step.Scale)
	return &snapshothorizontal.Live{
		Autoscaler: step.Autoscaler(), Scale: step.Scale, Options: observehorizontal.DefaultOptions(),
		State: &horizontal.State{}, Observation: &horizontal.Observation{Target: target},
	}
}

// again returns the step after writing and reading it.
func again(t *testing.T, step *snapshothorizontal.Step) *snapshothorizontal.Step {
	t.Helper()
	step.Snapshot.Time = time.Date(2026, 11, 20, 12, 0, 0, 1, time.UTC)
	var file bytes.Buffer
	if err := snapshothorizontal.Encode(&file, step); err != nil {
		t.Fatal(err)
	}
	return stepOf(t, file.String())
}

// The written step leads to the same decision.
func TestEncodeKeepsDecisions(t *testing.T) {
	files, err := filepath.Glob("testdata/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scenarios: %v", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			in, err := os.Open(file)
			if err != nil {
				t.Fatal(err)
			}
			defer in.Close()
			var stream bytes.Buffer
			for reader := snapshothorizontal.NewReader(in); ; {
				step, err := reader.Next()
				if errors.Is(err, io.EOF) {
					break
				}
				if err != nil {
					t.Fatal(err)
				}
				if err := snapshothorizontal.Encode(&stream, step); err != nil {
					t.Fatal(err)
				}
			}
			var got bytes.Buffer
			for i, result := range evaluateAll(t, &stream, divergence.Default) {
				if i > 0 {
					got.WriteByte('\n')
				}
				if err := result.WriteText(&got, Style{Verbose: true}); err != nil {
					t.Fatal(err)
				}
			}
			if diff := cmp.Diff(explain(t, file, divergence.Default), got.String()); diff != "" {
				t.Errorf("(-original +encoded):\n%s", diff)
			}
		})
	}
}

// A new object of the same name starts without history, because it is another one; upstream uses the history by name.
// The metric of these steps fails, so that the history is only the seed, the count at first.
func TestHistoryByUID(t *testing.T) {
	for set, want := range map[divergence.Set]int32{divergence.Default: 3, divergence.None: 2} {
		evaluator := NewEvaluator(set)
		for uid, replicas := range []int32{2, 3} {
			step := stepOf(t, document)
			step.HPA.UID, step.Scale.Spec.Replicas = types.UID(rune('a'+uid)), replicas
			if _, err := evaluator.Next(step); err != nil {
				t.Fatal(err)
			}
		}
		state := evaluator.states[observe.HPA("shop", "web")].state
		got, _ := state.Recommendations.Highest(func(time.Time) bool { return true })
		if got.Replicas != want {
			t.Errorf("divergences %s: remembers %v, want the seed of %d", set, got, want)
		}
	}
}

// TestSavedDivergences: divergences are compared as sets: another spelling of the same set is no difference.
func TestSavedDivergences(t *testing.T) {
	var names []string
	for _, one := range divergence.All() {
		names = append(names, one.String())
	}
	slices.Reverse(names)
	for saved, isShown := range map[string]bool{
		"": false, "default": false, strings.Join(names, ", "): false, "none": true, names[0]: true, "gone-by-now": true,
	} {
		step := stepOf(t, document)
		step.Snapshot.Annotations = map[string]string{snapshot.DivergencesAnnotation: saved}
		result, _, err := Evaluate(step, horizontal.State{}, divergence.Default)
		if err != nil {
			t.Fatal(err)
		}
		var text strings.Builder
		if err := result.WriteText(&text, Style{Verbose: true}); err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(text.String(), "when the snapshot was saved"); got != isShown {
			t.Errorf("saved with %q: %v, want %v\n%s", saved, got, isShown, &text)
		}
	}
}

func TestJSON(t *testing.T) {
	for _, name := range []string{"zero", "doubling", "surge", "wla-schedule", "wla-fallback", "wla-zero", "wla-sources"} {
		t.Run(name, func(t *testing.T) { writesJSON(t, "testdata/"+name) })
	}
}

func writesJSON(t *testing.T, name string) {
	t.Helper()
	in, err := os.Open(name + ".yaml")
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	var out bytes.Buffer
	results := evaluateAll(t, in, divergence.Default)
	for i := range results {
		if err := results[i].WriteJSON(&out); err != nil {
			t.Fatal(err)
		}
	}
	golden(t, name+".json", out.String())
	decoder := json.NewDecoder(&out)
	decoder.DisallowUnknownFields()
	for i := range results {
		var object struct {
			Summary         string                    `json:"summary"`
			DesiredReplicas *int32                    `json:"desiredReplicas"`
			Rescale         *bool                     `json:"rescale"`
			Status          json.RawMessage           `json:"status"`
			Events          []observehorizontal.Event `json:"events"`
			Trace           json.RawMessage           `json:"trace"`
		}
		if err := decoder.Decode(&object); err != nil {
			t.Fatalf("step %d: %v", i, err)
		}
		if object.DesiredReplicas == nil || *object.DesiredReplicas != results[i].Decision.Desired ||
			*object.Rescale != results[i].Decision.Rescale {
			t.Errorf("step %d: %+v", i, object)
		}
	}
}

// TestWhatIsWrongWithTheTarget: the snapshot has errors of the target that a Scale cannot express.
func TestWhatIsWrongWithTheTarget(t *testing.T) {
	unread := live(t)
	unread.Scale, unread.Observation.Target = nil, horizontal.Target{Error: "the server could not find it"}
	result, text := explained(t, again(t, snapshothorizontal.Of(unread)), divergence.Default)
	if result.Decision.Branch != horizontal.BranchNoScale ||
		!strings.Contains(text, "scale of the target cannot be read") || !strings.Contains(text, "could not find it") {
		t.Errorf("%s: %s", result.Decision.Branch, text)
	}
	shared := live(t)
	shared.Observation.Target.Selector = podselector.Selector{Problem: podselector.Ambiguous, Message: "two want it"}
	result, text = explained(t, again(t, snapshothorizontal.Of(shared)), divergence.Default)
	if result.Decision.Branch != horizontal.BranchFailed || !strings.Contains(text, "AmbiguousSelector") ||
		!strings.Contains(text, "two want it") {
		t.Errorf("%s: %s", result.Decision.Branch, text)
	}
}

// TestDecidingController: a replay with divergences that differ from the saved decision's reports that.
func TestDecidingController(t *testing.T) {
	const line = "default here; none when the snapshot was saved"
	l := live(t)
	l.Options.Divergences = divergence.None
	if _, text := explained(t, again(t, snapshothorizontal.Of(l)), divergence.Default); !strings.Contains(text, line) {
		t.Errorf("it is not printed: %s", text)
	}
	if _, text := explained(t, again(t, snapshothorizontal.Of(l)), divergence.None); strings.Contains(text,
		"when the snapshot was saved") {
		t.Errorf("they are the same: %s", text)
	}
}

func explained(t *testing.T, step *snapshothorizontal.Step, set divergence.Set) (Result, string) {
	t.Helper()
	result, _, err := Evaluate(step, horizontal.State{}, set)
	if err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	if err := result.WriteText(&text, Style{Verbose: true}); err != nil {
		t.Fatal(err)
	}
	return result, text.String()
}

// TestLastScaleDecisionIsTheStatuses: explain has the decision that the status has, with its time, while it means the
// same.
func TestLastScaleDecisionIsTheStatuses(t *testing.T) {
	text, err := os.ReadFile("testdata/wla-schedule.yaml")
	if err != nil {
		t.Fatal(err)
	}
	step := stepOf(t, string(text))
	step.Workload.Generation = 3
	decide := func() *plimsollv1alpha1.WorkloadAutoscalerStatus {
		r, _, err := Evaluate(step, horizontal.State{}, divergence.Default)
		if err != nil {
			t.Fatal(err)
		}
		return r.statusOutput().workload
	}
	written := decide()
	step.Workload.Status, step.Snapshot.Time = *written, step.Snapshot.Time.Add(time.Second)
	diff := cmp.Diff(written.LastScaleDecision, decide().LastScaleDecision)
	if diff != "" || written.LastScaleDecision == nil {
		t.Errorf("(-status +explain):\n%s", diff)
	}
	step.Scale.Spec.Replicas++
	if other := decide().LastScaleDecision; other.Time.Equal(&written.LastScaleDecision.Time) {
		t.Errorf("another decision has the time of the status: %+v", other)
	}
}
