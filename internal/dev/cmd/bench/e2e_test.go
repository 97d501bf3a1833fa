package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/plimsoll-dev/plimsoll/internal/dev/bench/e2e"
	"github.com/plimsoll-dev/plimsoll/internal/dev/bench/e2e/load"
	"github.com/plimsoll-dev/plimsoll/internal/dev/bench/report"
)

// The target fails with a test, and names those that were only starved.
func TestVerdict(t *testing.T) {
	of := func(name string, outcomes ...e2e.Outcome) e2e.SpecResult {
		return e2e.SpecResult{Spec: e2e.Spec{Name: name}, Outcomes: map[e2e.Subject][]e2e.Outcome{e2e.Plimsoll: outcomes}}
	}
	passed, failed := e2e.Outcome{State: e2e.Passed}, e2e.Outcome{State: e2e.Failed}
	starved := e2e.Outcome{State: e2e.Failed, Load: load.Report{Late: 1}}
	result := &e2e.Result{Specs: []e2e.SpecResult{of("good", passed, passed)}}
	if err := verdict(result, []e2e.Subject{e2e.Plimsoll, e2e.Upstream}); err != nil {
		t.Errorf("all pass: %v", err)
	}
	result.Specs = append(result.Specs, of("bad", passed, failed), of("hungry", starved))
	err := verdict(result, []e2e.Subject{e2e.Plimsoll, e2e.Upstream})
	if err == nil || !strings.Contains(err.Error(), "plimsoll: failed: bad\n") ||
		!strings.Contains(err.Error(), "starved the load: hungry") || strings.Contains(err.Error(), "upstream") {
		t.Errorf("got %v", err)
	}
	if err := verdict(result, []e2e.Subject{e2e.Upstream}); err != nil {
		t.Errorf("another subject's results count: %v", err)
	}
}

// A written result can be continued.
func TestReadResult(t *testing.T) {
	path := filepath.Join(t.TempDir(), "out.json")
	want := &e2e.Result{Specs: []e2e.SpecResult{{
		Spec:     e2e.Spec{Name: "light", FullName: "[a] light"},
		Outcomes: map[e2e.Subject][]e2e.Outcome{e2e.Upstream: {{State: e2e.Passed, Seconds: 93}}},
	}}}
	if err := report.WriteJSON(path, want); err != nil {
		t.Fatal(err)
	}
	got, err := readResult(path)
	if err != nil || len(got.Specs) != 1 || got.Specs[0].FullName != "[a] light" ||
		got.Specs[0].Outcomes[e2e.Upstream][0].Seconds != 93 {
		t.Errorf("got %+v, %v", got, err)
	}
	if got, err := readResult(""); err != nil || len(got.Specs) > 0 {
		t.Errorf("without a file: %+v, %v", got, err)
	}
	if _, err := readResult(path + "x"); err == nil {
		t.Error("a missing file is no error")
	}
}

// The first of several calls that add to a file does not find it. Results that cannot be read are not run over.
func TestEarlierResult(t *testing.T) {
	path := filepath.Join(t.TempDir(), "out.json")
	if got, err := earlierResult(path); err != nil || got == nil || len(got.Specs) > 0 {
		t.Errorf("without a file: %+v, %v", got, err)
	}
	if err := os.WriteFile(path, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := earlierResult(path); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("a file that was cut off: %v", err)
	}
}
