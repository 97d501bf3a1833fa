package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/plimsoll-dev/plimsoll/internal/dev/devcluster/build"
)

const module = "github.com/plimsoll-dev/plimsoll/internal/dev/test/integration/"

func TestTable(t *testing.T) {
	const events = `{"Action":"start","Package":"` + module + `scaling"}
{"Action":"start","Package":"` + module + `doctor"}
{"Action":"start","Package":"` + module + `migrate"}
{"Action":"output","Package":"` + module + `scaling","Test":"TestA","Output":"=== RUN   TestA\n"}
{"Action":"pass","Package":"` + module + `scaling","Test":"TestA/sub"}
{"Action":"pass","Package":"` + module + `scaling","Test":"TestA"}
{"Action":"fail","Package":"` + module + `scaling","Test":"TestB"}
{"Action":"fail","Package":"` + module + `scaling"}
{"Action":"fail","Package":"` + module + `doctor"}
`
	o, err := count(strings.NewReader(events))
	if err != nil {
		t.Fatal(err)
	}
	o.release = "v1.32.13"
	if o.skipped, err = skippedOn("1.32"); err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	if err := show([]outcome{o}, &out); err == nil {
		t.Error("no error although tests failed")
	}
	const want = `KUBERNETES  PASSED  FAILED  SKIPPED
v1.32.13    1       3       2
v1.32.13: failed: TestB in ` + module + `scaling
v1.32.13: failed: package ` + module + `doctor
v1.32.13: failed: package ` + module + `migrate, which did not end
v1.32.13: skipped: TestStatusAndEvents in integration/scaling: an HPA has no metadata.generation before 1.37
v1.32.13: skipped: TestScalesToZeroAndBackByAnExternalMetric in integration/scaling: ` + noZero + "\n"
	if out.String() != want {
		t.Errorf("shown is\n%swant\n%s", out.String(), want)
	}
}

func TestVersionThatWasNotBuiltHasFailed(t *testing.T) {
	o, err := read(filepath.Join(t.TempDir(), "v1.32.json"))
	if err != nil || len(o.failed) != 1 {
		t.Errorf("%+v, %v", o, err)
	}
}

func TestSkipPattern(t *testing.T) {
	for version, want := range map[string]bool{"1.32": true, "1.33": false, "1.36": false, "1.37": false} {
		pattern, err := skipPattern(version)
		if err != nil {
			t.Fatal(err)
		}
		matches := func(test string) bool { return pattern != "" && regexp.MustCompile(pattern).MatchString(test) }
		if got := matches("TestResizesInPlace"); got != want {
			t.Errorf("%s: %t, want %t: %s", version, got, want, pattern)
		}
		if matches("TestHealth") {
			t.Errorf("%s: %s", version, pattern)
		}
	}
	for _, wrong := range []string{"", "1", "v1.32", "1.x", "2.1"} {
		if _, err := skipPattern(wrong); err == nil {
			t.Errorf("%q is taken for a version", wrong)
		}
	}
}

// A test that is gone or called otherwise would no longer be skipped, or be skipped in silence; one of the same name in
// another package would be skipped too.
func TestEachSkippedTestExistsOnce(t *testing.T) {
	root, err := build.Root()
	if err != nil {
		t.Fatal(err)
	}
	in := map[string][]string{} // the packages of each test
	integration := filepath.Join(root, "internal", "dev", "test", "integration")
	err = filepath.WalkDir(integration, func(file string, _ os.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(file, "_test.go") {
			return err
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		for _, match := range regexp.MustCompile(`(?m)^func (Test\w+)\(`).FindAllSubmatch(text, -1) {
			folder, err := filepath.Rel(integration, filepath.Dir(file))
			if err != nil {
				return err
			}
			in[string(match[1])] = append(in[string(match[1])], filepath.ToSlash(folder))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range allSkipped {
		if found := in[s.Test]; len(found) != 1 || found[0] != s.Package {
			t.Errorf("%s is in %v, and is skipped in %s", s.Test, found, s.Package)
		}
	}
}
