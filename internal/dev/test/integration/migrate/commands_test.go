package migrate

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/plimsoll-dev/plimsoll/internal/dev/test/integration/harness"
)

// The output for a cluster can be applied, and nothing is written without --apply.
func TestPrints(t *testing.T) {
	t.Parallel()
	w := emptyWorkload(t)
	other := queue("other")
	other.Labels = nil
	w.Create(queue("web"), other)
	printed, _ := w.must("hpa/web")
	if strings.Count(printed, "kind: WorkloadAutoscaler") != 1 || strings.Contains(printed, "migrated-from") {
		t.Errorf("%s", printed)
	}
	for count, args := range map[int][]string{
		1: {"--all", "-l", "team=checkout"}, 2: {"--all"},
	} {
		if out, stderr := w.must(args...); strings.Count(out, "kind: WorkloadAutoscaler") != count {
			t.Errorf("%v: %s%s", args, out, stderr)
		}
	}
	everywhere, _ := w.must("-A")
	if !strings.Contains(everywhere, "namespace: "+w.Name) {
		t.Errorf("-A: %s", everywhere)
	}
	file := filepath.Join(w.backups, "hpa.yaml")
	if err := os.WriteFile(file, []byte(w.Kubectl("get", "hpa", "-o", "yaml")), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, stderr := w.must("-f", file); strings.Count(out, "kind: WorkloadAutoscaler") != 2 {
		t.Errorf("-f: %s%s", out, stderr)
	}
	if list, err := w.WLAs.List(t.Context(), metav1.ListOptions{}); err != nil || len(list.Items) > 0 {
		t.Fatalf("written: %v, %v", list, err)
	}
	w.KubectlInput(printed, "apply", "-f", "-")
	// It was not made by --apply, and stays.
	if _, stderr, err := w.run("hpa/web", "--apply", "--yes", observe); err == nil ||
		!strings.Contains(stderr, "not made by plimsoll migrate") {
		t.Errorf("%v: %s", err, stderr)
	}
}

// As a plugin of kubectl.
func TestPlugin(t *testing.T) {
	t.Parallel()
	w := emptyWorkload(t)
	w.Create(queue("web"))
	folder := t.TempDir()
	if err := os.Symlink(program.Binary(), filepath.Join(folder, "kubectl-plimsoll")); err != nil {
		t.Fatal(err)
	}
	env := w.Cluster.Env()
	for i := range env {
		if path, isPath := strings.CutPrefix(env[i], "PATH="); isPath {
			env[i] = "PATH=" + folder + string(os.PathListSeparator) + path
		}
	}
	run := func(args ...string) string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "sh", "-c", "kubectl plimsoll migrate "+strings.Join(args, " "))
		cmd.Env = env
		out, stderr, err := output(cmd)
		if err != nil {
			t.Fatalf("%v: %s%s", err, out, stderr)
		}
		return out
	}
	if out := run("hpa/web", "-n", w.Name); !strings.Contains(out, "kind: WorkloadAutoscaler") {
		t.Error(out)
	}
	if out := run("--help"); !strings.Contains(out, "kubectl plimsoll migrate hpa/NAME") {
		t.Error(out)
	}
}

// Without a terminal nothing is written unless --yes is set.
func TestAsks(t *testing.T) {
	t.Parallel()
	w := newWorkload(t, 35)
	changes := w.WatchChanges("web")
	if _, stderr, err := w.run("hpa/web", "--apply"); err == nil || !strings.Contains(stderr, "no terminal") {
		t.Errorf("%v: %s", err, stderr)
	}
	hpa, o := w.objects("web")
	if hpa == nil || o != nil {
		t.Errorf("written: %+v, %+v", hpa, o)
	}
	w.HoldsReplicas(patience/2, harness.Deployment, "web", 4)
	w.wantChanges(changes)
}

// A WorkloadAutoscaler in mode Preview beside an HPA shows what it would set, and goes without a trace by --back.
func TestPreviewBesideAnHPA(t *testing.T) {
	t.Parallel()
	w := newWorkload(t, 35)
	before := w.HPA("web")
	changes, faults := w.WatchChanges("web"), w.faults("web")
	w.killed(1, "hpa/web", "--apply", "--yes", observe)
	w.awaitDecided("web", 4)
	w.SetQueue("jobs", 65)
	w.awaitDecided("web", 7)
	if all := faults(); len(all) > 0 {
		t.Errorf("conditions looked like errors:\n%s", strings.Join(all, "\n"))
	}
	w.AwaitReplicas(harness.Deployment, "web", 7)
	w.back()
	w.isBack(before)
	w.wantChanges(changes, harness.Change{From: 4, To: 7, By: upstream})
}
