package explain

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/plimsoll-dev/plimsoll/internal/dev/test/integration/harness"
)

// completions are the lines of a completion without descriptions and without what is for the shell.
func completions(output string) []string {
	var found []string
	for line := range strings.Lines(output) {
		name, _, _ := strings.Cut(strings.TrimSpace(line), "\t")
		if name != "" && !strings.HasPrefix(name, ":") && !strings.HasPrefix(name, "Completion ended") {
			found = append(found, name)
		}
	}
	return found
}

// TestCompletion completes names of objects, namespaces and values of flags against a real API server, with the
// permissions of the user, and changes nothing.
func TestCompletion(t *testing.T) {
	t.Parallel()
	s := shared.Namespace(t)
	s.Create(harness.Autoscaler("web", harness.QueueLength("jobs", harness.AverageValue("10"))))
	s.Create(harness.Autoscaler("worker", harness.QueueLength("jobs", harness.AverageValue("10"))))
	p := shared.Plimsoll(t)
	as := "--as=system:serviceaccount:" + s.Name + ":none"
	for name, tt := range map[string]struct{ args, want []string }{
		"kinds":          {[]string{"explain", ""}, []string{"hpa/", "wla/", "vpa/"}},
		"names":          {[]string{"explain", "-n", s.Name, "hpa/w"}, []string{"hpa/web", "hpa/worker"}},
		"of a report":    {[]string{"report", "-n", s.Name, "hpa/we"}, []string{"hpa/web"}},
		"more names":     {[]string{"migrate", "-n", s.Name, "hpa/web", "hpa/"}, []string{"hpa/worker"}},
		"of a flag":      {[]string{"simulate", "-n", s.Name, "--from", "hpa/wo"}, []string{"hpa/worker"}},
		"not served":     {[]string{"migrate", "-n", s.Name, "scaledobject/"}, nil},
		"without rights": {[]string{"explain", as, "-n", s.Name, "hpa/"}, nil},
		"values":         {[]string{"controller", "--horizontal-pod-autoscalers=a"}, []string{"auto", "act"}},
		"list":           {[]string{"evaluate", "--divergences=none,surge-w"}, []string{"none,surge-window"}},
		"rules":          {[]string{"advise", "--rules=-single-r"}, []string{"-single-replica"}},
		"nobody answers": {[]string{"explain", "--server=https://127.0.0.1:1", "hpa/"}, nil},
	} {
		args := append([]string{"__complete", tt.args[0]}, tt.args[1:]...)
		if tt.args[0] != "controller" && tt.args[0] != "evaluate" {
			args = slices.Insert(args, 2, "--kubeconfig="+s.Cluster.KubeconfigPath())
		}
		stdout, stderr, code := p.Run(t, args...)
		if got := completions(stdout); code != 0 || !slices.Equal(got, tt.want) {
			t.Errorf("%s: exit status %d: %q, want %q: %s", name, code, got, tt.want, stderr)
		}
	}
	// Other tests make namespaces meanwhile.
	stdout, stderr, code := p.Run(t, "__complete", "explain", "--kubeconfig="+s.Cluster.KubeconfigPath(), "-n", s.Name)
	if got := completions(stdout); code != 0 || !slices.Contains(got, s.Name) {
		t.Errorf("namespaces: exit status %d: %q: %s", code, got, stderr)
	}
}

// TestKubectlCompletesThePlugin: kubectl runs the program under a name of its own to complete kubectl plimsoll.
func TestKubectlCompletesThePlugin(t *testing.T) {
	t.Parallel()
	s := shared.Namespace(t)
	s.Create(harness.Autoscaler("web", harness.QueueLength("jobs", harness.AverageValue("10"))))
	folder := t.TempDir()
	for _, name := range []string{"kubectl-plimsoll", "kubectl_complete-plimsoll"} {
		if err := os.Symlink(shared.Plimsoll(t).Binary(), filepath.Join(folder, name)); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.CommandContext(t.Context(), "sh", "-c", "kubectl __complete plimsoll explain -n "+s.Name+" hpa/")
	cmd.Env = s.Cluster.Env()
	for i, each := range cmd.Env {
		if path, isPath := strings.CutPrefix(each, "PATH="); isPath {
			cmd.Env[i] = "PATH=" + folder + string(os.PathListSeparator) + path
		}
	}
	output, err := cmd.Output()
	if got := completions(string(output)); err != nil || !slices.Equal(got, []string{"hpa/web"}) {
		t.Errorf("%v: %q", err, output)
	}
}

// TestOffersSimilarNames: for a mistyped name the error has the objects of the namespace.
func TestOffersSimilarNames(t *testing.T) {
	t.Parallel()
	s := shared.Namespace(t)
	s.Create(harness.Autoscaler("web", harness.QueueLength("jobs", harness.AverageValue("10"))))
	for name, args := range map[string][]string{
		"explain":  {"explain", "hpa/wbe"},
		"migrate":  {"migrate", "hpa/wbe"},
		"simulate": {"simulate", "--from=hpa/wbe"},
	} {
		_, stderr, code := shared.Plimsoll(t).Run(t, append(args, "-n", s.Name, "--kubeconfig="+s.Cluster.KubeconfigPath())...)
		want := `error: horizontalpodautoscalers.autoscaling "wbe" not found in namespace ` + s.Name +
			"\n  next  did you mean web? see kubectl get horizontalpodautoscalers.autoscaling -n " + s.Name + "\n"
		if code != 1 || stderr != want {
			t.Errorf("%s: exit status %d: %s, want %s", name, code, stderr, want)
		}
	}
}
