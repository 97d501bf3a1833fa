package divergence_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/divergence"
)

// root is the repository.
var root = filepath.Join("..", "..", "..", "..")

var (
	testName = regexp.MustCompile("`(Test[A-Za-z]+)`")
	link     = regexp.MustCompile(`\]\(\.\./\.\./([^)]+)\)`)
)

// TestDocumented: docs/contributing/compatibility.md describes each divergence; the tests and scenarios that it names
// exist.
func TestDocumented(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "docs", "contributing", "compatibility.md"))
	if err != nil {
		t.Fatal(err)
	}
	sections := map[string]string{}
	for part := range strings.SplitSeq(string(text), "\n## ") {
		for section := range strings.SplitSeq(part, "\n### ") {
			title, body, _ := strings.Cut(section, "\n")
			sections[strings.Trim(title, "`")] = strings.Join(strings.Fields(body), " ")
		}
	}
	for _, d := range divergence.All() {
		t.Run(d.String(), func(t *testing.T) {
			section, found := sections[d.String()]
			if !found {
				t.Fatal("it has no section")
			}
			for _, what := range []string{"Upstream", "Plimsoll"} {
				if item(section, what) == "" {
					t.Errorf("nothing under %s", what)
				}
			}
			tested(t, item(section, "Tests"))
			for _, file := range link.FindAllStringSubmatch(item(section, "Seen in"), -1) {
				story, err := os.ReadFile(filepath.Join(root, file[1]))
				if err != nil || !strings.Contains(string(story), "# "+d.String()+": ") {
					t.Errorf("%s has no scenario of it (%v)", file[1], err)
				}
			}
		})
	}
}

// item returns the text under a bold heading, up to the next one.
func item(section, heading string) string {
	_, after, _ := strings.Cut(section, "**"+heading+":** ")
	text, _, _ := strings.Cut(after, " - **")
	return text
}

// tested checks that the tests are in the folders that are named after them.
func tested(t *testing.T, held string) {
	t.Helper()
	if len(testName.FindAllString(held, -1)) == 0 {
		t.Error("no test checks it")
	}
	for group := range strings.SplitSeq(held, "; ") {
		_, target, _ := strings.Cut(group, "](../../")
		folder := filepath.Join(root, strings.TrimSuffix(target, ")"))
		for _, name := range testName.FindAllStringSubmatch(group, -1) {
			if !hasTest(folder, name[1]) {
				t.Errorf("there is no %s where %q says", name[1], group)
			}
		}
	}
}

func hasTest(folder, name string) bool {
	files, err := filepath.Glob(filepath.Join(folder, "*_test.go"))
	return err == nil && slices.ContainsFunc(files, func(file string) bool {
		text, err := os.ReadFile(file)
		return err == nil && strings.Contains(string(text), "\nfunc "+name+"(")
	})
}
