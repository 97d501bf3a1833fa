package rules

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"

	"github.com/plimsoll-dev/plimsoll/internal/advise/containerusage"
	"github.com/plimsoll-dev/plimsoll/internal/advise/objects"
	"github.com/plimsoll-dev/plimsoll/internal/advise/read/manifests"
)

var update = flag.Bool("update", false, "write the files that are compared with")

// load reads a case: manifests, and usage beside them if there is any. A first line
// says so if they are a cluster's content.
func load(t *testing.T, file string) *objects.Collection {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	c := &objects.Collection{}
	manifests.Add(c, filepath.Base(file), bytes.NewReader(text))
	first, _, _ := strings.Cut(string(text), "\n")
	if at, ok := strings.CutPrefix(first, "# As read from a cluster at "); ok {
		c.IsCluster = true
		if c.Now, err = time.Parse(time.RFC3339, strings.TrimSuffix(at, ".")); err != nil {
			t.Fatal(err)
		}
	}
	samples, err := os.Open(strings.TrimSuffix(file, ".yaml") + ".csv")
	if err == nil {
		defer samples.Close()
		if c.Usage, err = containerusage.ReadCSV(samples, "usage.csv"); err != nil {
			t.Fatal(err)
		}
	}
	if text, err := os.ReadFile(strings.TrimSuffix(file, ".yaml") + ".load"); err == nil {
		c.Loads = loads(t, string(text))
	}
	return c
}

// loads makes up past loads: lines of namespace/name, days, pods, and pods in an hour of each day.
func loads(t *testing.T, text string) map[string]*objects.Load {
	t.Helper()
	all := map[string]*objects.Load{}
	for line := range strings.Lines(text) {
		var name string
		var days, quiet, jump, hour, minute int
		if strings.HasPrefix(line, "#") {
			continue
		}
		if _, err := fmt.Sscanf(line, "%s %d %d %d %d:%d", &name, &days, &quiet, &jump, &hour, &minute); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		l := &objects.Load{Start: time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC), Utilization: 0.7, Location: time.UTC,
			Source: "the load of three weeks", Pods: make([]float64, days*24*60)}
		for i := range l.Pods {
			l.Pods[i] = float64(quiet)
			if since := i%(24*60) - hour*60 - minute; since >= 0 && since < 60 {
				l.Pods[i] = float64(jump)
			}
		}
		all[name] = l
	}
	return all
}

// words are findings as a person may check them.
func words(findings []Finding) string {
	var text strings.Builder
	for _, f := range findings {
		fmt.Fprintf(&text, "%s: %s %s/%s, %s\n  %s\n", f.Rule.Level, f.Object.Kind, f.Object.Namespace, f.Object.Name,
			f.Field, f.Why)
		if f.Remedy != "" {
			fmt.Fprintf(&text, "  %s\n", f.Remedy)
		}
		if f.Snippet != "" {
			fmt.Fprintf(&text, "    %s\n", strings.ReplaceAll(strings.TrimSpace(f.Snippet), "\n", "\n    "))
		}
		if f.Patch == nil {
			continue
		}
		if command := f.Patch.Command(); f.Patch.Create != nil || command == "" {
			fmt.Fprintf(&text, "    %s\n", strings.ReplaceAll(strings.TrimSpace(f.Patch.YAML()), "\n", "\n    "))
		} else {
			fmt.Fprintf(&text, "  %s\n", command)
		}
	}
	return text.String()
}

func golden(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", file, diff)
	}
}

