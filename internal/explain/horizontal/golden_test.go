package horizontal

import (
	"bytes"
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/divergence"
	"github.com/plimsoll-dev/plimsoll/internal/explain/historybounds"
	snapshothorizontal "github.com/plimsoll-dev/plimsoll/internal/snapshot/horizontal"
)

var writes = flag.Bool("update", false, "write the golden files anew")

// The scenarios are streams with a sentence for each step; what stands beside
// them is the explanation, which the sentence must agree with.
func TestScenarios(t *testing.T) {
	files, err := filepath.Glob("testdata/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scenarios: %v", err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(file, ".yaml")
		t.Run(filepath.Base(name), func(t *testing.T) {
			golden(t, name+".txt", explain(t, file, divergence.Default))
		})
	}
}

// As upstream decides the scenarios in which Plimsoll differs.
func TestScenariosAsUpstream(t *testing.T) {
	for _, name := range []string{"range", "zero", "metric-types", "doubling", "surge"} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join("testdata", name)
			golden(t, path+".upstream.txt", explain(t, path+".yaml", divergence.None))
		})
	}
}

func explain(t *testing.T, file string, set divergence.Set) string {
	t.Helper()
	in, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	var out bytes.Buffer
	for i, result := range evaluateAll(t, in, set) {
		if i > 0 {
			out.WriteByte('\n')
		}
		if err := result.WriteText(&out, Style{Verbose: true}); err != nil {
			t.Fatal(err)
		}
	}
	return out.String()
}

func evaluateAll(t *testing.T, in io.Reader, set divergence.Set) []Result {
	t.Helper()
	var results []Result
	reader, evaluator := snapshothorizontal.NewReader(in), NewEvaluator(set)
	for {
		step, err := reader.Next()
		if errors.Is(err, io.EOF) {
			return results
		}
		if err != nil {
			t.Fatal(err)
		}
		result, err := evaluator.Next(step)
		if err != nil {
			t.Fatal(err)
		}
		results = append(results, result)
	}
}

func golden(t *testing.T, file, got string) {
	t.Helper()
	if *writes {
		if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s differs; if it should, run with -update (-want +got):\n%s", file, diff)
	}
}

// TestExplanations: what comes next, of each step whose history is known.
func TestExplanations(t *testing.T) {
	for _, name := range []string{"wla-schedule", "wla-preview", "wla-paused"} {
		t.Run(name, func(t *testing.T) {
			golden(t, filepath.Join("testdata", name+".explained.txt"), explainEach(t, name, func(
				step *snapshothorizontal.Step,
			) (*Explanation, error) {
				return Explain(step, divergence.Default, 15*time.Second)
			}))
		})
	}
}

// TestWithoutHistoryOfWorkloads: since when metrics fail, and since when none is active, is not known without the
// controller.
func TestWithoutHistoryOfWorkloads(t *testing.T) {
	for _, name := range []string{"wla-fallback", "wla-zero", "wla-sources"} {
		t.Run(name, func(t *testing.T) {
			golden(t, filepath.Join("testdata", name+".unknown.txt"), explainEach(t, name, func(
				step *snapshothorizontal.Step,
			) (*Explanation, error) {
				policy := step.Policy(step.Snapshot.Options.Flags())
				step.Workload.Status.Conditions = []metav1.Condition{{Type: string(autoscalingv2.ScalingActive), Status: "True"}}
				return WithoutHistory(step, &historybounds.Known{
					Autoscaler: step.Autoscaler(), Policy: &policy, Current: step.Scale.Spec.Replicas, Period: 15 * time.Second,
					Divergences: divergence.Default,
				}, "the controller does not answer")
			}))
		})
	}
}

// explainEach returns the explanation of each step of a scenario.
func explainEach(
	t *testing.T, name string, explain func(step *snapshothorizontal.Step) (*Explanation, error),
) string {
	t.Helper()
	in, err := os.Open(filepath.Join("testdata", name+".yaml"))
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	var out bytes.Buffer
	for reader := snapshothorizontal.NewReader(in); ; {
		step, err := reader.Next()
		if errors.Is(err, io.EOF) {
			return out.String()
		}
		if err != nil {
			t.Fatal(err)
		}
		explanation, err := explain(step)
		if err != nil {
			t.Fatal(err)
		}
		if err := explanation.WriteText(&out, Style{Verbose: true}); err != nil {
			t.Fatal(err)
		}
		out.WriteByte('\n')
	}
}
