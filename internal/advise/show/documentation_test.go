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

This page is for service owners and platform teams who check manifests before they apply them, or a cluster that runs.

` + "`plimsoll advise`" + ` checks HorizontalPodAutoscalers, VerticalPodAutoscalers and their targets for problems that autoscaling
guides warn about. This page lists its rules. A test generates it from the rules. What a rule says of an HPA it says of a
[WorkloadAutoscaler](workloadautoscaler.md) too.

    plimsoll advise -f deploy/                   # files and folders; - is standard input
    plimsoll advise -n shop --usage week.csv     # a namespace, with what containers used
    plimsoll advise -A -o sarif --fail-on=never  # a cluster, for tools that show findings beside code
    plimsoll advise -n shop --prometheus-address http://prometheus.monitoring.svc:9090   # with the load of three weeks
    plimsoll advise -f deploy/ --history web=load.csv --time-zone Europe/Berlin          # with the load in a file

- **Levels.** An error does not work, or does harm. A warning will cause harm at some time. Advice is better in most
  cases. The exit status is 1 if a finding has at least the level of ` + "`--fail-on`" + ` (error by default; or never), or if
  something failed; 2 if the command line cannot work. Otherwise it is 0.
- **Choosing rules.** ` + "`--rules=NAME,…`" + ` runs these rules alone, ` + "`--rules=-NAME,…`" + ` all but these. The annotation
  ` + "`plimsoll.dev/ignore: NAME,NAME`" + ` on the object that a finding names suppresses it. The report counts suppressed findings.
- **Patches.** A finding's patch is a JSON patch for ` + "`kubectl patch --type=json --patch-file`" + `. It fixes that finding
  alone: apply one, then check again. Its command names the cluster by the flags that were given for it, unless it
  changes a manifest. Where only the owner can know the fix, the finding says what to do instead.
- **Files.** Objects that are not in the files may exist elsewhere, so nothing is reported as missing for that alone.
  Anything that cannot be read (a template that was not rendered, a value of a wrong type, a field that a kind does not
  have) is a finding with its field and line, and the rest is checked. If nothing can be read, the command fails. If
  several objects have the same kind, namespace and name, the last one counts. A manifest without a namespace is of the
  one that it is applied to: an autoscaler finds its target there. Links to files are followed, and a folder without
  manifests is an error. An autoscaler within an object of another kind, such as an OpenShift Template, is named and not
  examined.
- **Kinds.** Targets are Deployments, StatefulSets, ReplicaSets, DaemonSets, Jobs, CronJobs, Argo's Rollouts (also with a
  ` + "`workloadRef`" + `), and objects of any other kind with a template of pods. Autoscalers are also KEDA's ScaledObjects, as the
  HPA that KEDA makes of one; findings name the ScaledObject's own fields. For other kinds with a ` + "`scaleTargetRef`" + `, only the
  target is known. Versions that are not served any more are errors, and are checked as today's version.
- **Not examined.** Autoscalers of kinds whose settings are not known, and autoscalers whose target was not read, are
  named at the end: "Nothing found" is about everything else.
- **Clusters.** A cluster is read with your permissions. Rules that need what you may not list are skipped and named. The
  cluster is asked which kinds it has, and which of them can be scaled.
- **Usage.** metrics.k8s.io shows a single moment, so rules that need more are skipped and named. ` + "`--usage FILE`" + ` is a CSV
  file with a line per sample and the columns time (RFC 3339, or seconds since 1970), namespace, pod, container, cpu and
  memory (quantities). Pods belong to the workload that their names indicate.
- **Schedules from history.** [recurring-jump](#recurring-jump) proposes entries of a WorkloadAutoscaler's ` + "`spec.schedules`" + `
  from the load of earlier days. Three weeks are good; a jump on one weekday takes six; less than five days propose
  nothing. ` + "`--history [[NAMESPACE/]NAME=]FILE`" + ` is a trace as [simulate](simulate.md) reads it: a line of
  ` + "`timestamp,value`" + ` each minute. ` + "`--pod-capacity`" + ` says how much of it one pod serves; without it the peak asks for 70 % of
  maxReplicas. With ` + "`--prometheus-address`" + ` the load is the CPU use of the target's pods, of autoscalers with a CPU metric.
  On a cluster without it, it is what Plimsoll's controller [recorded](history.md) of up to 100 autoscalers: two weeks, of
  which all but the last day is by five minutes, so a schedule's start may be off by those. That takes the
  [permissions](explain.md#required-permissions) of ` + "`explain --last`" + `.
  How long pods take to become ready is ` + "`--startup-time`" + `, or what a cluster's own pods took, or a minute. Schedules start by the
  clock of ` + "`--time-zone`" + `. A load that is larger than what the pods can serve is seen only as what they served.

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
		fmt.Fprintf(&page, "\n## %s\n\n%s (%s). %s\n\nSource: <%s>\n\n```yaml\n%s```\n\nis reported as\n\n```text\n%s```\n",
			r.Name, r.Title, r.Level, r.Why, r.Source, read(t, filepath.Join(folder, "bad.yaml")),
			read(t, filepath.Join(folder, "findings.txt")))
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
