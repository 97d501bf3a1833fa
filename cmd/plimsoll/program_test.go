package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// run executes the program with the arguments and standard input.
func run(t *testing.T, stdin string, args ...string) (string, error) {
	t.Helper()
	root := rootCommand()
	var out bytes.Buffer
	root.SetArgs(args)
	root.SetIn(strings.NewReader(stdin))
	root.SetOut(&out)
	err := root.ExecuteContext(t.Context())
	return out.String(), err
}

// As a plugin of kubectl the program says how it is called there.
func TestPluginName(t *testing.T) {
	root := programCommand("/usr/local/bin/kubectl-plimsoll")
	var out bytes.Buffer
	root.SetOut(&out)
	root.SetArgs([]string{"evaluate", "--help"})
	if err := root.Execute(); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), "kubectl plimsoll evaluate -f FILE|-") ||
		!strings.Contains(out.String(), "  kubectl plimsoll evaluate -f snapshot.yaml\n") {
		t.Errorf("help says:\n%s", out.String())
	}
}

func TestVersion(t *testing.T) {
	got, err := run(t, "", "version")
	if err != nil || !strings.HasPrefix(got, "plimsoll ") || len(got) < len("plimsoll x\n") {
		t.Errorf("error %v, printed %q", err, got)
	}
}

// TestVerticalFile: a file about a VerticalPodAutoscaler is evaluated and explained alike, and can be saved again.
func TestVerticalFile(t *testing.T) {
	const file = "../../internal/snapshot/vertical/testdata/web.yaml"
	want, err := os.ReadFile("../../internal/explain/vertical/testdata/saved.txt")
	if err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"evaluate", "-v", "-f", file}, {"explain", "-v", "--from", file},
		{"evaluate", "-v", "-f", file, "--divergences", "default"}} {
		if got, err := run(t, "", args...); err != nil || got != string(want) {
			t.Errorf("%v: %v, printed:\n%s", args, err, got)
		}
	}
	again := filepath.Join(t.TempDir(), "again.yaml")
	if _, err := run(t, "", "explain", "--from", file, "--save", again); err != nil {
		t.Fatal(err)
	}
	if got, err := run(t, "", "evaluate", "-v", "-f", again); err != nil || got != string(want) {
		t.Errorf("saved again: %v, printed:\n%s", err, got)
	}
}
