package divergence

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// root is the repository.
var root = filepath.Join("..", "..", "..", "..")

// held matches a group of tests and the folder that they are in.
var held = regexp.MustCompile("((?:`Test[A-Za-z]+`[^`\\]]*)+)\\[[^\\]]*\\]\\(\\.\\./\\.\\./([^)]+)\\)")

var testName = regexp.MustCompile("`(Test[A-Za-z]+)`")

// TestDocumented: docs/contributing/compatibility.md describes each divergence, and the tests
// that it names exist.
func TestDocumented(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "docs", "contributing", "compatibility.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, vertical, found := strings.Cut(string(text), "\n## Vertical\n")
	if !found {
		t.Fatal("there is no vertical part")
	}
	for _, d := range All() {
		_, section, found := strings.Cut(vertical, "\n### `"+d.String()+"`\n")
		if !found {
			t.Errorf("%s has no section", d)
			continue
		}
		section, _, _ = strings.Cut(section, "\n##")
		for _, what := range []string{"**Upstream:**", "**Plimsoll:**", "**Tests:**"} {
			if !strings.Contains(section, what) {
				t.Errorf("%s has no %s", d, what)
			}
		}
		_, by, _ := strings.Cut(section, "**Tests:**")
		groups := held.FindAllStringSubmatch(strings.Join(strings.Fields(by), " "), -1)
		if len(groups) == 0 {
			t.Errorf("no test holds %s", d)
		}
		for _, group := range groups {
			for _, name := range testName.FindAllStringSubmatch(group[1], -1) {
				if !hasTest(t, filepath.Join(root, group[2]), name[1]) {
					t.Errorf("%s: there is no %s in %s", d, name[1], group[2])
				}
			}
		}
	}
}

func hasTest(t *testing.T, folder, name string) bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(text), "func "+name+"(") {
			return true
		}
	}
	return false
}
