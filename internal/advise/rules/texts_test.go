package rules

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestTexts: on the manifests that documentation and guides show, the rules find what
// those texts themselves warn of. Each file beside them was read for findings that a
// careful reader would call wrong.
func TestTexts(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("testdata", "texts", "*.yaml"))
	if err != nil || len(files) < 7 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			c := load(t, file)
			report := Run(c, All())
			golden(t, strings.TrimSuffix(file, ".yaml")+".txt", named(report.Findings))
			for _, f := range report.Findings {
				wantMended(t, c, f.Rule, []Finding{f})
			}
		})
	}
}

// TestCareful: manifests as a careful engineer writes them give no findings; the few findings that there are were
// read for what such a reader would call wrong.
func TestCareful(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("testdata", "sets", "*.yaml"))
	if err != nil || len(files) < 10 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, file := range files {
		if findings := Run(load(t, file), All()).Findings; len(findings) > 0 {
			t.Errorf("%s:\n%s", file, named(findings))
		}
	}
}

// TestFaults: the one fault that each of these has is found, however well it is hidden; what else is found was read,
// too.
func TestFaults(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("testdata", "faults", "*.yaml"))
	if err != nil || len(files) < 10 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			c := load(t, file)
			report := Run(c, All())
			if len(report.Findings) == 0 {
				t.Error("nothing is found")
			}
			golden(t, strings.TrimSuffix(file, ".yaml")+".txt", named(report.Findings))
			for _, f := range report.Findings {
				wantMended(t, c, f.Rule, []Finding{f})
			}
		})
	}
}

// named are findings with the names of their rules.
func named(findings []Finding) string {
	var text strings.Builder
	for _, f := range findings {
		text.WriteString(f.Rule.Name + ", " + words([]Finding{f}))
	}
	if len(findings) == 0 {
		return "nothing\n"
	}
	return text.String()
}
