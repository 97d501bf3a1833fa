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

var update = flag.Bool("update", false, "write docs/reference/advice.md")

const introduction = `# Rules of plimsoll advise

    plimsoll advise -f deploy/                   # files and folders; - is standard input
    plimsoll advise -n shop --usage week.csv     # a namespace, with what containers used
    plimsoll advise -A -o sarif --fail-on=never  # a cluster, for tools that show findings beside code
    plimsoll advise -n shop --prometheus-address http://prometheus.monitoring.svc:9090   # with the load of three weeks
    plimsoll advise -f deploy/ --history web=load.csv --time-zone Europe/Berlin          # with the load in a file

` + "`plimsoll advise`" + ` checks HorizontalPodAutoscalers, WorkloadAutoscalers, VerticalPodAutoscalers and their targets for problems
that autoscaling guides warn about, in manifests before they are applied or in a cluster that runs.

- **Levels.** An error does not work, or does harm. A warning will cause harm at some time. Advice is better in most cases.
  The exit status is 1 if a finding has at least the level of ` + "`--fail-on`" + ` (error by default; or never).
- **Choosing rules.** ` + "`--rules=NAME,…`" + ` runs these rules alone, ` + "`--rules=-NAME,…`" + ` all but these. The annotation
  ` + "`plimsoll.dev/ignore: NAME,NAME`" + ` on the object that a finding names suppresses it; the report counts them.
- **Patches** are commands to paste: JSON patches (` + "`kubectl patch --type=json`" + `), or an object to create. Each fixes its finding
  alone: apply one, then check again. Where only the owner can know the fix, the finding says what to do instead.
- **Files.** Objects that are not in the files may exist elsewhere, so nothing is reported as missing for that alone. What
  cannot be read is a finding with its field and line, and the rest is checked.
- **Kinds.** Targets are Deployments, StatefulSets, ReplicaSets, DaemonSets, Jobs, CronJobs, Argo's Rollouts, and any other
  kind with a template of pods. KEDA's ScaledObjects are checked as the HPA that KEDA makes of one. What was not examined is
  named at the end: "Nothing found" is about everything else.
- **Clusters** are read with your permissions. Rules that need what you may not list are skipped and named.
- **Usage.** metrics.k8s.io shows a single moment. ` + "`--usage FILE`" + ` is a CSV file with a line per sample and the columns time,
  namespace, pod, container, cpu and memory.
- **Schedules from history.** [recurring-jump](#recurring-jump) proposes entries of ` + "`spec.schedules`" + ` from the load of earlier
  days: of a trace (` + "`--history`" + `, as [simulate](../simulate.md) reads it, with ` + "`--pod-capacity`" + `), of Prometheus, or of what
  Plimsoll [recorded](../forecast.md#what-is-recorded), with the [permissions](../explain.md#permissions) of
  ` + "`explain --last`" + `. Three weeks are good; less than five days propose nothing.

`

// TestDocumentation: docs/reference/advice.md lists the rules as they are.
func TestDocumentation(t *testing.T) {
	var page strings.Builder
	page.WriteString(introduction)
	page.WriteString("| rule | level | finds |\n|---|---|---|\n")
	for _, r := range rules.All() {
		fmt.Fprintf(&page, "| [%s](#%s) | %s | %s |\n", r.Name, r.Name, r.Level, r.Title)
	}
	for _, r := range rules.All() {
		folder := "../../internal/advise/rules/testdata/rules/" + r.Name
		findings := read(t, filepath.Join("..", "rules", "testdata", "rules", r.Name, "findings.txt"))
		fmt.Fprintf(&page, "\n## %s\n\n%s (%s). %s\n\n```text\n%s```\n\n", r.Name, r.Title, r.Level, r.Why, sentences(findings))
		fmt.Fprintf(&page, "[A manifest](%s/bad.yaml), [its findings](%s/findings.txt), <%s>\n", folder, folder, r.Source)
	}
	file := filepath.Join("..", "..", "..", "docs", "reference", "advice.md")
	if *update {
		if err := os.WriteFile(file, []byte(page.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(read(t, file), page.String()); diff != "" {
		t.Errorf("docs/reference/advice.md (-is +should be; -update writes it):\n%s", diff)
	}
}

// sentences are those of the first finding: what is wrong and what to do, without the place and the patch.
func sentences(findings string) string {
	_, rest, _ := strings.Cut(findings, "\n")
	var all strings.Builder
	for line := range strings.Lines(rest) {
		text, isWithin := strings.CutPrefix(line, "  ")
		if !isWithin || strings.HasPrefix(text, " ") || strings.HasPrefix(text, "kubectl ") {
			break
		}
		all.WriteString(text)
	}
	return all.String()
}

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