// TestRules: each rule finds what its bad case has, nothing in its fine case, and
// nothing any more once its patches are applied.
func TestRules(t *testing.T) {
	for _, rule := range All() {
		t.Run(rule.Name, func(t *testing.T) {
			folder := filepath.Join("testdata", "rules", rule.Name)
			only := []*Rule{rule}
			bad := load(t, filepath.Join(folder, "bad.yaml"))
			report := Run(bad, only)
			if len(report.Findings) == 0 {
				t.Fatalf("it finds nothing in bad.yaml: skipped %+v", report.Skipped)
			}
			golden(t, filepath.Join(folder, "findings.txt"), words(report.Findings))
			fine := Run(load(t, filepath.Join(folder, "fine.yaml")), only)
			if len(fine.Findings) > 0 || len(fine.Skipped) > 0 {
				t.Errorf("in fine.yaml it finds:\n%sskipped: %+v", words(fine.Findings), fine.Skipped)
			}
			wantMended(t, bad, rule, report.Findings)
		})
	}
}

// TestWorkloadAutoscalers: what the rules say of an HPA they say of a WorkloadAutoscaler with the same spec, with patches
// of its own kind that mend it.
func TestWorkloadAutoscalers(t *testing.T) {
	for _, rule := range All() {
		folder := filepath.Join("testdata", "rules", rule.Name)
		text, err := os.ReadFile(filepath.Join(folder, "bad.yaml"))
		if err != nil {
			t.Fatal(err)
		}
		// WorkloadAutoscalers leave zero by themselves, and have one version. What cannot be read is about the text.
		isOther := rule.Name == "percent-never-leaves-zero" || rule.Name == "unreadable"
		if !strings.Contains(string(text), objects.HPA) || isOther {
			continue
		}
		t.Run(rule.Name, func(t *testing.T) {
			own := load(t, filepath.Join(folder, "bad.yaml"))
			other := &objects.Collection{IsCluster: own.IsCluster, Now: own.Now, Usage: own.Usage, Loads: own.Loads}
			manifests.Add(other, "bad.yaml", strings.NewReader(asWorkloads(t, string(text))))
			only := []*Rule{rule}
			got, want := Run(other, only).Findings, Run(own, only).Findings
			if len(got) != len(want) {
				t.Fatalf("finds\n%s\nwant\n%s", words(got), words(want))
			}
			for i := range got {
				if strings.Contains(words(got[i:i+1]), "patch horizontalpodautoscaler") {
					t.Errorf("a patch of another kind: %s", words(got[i:i+1]))
				}
			}
			wantMended(t, other, rule, got)
		})
	}
}

// asWorkloads are the manifests with a WorkloadAutoscaler in place of each HPA: with the names, and with the default, that
// it has to say.
func asWorkloads(t *testing.T, text string) string {
	t.Helper()
	documents := strings.Split(text, "\n---\n")
	for i, document := range documents {
		var object map[string]any
		asJSON, err := yaml.YAMLToJSON([]byte(document))
		if err == nil {
			err = utiljson.Unmarshal(asJSON, &object)
		}
		if err != nil || object["kind"] != objects.HPA || object["apiVersion"] != "autoscaling/v2" {
			continue
		}
		object["apiVersion"], object["kind"] = "plimsoll.dev/v1alpha1", objects.WLA
		spec, _ := object["spec"].(map[string]any)
		metrics, _ := spec["metrics"].([]any)
		if len(metrics) == 0 {
			metrics = []any{map[string]any{"type": "Resource", "resource": map[string]any{
				"name": "cpu", "target": map[string]any{"type": "Utilization", "averageUtilization": int64(80)},
			}}}
			spec["metrics"] = metrics
		}
		for k := range metrics {
			metrics[k].(map[string]any)["name"] = fmt.Sprint("m", k)
		}
		made, err := yaml.Marshal(object)
		if err != nil {
			t.Fatal(err)
		}
		documents[i] = string(made)
	}
	return strings.Join(documents, "\n---\n")
}

