package doctor

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/plimsoll-dev/plimsoll/cmd/plimsoll/internal/usage"
	"github.com/plimsoll-dev/plimsoll/internal/cmderror"
	"github.com/plimsoll-dev/plimsoll/internal/doctor"
)

// run runs the command against a server, and returns what it prints and its exit status.
func run(t *testing.T, server string, args ...string) (out string, status int) {
	t.Helper()
	t.Setenv("KUBECONFIG", filepath.Join(t.TempDir(), "none"))
	return runIn(t, append([]string{"--server=" + server}, args...)...)
}

func runIn(t *testing.T, args ...string) (out string, status int) {
	t.Helper()
	var stdout bytes.Buffer
	cmd := Command("v1.2.3")
	usage.Apply(cmd)
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	cmd.SetOut(&stdout)
	cmd.SetErr(io.Discard)
	cmd.SetArgs(args)
	err := cmd.ExecuteContext(t.Context())
	return stdout.String(), cmderror.ExitStatus(err)
}

// TestExitStatus: 0, 1 or 2, whatever the output.
func TestExitStatus(t *testing.T) {
	version := "v1.37.0"
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/version" {
			_, _ = io.WriteString(w, `{"gitVersion": "`+version+`"}`)
			return
		}
		// Nothing else may be read.
		w.WriteHeader(http.StatusForbidden)
		_, _ = io.WriteString(w, `{"kind": "Status", "status": "Failure", "reason": "Forbidden", "code": 403}`)
	}))
	defer server.Close()
	for _, output := range []string{"text", "json", "yaml"} {
		if out, status := run(t, server.URL, "-o", output); status != 0 || out == "" {
			t.Errorf("%s: exit status %d, %q", output, status, out)
		}
	}
	if _, status := run(t, server.URL, "--fail-on=unknown"); status != 1 {
		t.Errorf("what is unknown: exit status %d", status)
	}
	version = "v1.20.0"
	out, status := run(t, server.URL, "-o", "json", "--quiet")
	var report doctor.Output
	if err := json.Unmarshal([]byte(out), &report); err != nil {
		t.Fatal(err)
	}
	if status != 1 || report.Worst != "problem" || report.Findings[0].Check != "kubernetes-version" {
		t.Errorf("exit status %d, %+v", status, report)
	}
	for _, finding := range report.Findings {
		if finding.Level == "ok" {
			t.Errorf("--quiet: %+v", finding)
		}
	}
	if _, status := run(t, server.URL, "--fail-on=never"); status != 0 {
		t.Errorf("--fail-on=never: exit status %d", status)
	}
}

// TestNotExamined: the exit status is 2 for flags that cannot work, and if nobody answers.
func TestNotExamined(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	server.Close()
	for _, args := range [][]string{{"--fail-on=ok"}, {"-o", "xml"}, {"--check-timeout=0s"}, {"--nonsense"}, {}} {
		if _, status := run(t, server.URL, args...); status != 2 {
			t.Errorf("%q: exit status %d", args, status)
		}
	}
}

// TestCommandsNameTheCluster: they name it as it was named here, wherever they are pasted.
func TestCommandsNameTheCluster(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/version" {
			w.WriteHeader(http.StatusForbidden)
		}
		_, _ = io.WriteString(w, `{"gitVersion": "v1.37.0"}`)
	}))
	defer server.Close()
	kubeconfig := filepath.Join(t.TempDir(), "config")
	if err := os.WriteFile(kubeconfig, []byte(`{"apiVersion": "v1", "kind": "Config", "current-context": "here",
		"clusters": [{"name": "a", "cluster": {"server": "`+server.URL+`"}}],
		"contexts": [{"name": "here", "context": {"cluster": "a"}}, {"name": "shop", "context": {"cluster": "a"}}]}`),
		0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("KUBECONFIG", kubeconfig)
	for flag, want := range map[string]string{
		"--context=shop": "kubectl --context=shop auth can-i", "--cluster=a": "kubectl --cluster=a auth can-i",
		"--quiet": "kubectl auth can-i",
	} {
		if out, _ := runIn(t, flag); !strings.Contains(out, want) {
			t.Errorf("%s: no %q in\n%s", flag, want, out)
		}
	}
}
