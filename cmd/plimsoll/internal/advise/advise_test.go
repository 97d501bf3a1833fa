package advise

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/owenrumney/go-sarif/v3/pkg/report/v210/sarif"

	"github.com/plimsoll-dev/plimsoll/internal/advise/show"
)

const advised = `
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: web}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}
  minReplicas: 1
  maxReplicas: 20
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - {name: app, image: web, readinessProbe: {httpGet: {path: /, port: 80}}}
`

// adviseWith runs the command on a file with that content.
func adviseWith(t *testing.T, content string, args ...string) (string, error) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "web.yaml")
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	cmd := Command("")
	cmd.SetOut(&out)
	cmd.SetErr(&out)
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	cmd.SetArgs(append([]string{"-f", file}, args...))
	err := cmd.ExecuteContext(t.Context())
	return out.String(), err
}

// TestAdviseExamples: the documentation's WorkloadAutoscalers can be checked, with metrics that Plimsoll reads itself too.
func TestAdviseExamples(t *testing.T) {
	var examples []string
	for _, page := range []string{"workloadautoscaler.md", "recipes.md"} {
		text, err := os.ReadFile("../../../../docs/" + page)
		if err != nil {
			t.Fatal(err)
		}
		examples = append(examples, strings.Split(string(text), "```yaml\n")[1:]...)
	}
	for _, example := range examples {
		example, _, _ = strings.Cut(example, "```")
		if out, err := adviseWith(t, example, "--fail-on=never"); err != nil {
			t.Errorf("%v\n%s%s", err, out, example)
		}
	}
	if len(examples) < 12 {
		t.Errorf("only %d examples were found", len(examples))
	}
}

func TestAdviseFailsOnLevel(t *testing.T) {
	for args, wantErr := range map[string]bool{
		"":                       true,
		"--fail-on=never":        false,
		"--rules=single-replica": false,
		"--rules=single-replica --fail-on=advice":    true,
		"--rules=-missing-request --fail-on=warning": false,
		"--rules=two-autoscalers --fail-on=advice":   false,
	} {
		out, err := adviseWith(t, advised, strings.Fields(args)...)
		if (err != nil) != wantErr {
			t.Errorf("%q: error %v, want one: %t\n%s", args, err, wantErr, out)
		}
	}
}

func TestAdviseText(t *testing.T) {
	out, _ := adviseWith(t, advised)
	for _, want := range []string{
		"Deployment web", "web.yaml:19)", "missing-request",
		"spec.template.spec.containers[0].resources.requests.cpu",
		"kubectl patch deployment web --type=json", `"path":"/spec/template/spec/containers/0/resources"`,
		"error: 1, warning: 0, advice: 1.",
		"Not looked for, as nothing is known of usage: ",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is missing in\n%s", want, out)
		}
	}
}

func TestAdviseJSONAndSARIF(t *testing.T) {
	out, _ := adviseWith(t, advised, "-o", "json")
	var report show.Report
	if err := json.Unmarshal([]byte(out), &report); err != nil || len(report.Findings) != 2 ||
		report.Findings[0].Rule != "missing-request" {
		t.Errorf("%v: %s", err, out)
	}
	out, _ = adviseWith(t, advised, "-o", "sarif")
	var log struct {
		Version string
		Runs    []struct {
			Results []struct {
				RuleID, Level string
				Locations     []struct {
					PhysicalLocation struct{ Region struct{ StartLine int } }
				}
			}
		}
	}
	if err := json.Unmarshal([]byte(out), &log); err != nil || log.Version != "2.1.0" || len(log.Runs) != 1 ||
		len(log.Runs[0].Results) != 2 {
		t.Fatalf("%v: %s", err, out)
	}
	first := log.Runs[0].Results[0]
	if first.RuleID != "missing-request" || first.Level != "error" ||
		first.Locations[0].PhysicalLocation.Region.StartLine != 19 {
		t.Errorf("%+v", first)
	}
}