// TestTwoKindsOnOneTarget: an HPA and a WorkloadAutoscaler have one target. In mode Preview that does no harm.
func TestTwoKindsOnOneTarget(t *testing.T) {
	const spec = "metadata: {name: web}, spec: {maxReplicas: 5, scaleTargetRef: " +
		"{apiVersion: apps/v1, kind: Deployment, name: web}"
	const (
		hpa = "{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, " + spec + "}}\n---\n"
		wla = "{apiVersion: plimsoll.dev/v1alpha1, kind: WorkloadAutoscaler, " + spec
	)
	for text, want := range map[string]bool{
		hpa + wla + "}}":                true,
		hpa + wla + ", mode: Active}}":  true,
		hpa + wla + ", mode: Preview}}": false,
		wla + ", mode: Preview}}\n---\n" + strings.Replace(wla, "name: web}, spec", "name: other}, spec", 1) + "}}": true,
	} {
		c := &objects.Collection{}
		manifests.Add(c, "two.yaml", strings.NewReader(text+"\n"))
		isFound := slices.ContainsFunc(Run(c, All()).Findings, func(f Finding) bool {
			return f.Rule.Name == "two-autoscalers" && f.Object.Kind == objects.WLA &&
				strings.Contains(f.Remedy, "migrate") == strings.HasPrefix(text, hpa)
		})
		if isFound != want {
			t.Errorf("%s: found %v", text, isFound)
		}
	}
}

// TestKindOfAnotherGroup: a Deployment of another group is not the one of apps/v1 with the same name.
func TestKindOfAnotherGroup(t *testing.T) {
	const (
		pods = "metadata: {name: web}, spec: {replicas: 2, selector: {matchLabels: {app: %[1]s}}, template: {metadata: " +
			"{labels: {app: %[1]s}}, spec: {containers: [{name: app, image: web}]}}}}\n---\n"
		scaler = "{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, metadata: {name: %[1]s}, spec: " +
			"{maxReplicas: 5, scaleTargetRef: {apiVersion: %[1]s/v1, kind: Deployment, name: web}}}\n---\n"
	)
	c := &objects.Collection{}
	manifests.Add(c, "two.yaml", strings.NewReader("{apiVersion: example.com/v2, kind: Deployment, "+
		fmt.Sprintf(pods, "other")+"{apiVersion: apps/v1, kind: Deployment, "+fmt.Sprintf(pods, "web")+
		fmt.Sprintf(scaler, "apps")+fmt.Sprintf(scaler, "example.com")))
	if len(c.Workloads) != 2 || len(c.Horizontals) != 2 || len(c.Repeated) > 0 {
		t.Fatalf("%d workloads, %d HPAs, repeated %+v", len(c.Workloads), len(c.Horizontals), c.Repeated)
	}
	for i, want := range []*objects.Workload{c.Workloads[1], c.Workloads[0]} {
		if got := c.TargetOfHorizontal(c.Horizontals[i]); got != want {
			t.Errorf("HPA %s has %+v", c.Horizontals[i].Name, got)
		}
	}
	for _, f := range Run(c, All()).Findings {
		if f.Rule.Name == "two-autoscalers" || f.Rule.Name == "target-missing" {
			t.Errorf("finds %s", words([]Finding{f}))
		}
	}
}

// TestUnreadableTarget: a target that cannot be read is not said to be missing.
func TestUnreadableTarget(t *testing.T) {
	c := &objects.Collection{}
	manifests.Add(c, "web.yaml", strings.NewReader("{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, "+
		"metadata: {name: web}, spec: {maxReplicas: 5, scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}}}"+
		"\n---\n{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, labels: {version: 1}}}\n"))
	all := Run(c, All()).Unexamined
	if len(all) != 1 || all[0].Why != "the target cannot be read" {
		t.Errorf("%+v", all)
	}
}

// TestNoMetrics: a WorkloadAutoscaler without metrics has none, not the default.
func TestNoMetrics(t *testing.T) {
	for _, metrics := range []string{"", ", metrics: []", ", metrics: null"} {
		c := &objects.Collection{}
		manifests.Add(c, "web.yaml", strings.NewReader("{apiVersion: plimsoll.dev/v1alpha1, kind: WorkloadAutoscaler, "+
			"metadata: {name: web}, spec: {maxReplicas: 5, "+
			"scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}"+metrics+"}}"))
		if len(c.Horizontals) != 1 || len(c.Horizontals[0].Metrics()) != 0 {
			t.Errorf("%q: %+v, %+v", metrics, c.Horizontals, c.Unreadable)
		}
	}
}

