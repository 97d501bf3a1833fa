package migrate

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// migrateWith runs the command with that standard input.
func migrateWith(t *testing.T, in string, args ...string) (out, progress string, err error) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	cmd := Command()
	cmd.SetIn(strings.NewReader(in))
	cmd.SetOut(&stdout)
	cmd.SetErr(&stderr)
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	cmd.SetArgs(args)
	err = cmd.ExecuteContext(t.Context())
	return stdout.String(), stderr.String(), err
}

const manifest = `
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: web, labels: {team: checkout}}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}
  maxReplicas: 5
---
apiVersion: keda.sh/v1alpha1
kind: ScaledObject
metadata: {name: worker}
spec:
  scaleTargetRef: {name: worker}
  minReplicaCount: 1
  triggers: [{type: cpu, metricType: Utilization, metadata: {value: "60"}}]
`

// Standard input, files and folders are read, and labels choose.
func TestPrintsFiles(t *testing.T) {
	out, progress, err := migrateWith(t, manifest, "-f", "-")
	note := "note: an HPA without metrics has CPU at 80 % of the request, which is written out\n"
	if err != nil || strings.Count(out, "kind: WorkloadAutoscaler") != 2 || !strings.HasSuffix(progress, note) ||
		strings.Count(progress, "\n") != 1 {
		t.Errorf("%v: %s%s", err, out, progress)
	}
	out, _, err = migrateWith(t, manifest, "-f", "-", "-l", "team=checkout")
	if err != nil || strings.Count(out, "kind: WorkloadAutoscaler") != 1 || !strings.Contains(out, "name: web") {
		t.Errorf("%v: %s", err, out)
	}
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "web.yaml"), []byte(manifest), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, _, err = migrateWith(t, "", "-f", folder); err != nil || strings.Count(out, "---\n") != 1 {
		t.Errorf("%v: %s", err, out)
	}
}

// What cannot be migrated whole is named, the rest is printed, and the exit status says so.
func TestSaysWhatIsLost(t *testing.T) {
	out, progress, err := migrateWith(t, strings.Replace(manifest, "maxReplicas: 5", "maxReplicas: 5\n  future: 1", 1),
		"-f", "-")
	if err == nil || !strings.Contains(progress, "HorizontalPodAutoscaler web: spec.future: not migrated") ||
		strings.Count(out, "kind: WorkloadAutoscaler") != 2 {
		t.Errorf("%v: %s%s", err, out, progress)
	}
	if !strings.Contains(progress, ": HorizontalPodAutoscaler web: ") {
		t.Errorf("no place: %s", progress)
	}
	_, progress, err = migrateWith(t, strings.Replace(manifest, "maxReplicas: 5", `maxReplicas: "5"`, 1), "-f", "-")
	want := `:7: HorizontalPodAutoscaler web: cannot be migrated: spec.maxReplicas must be a whole number, and is the ` +
		`string "5"; write it without quotes`
	if err == nil || !strings.Contains(progress, want) {
		t.Errorf("%v: %s, want %s", err, progress, want)
	}
	if _, _, err = migrateWith(t, manifest+"---\n- {{ x }}\n", "-f", "-"); err == nil ||
		!strings.Contains(err.Error(), "standard input:") {
		t.Errorf("unreadable: %v", err)
	}
	if _, _, err = migrateWith(t, "", "-f", "-"); err == nil {
		t.Error("nothing to migrate")
	}
}

// What cannot be meant is refused before a cluster is asked.
func TestRefuses(t *testing.T) {
	for args, want := range map[string]string{
		"":                                    "name what to migrate",
		"vpa/web":                             "only hpa/NAME and scaledobject/NAME",
		"hpa":                                 "name what to migrate",
		"hpa/":                                "a name is missing",
		"hpa/web scaledobject/web":            "either HPAs or ScaledObjects",
		"hpa/web api":                         "KIND/NAME",
		"hpa/web --all":                       "either names",
		"hpa/web -l a=b":                      "either names",
		"hpa/web -f -":                        "either -f",
		"-f - --apply":                        "not for -f",
		"-f - -A":                             "either -f",
		"hpa/web --apply":                     "no terminal",
		"hpa/web --apply --yes --observe=-1s": "--observe",
		"--all -l ==":                         "--selector",
	} {
		if _, _, err := migrateWith(t, "", strings.Fields(args)...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want %q in it", args, err, want)
		}
	}
}

func TestParseArgs(t *testing.T) {
	for args, want := range map[string]selection{
		"hpa/web hpa/api": {names: []string{"web", "api"}},
		"hpa web api":     {names: []string{"web", "api"}},
		"horizontalpodautoscalers.v2.autoscaling/web": {names: []string{"web"}},
		"wla/web":      {names: []string{"web"}},
		"so/web":       {names: []string{"web"}, isScaledObject: true},
		"scaledobject": {isScaledObject: true},
	} {
		got, err := parseArgs(strings.Fields(args))
		if err != nil || got.isScaledObject != want.isScaledObject ||
			strings.Join(got.names, " ") != strings.Join(want.names, " ") {
			t.Errorf("%q: %+v, %v", args, got, err)
		}
	}
}

// The question is answered by a yes, and by nothing else.
func TestConfirm(t *testing.T) {
	var progress bytes.Buffer
	o := migrateOptions{in: strings.NewReader("y\nYES\n\nno\n"), progress: &progress}
	for i, want := range []bool{true, true, false, false} {
		if got, err := o.confirm(t.Context(), "Go on?"); got != want || err != nil {
			t.Errorf("%d: %t, %v", i, got, err)
		}
	}
	if _, err := o.confirm(t.Context(), "Go on?"); err == nil {
		t.Error("the end of the input")
	}
	// Ctrl-C, where nobody types an answer.
	silent, answer := io.Pipe()
	defer func() { _ = answer.Close() }()
	o = migrateOptions{in: silent, progress: &progress}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := o.confirm(ctx, "Go on?"); !errors.Is(err, context.Canceled) {
		t.Errorf("interrupted: %v", err)
	}
}
