package show

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plimsoll-dev/plimsoll/internal/advise/rules"
)

var update = flag.Bool("update", false, "write docs/advice.md")

const introduction = `# Advice

` + "`plimsoll advise`" + ` looks at HorizontalPodAutoscalers, VerticalPodAutoscalers and what they scale for what the guides to
autoscaling warn of. This page lists its rules; a test writes it from them.

    plimsoll advise -f deploy/                   # files and folders; - is standard input
    plimsoll advise -n shop --usage week.csv     # a namespace, with what containers used
    plimsoll advise -A -o sarif --fail-on=never  # a cluster, for what shows findings beside code

- **Levels.** An error does not work, or does harm; a warning will at some time; advice is what is better in most cases.
  The exit status is 1 if a finding is of the level of ` + "`--fail-on`" + ` (error by default; never) or above, or if something failed;
  else 0.
- **Choosing.** ` + "`--rules=NAME,…`" + ` looks for these alone, ` + "`--rules=-NAME,…`" + ` for all but these. The annotation
  ` + "`plimsoll.dev/ignore: NAME,NAME`" + ` on the object that a finding names keeps it back; the report counts those.
- **Patches.** A finding's patch is a JSON patch, which ` + "`kubectl patch --type=json --patch-file`" + ` takes as it is. It mends that finding
  alone: apply one, and look again. What only the owner can know has no patch but says what to do.
- **Files.** What is not in them may be elsewhere, so nothing is said of what is only missing there. What
  cannot be read (a template that was not rendered, a field that a kind does not have) is a finding of its own, and the rest is
  looked at; where nothing at all can be read, the command fails. Of several objects of one kind, namespace and name the last counts.
- **A cluster.** It is read with your rights. Rules that need what you may not list are left out and named.
- **Usage.** metrics.k8s.io shows one moment, which says little; rules that need more are then left out and named. ` + "`--usage FILE`" + ` is a CSV
  file with the columns time (RFC 3339, or seconds since 1970), namespace, pod, container, cpu and memory (quantities), a line for each
  sample; pods belong to the workload that their names say.

`

// TestDocumentation: docs/advice.md lists the rules as they are.
func TestDocumentation(t *testing.T) {
	var page strings.Builder
	page.WriteString(introduction)
	page.WriteString("| rule | level | finds |\n|---|---|---|\n")
	for _, r := range rules.All() {
		fmt.Fprintf(&page, "| [%s](#%s) | %s | %s |\n", r.Name, r.Name, r.Level, r.Title)
	}
	for _, r := range rules.All() {
		folder := filepath.Join("..", "rules", "testdata", "rules", r.Name)
		fmt.Fprintf(&page, "\n## %s\n\n%s (%s). %s\n\nSource: <%s>\n\n```yaml\n%s```\n\nis told of as\n\n```text\n%s```\n",
			r.Name, r.Title, r.Level, r.Why, r.Source, read(t, filepath.Join(folder, "bad.yaml")), read(t, filepath.Join(folder, "findings.txt")))
	}
	file := filepath.Join("..", "..", "..", "docs", "advice.md")
	if *update {
		if err := os.WriteFile(file, []byte(page.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(read(t, file), page.String()); diff != "" {
		t.Errorf("docs/advice.md (-is +should be; -update writes it):\n%s", diff)
	}
}

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