// wantMended applies each patch alone: its finding must be gone.
func wantMended(t *testing.T, c *objects.Collection, rule *Rule, findings []Finding) {
	t.Helper()
	for _, f := range findings {
		if f.Patch == nil {
			continue
		}
		next := mended(t, c, f.Patch)
		if before, after := refusedIn(c), refusedIn(next); len(after) > len(before) {
			t.Errorf("after the patch of %s the API server refuses more:\n%s", f.Object.Key(), words(after))
		}
		after := Run(next, []*Rule{rule})
		for _, left := range after.Findings {
			if left.Object.Key() == f.Object.Key() && left.Field.String() == f.Field.String() {
				t.Errorf("after the patch it still finds:\n%s", words([]Finding{left}))
			}
		}
	}
}

// refusedIn are the refusals of the API server.
func refusedIn(c *objects.Collection) []Finding {
	return slices.DeleteFunc(Run(c, All()).Findings, func(f Finding) bool {
		return f.Rule.Name != "refused-by-api-server"
	})
}

// mended is the collection with the patch applied as kubectl applies it.
func mended(t *testing.T, c *objects.Collection, p *Patch) *objects.Collection {
	t.Helper()
	next := &objects.Collection{IsCluster: c.IsCluster, Now: c.Now, Usage: c.Usage, Loads: c.Loads, Unread: c.Unread}
	for _, o := range c.All() {
		raw := o.Raw
		if p.Create == nil && o.Key() == p.Object.Key() {
			raw = applied(t, raw, p.Operations)
		}
		next.Add(raw, o.Place)
	}
	if p.Create != nil {
		next.Add(p.Create, objects.Place{})
	}
	if len(next.Unreadable) > 0 {
		t.Fatalf("the API server would refuse what the patch makes: %v", next.Unreadable)
	}
	return next
}

func applied(t *testing.T, raw map[string]any, operations []Operation) map[string]any {
	t.Helper()
	before, err := json.Marshal(raw)
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(operations)
	if err != nil {
		t.Fatal(err)
	}
	p, err := jsonpatch.DecodePatch(text)
	if err != nil {
		t.Fatal(err)
	}
	after, err := p.Apply(before)
	if err != nil {
		t.Fatalf("applying %s: %v", text, err)
	}
	// Whole numbers stay whole, as where they are read.
	var out map[string]any
	if err := utiljson.Unmarshal(after, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// TestCasesHaveRules: no folder is left over.
func TestCasesHaveRules(t *testing.T) {
	names := map[string]bool{}
	for _, r := range All() {
		if names[r.Name] {
			t.Errorf("there are two rules %s", r.Name)
		}
		names[r.Name] = true
		if r.Title == "" || r.Why == "" || !strings.HasPrefix(r.Source, "https://") {
			t.Errorf("%s lacks its title, why or source", r.Name)
		}
	}
	folders, err := os.ReadDir(filepath.Join("testdata", "rules"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range folders {
		if !names[f.Name()] {
			t.Errorf("%s is no rule's", f.Name())
		}
	}
}

// TestPatchesNameTheCluster: patches of a cluster go to the one that was read; those of a manifest go to none.
func TestPatchesNameTheCluster(t *testing.T) {
	const named = "kubectl --context=shop "
	patches := 0
	for _, rule := range All() {
		bad := load(t, filepath.Join("testdata", "rules", rule.Name, "bad.yaml"))
		bad.ClusterFlags = []string{"--context=shop"}
		for _, f := range Run(bad, []*Rule{rule}).Findings {
			if f.Patch == nil {
				continue
			}
			patches++
			if command := f.Patch.Command(); strings.HasPrefix(command, named) == f.Patch.IsLocal {
				t.Errorf("%s: %s", rule.Name, command)
			}
		}
	}
	if patches == 0 {
		t.Error("there are no patches")
	}
}