// TestAdviseSARIFIsValid: what every rule finds is valid by the schema of SARIF 2.1.0,
// with nothing that the standard does not know.
func TestAdviseSARIFIsValid(t *testing.T) {
	files, err := filepath.Glob("../../../../internal/advise/rules/testdata/rules/*/bad.yaml")
	if err != nil || len(files) < 30 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, file := range files {
		name := filepath.Base(filepath.Dir(file))
		out := adviseFile(t, file, "-o", "sarif", "--fail-on=never")
		report, err := sarif.FromString(out)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		run := report.Runs[0]
		// The library writes these out when they are absent, but not as the standard's defaults.
		run.Language, run.Tool.Driver.Language, run.NewlineSequences = "en-US", "en-US", []string{"\n"}
		if err := report.Validate(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		var ours, known any
		if err := json.Unmarshal([]byte(out), &ours); err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal(report)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(text, &known); err != nil {
			t.Fatal(err)
		}
		if lost := lostFrom(ours, known, "$"); lost != "" {
			t.Errorf("%s: the standard has no %s", name, lost)
		}
	}
}

// adviseFile is what the command says of a file.
func adviseFile(t *testing.T, file string, args ...string) string {
	t.Helper()
	var out bytes.Buffer
	cmd := Command("")
	cmd.SetOut(&out)
	cmd.SetErr(&out)
	cmd.SetArgs(append([]string{"-f", file}, args...))
	if err := cmd.ExecuteContext(t.Context()); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	return out.String()
}

// lostFrom is the path of the first value that the other does not have; empty if it
// has all.
func lostFrom(value, other any, path string) string {
	switch v := value.(type) {
	case map[string]any:
		fields, ok := other.(map[string]any)
		for name, field := range v {
			if lost := lostFrom(field, fields[name], path+"."+name); lost != "" || !ok {
				return path + "." + name
			}
		}
	case []any:
		items, _ := other.([]any)
		if len(items) != len(v) {
			return path
		}
		for i := range v {
			if lost := lostFrom(v[i], items[i], path+"[]"); lost != "" {
				return lost
			}
		}
	default:
		if value != other {
			return path
		}
	}
	return ""
}

// TestAdviseRefuses: what cannot be understood is an error that says where.
func TestAdviseRefuses(t *testing.T) {
	for name, c := range map[string]struct{ content, args, want string }{
		"nothing to read":   {"{{ if .Values.enabled }}\n---\n- {{ .x }}", "--fail-on=never", "nothing can be read: "},
		"an unknown rule":   {advised, "--rules=nothing", `there is no rule "nothing"`},
		"an unknown level":  {advised, "--fail-on=info", "--fail-on"},
		"an unknown output": {advised, "-o=xml", "want text, json or sarif"},
		"both":              {advised, "-A", "-A is for a cluster"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := adviseWith(t, c.content, strings.Fields(c.args)...)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want %q in it", err, c.want)
			}
		})
	}
}

// TestAdviseReadsTheRest: what cannot be read is a warning with its place, and an unknown field counts as absent.
func TestAdviseReadsTheRest(t *testing.T) {
	content := strings.Replace(advised, "maxReplicas", "maxReplica", 1) + "\n---\n{{ if .Values.enabled }}\n"
	out, err := adviseWith(t, content, "--fail-on=error")
	inOneLine := strings.Join(strings.Fields(out), " ")
	if err == nil || !strings.Contains(inOneLine, `unknown field "spec.maxReplica" (line 8)`) ||
		strings.Count(out, "warning  unreadable") != 2 || !strings.Contains(out, "error    refused-by-api-server") ||
		!strings.Contains(out, "error: 2, warning: 2, advice: ") {
		t.Errorf("error %v:\n%s", err, out)
	}
	if _, err := adviseWith(t, content, "--fail-on=warning"); err == nil {
		t.Error("--fail-on=warning does not fail")
	}
}

// TestAdviseEnds: whoever ends it does not wait for what it is at, and learns meanwhile
// that it is at something.
func TestAdviseEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		endless, writer := io.Pipe()
		defer func() { _ = writer.Close() }()
		var out bytes.Buffer
		cmd := Command("")
		cmd.SetIn(endless)
		cmd.SetOut(&out)
		cmd.SetErr(&out)
		cmd.SilenceErrors, cmd.SilenceUsage = true, true
		cmd.SetArgs([]string{"-f", "-"})
		ctx, cancel := context.WithTimeout(t.Context(), 13*time.Second)
		defer cancel()
		began := time.Now()
		if err := cmd.ExecuteContext(ctx); err == nil || time.Since(began) != 13*time.Second {
			t.Errorf("it ends after %s with %v", time.Since(began), err)
		}
		if want := "Still reading.\nStill reading.\n"; out.String() != want {
			t.Errorf("it says %q, want %q", out.String(), want)
		}
	})
}

func TestAdviseIgnoresWhatIsAnnotated(t *testing.T) {
	content := strings.Replace(advised, "metadata: {name: web}",
		`metadata: {name: web, annotations: {plimsoll.dev/ignore: "single-replica"}}`, 1)
	out, err := adviseWith(t, content, "--rules=single-replica", "--fail-on=advice")
	if err != nil || !strings.Contains(out, "Nothing found; annotations ignore 1.") {
		t.Errorf("error %v: %s", err, out)
	}
}
