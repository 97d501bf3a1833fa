package evaluate

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const (
	scenarios        = "../../../../internal/explain/horizontal/testdata/"
	verticalScenario = "../../../../internal/snapshot/vertical/testdata/web.yaml"
)

// run executes the command with the arguments and standard input.
func run(t *testing.T, stdin string, args ...string) (string, error) {
	t.Helper()
	cmd := Command()
	cmd.SilenceUsage, cmd.SilenceErrors = true, true
	var out bytes.Buffer
	cmd.SetArgs(args)
	cmd.SetIn(strings.NewReader(stdin))
	cmd.SetOut(&out)
	err := cmd.ExecuteContext(t.Context())
	return out.String(), err
}

func TestEvaluateText(t *testing.T) {
	want, err := os.ReadFile(scenarios + "article.txt")
	if err != nil {
		t.Fatal(err)
	}
	got, err := run(t, "", "--verbose", "-f", scenarios+"article.yaml")
	if err != nil || got != string(want) {
		t.Errorf("error %v, printed:\n%s", err, got)
	}
	stream, err := os.ReadFile(scenarios + "article.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if got, err := run(t, string(stream), "--verbose", "-f", "-"); err != nil || got != string(want) {
		t.Errorf("from standard input: error %v, printed:\n%s", err, got)
	}
}

func TestEvaluateJSON(t *testing.T) {
	got, err := run(t, "", "-f", scenarios+"article.yaml", "-o", "json")
	if err != nil {
		t.Fatal(err)
	}
	var counts []int
	for line := range strings.Lines(got) {
		var object struct{ DesiredReplicas int }
		if err := json.Unmarshal([]byte(line), &object); err != nil {
			t.Fatalf("not one object a line: %v", err)
		}
		counts = append(counts, object.DesiredReplicas)
	}
	if want := []int{4, 8, 10, 1}; len(counts) != 4 || counts[0] != want[0] || counts[1] != want[1] ||
		counts[2] != want[2] || counts[3] != want[3] {
		t.Errorf("desired replicas %v, want %v", counts, want)
	}
}

// The surge of a rollout raises the count upstream and not here.
func TestEvaluateDivergences(t *testing.T) {
	for set, want := range map[string]string{"none": "Scales from 2 to 3",
		"default": "Stays at 2", "rollout-surge": "Stays at 2"} {
		got, err := run(t, "", "-f", scenarios+"range.yaml", "--divergences", set)
		steps := strings.Split(got, "\n\n")
		if err != nil || len(steps) != 4 || !strings.Contains(steps[2], want) {
			t.Errorf("--divergences %s: error %v, want %q in\n%s", set, err, want, got)
		}
	}
}

func TestEvaluateErrors(t *testing.T) {
	empty := filepath.Join(t.TempDir(), "empty.yaml")
	if err := os.WriteFile(empty, []byte("# nothing\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	cases := map[string]struct {
		args []string
		want string
	}{
		"no file named":      {nil, "no file is named: --filename=FILE"},
		"no such file":       {[]string{"-f", "nowhere.yaml"}, "open nowhere.yaml: no such file"},
		"nothing in it":      {[]string{"-f", empty}, "no step in it"},
		"unknown output":     {[]string{"-f", empty, "-o", "xml"}, `--output: "xml": want text or json`},
		"unknown divergence": {[]string{"-f", empty, "--divergences", "moon"}, `--divergences=moon: unknown divergence "moon"`},
		"bad document":       {[]string{"-f", "-"}, "standard input: document 1: is a Pod, want a v1 List"},
	}
	for name, tc := range cases {
		got, err := run(t, "apiVersion: v1\nkind: Pod", tc.args...)
		if err == nil || !strings.Contains(err.Error(), tc.want) || got != "" {
			t.Errorf("%s: error %v, want %q; printed %q", name, err, tc.want, got)
		}
	}
}

// TestVerticalDivergences: they are those of the vertical side, and others than the file's are told.
func TestVerticalDivergences(t *testing.T) {
	file := verticalScenario
	got, err := run(t, "", "-v", "-f", file, "--divergences", "finite-upper")
	if err != nil || !strings.Contains(got, "finite-upper here; default when the snapshot was saved") {
		t.Errorf("with others: %v, printed:\n%s", err, got)
	}
	if _, err := run(t, "", "-f", file, "--divergences", "rollout-surge"); err == nil ||
		!strings.Contains(err.Error(), `unknown divergence "rollout-surge"`) {
		t.Errorf("with those of the other side: %v", err)
	}
}

// TestBothKinds: a stream may have documents of both sides.
func TestBothKinds(t *testing.T) {
	vertical, err := os.ReadFile(verticalScenario)
	if err != nil {
		t.Fatal(err)
	}
	horizontal, err := os.ReadFile(scenarios + "article.yaml")
	if err != nil {
		t.Fatal(err)
	}
	got, err := run(t, string(vertical)+"\n---\n"+string(horizontal), "-f", "-")
	if err != nil || !strings.Contains(got, "VerticalPodAutoscaler shop/web") ||
		!strings.Contains(got, "  HorizontalPodAutoscaler ") {
		t.Errorf("both kinds: %v, printed:\n%s", err, got)
	}
}
