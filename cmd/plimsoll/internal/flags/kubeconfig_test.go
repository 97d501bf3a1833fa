package flags

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/pflag"
	"k8s.io/cli-runtime/pkg/genericclioptions"

	"github.com/plimsoll-dev/plimsoll/internal/cmderror"
)

const kubeconfig = `
apiVersion: v1
kind: Config
current-context: production
contexts:
- {name: production, context: {cluster: main, user: me, namespace: shop}}
- {name: staging, context: {cluster: main, user: me}}
clusters: [{name: main, cluster: {server: "https://10.0.0.1:6443"}}]
users: [{name: me, user: {token: s3cret-token}}]
`

// TestRESTConfig: each way in which a kubeconfig does not work has its own words, and no secret is in them.
func TestRESTConfig(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("HOME", dir)
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
	t.Setenv("KUBERNETES_MASTER", "")
	good, broken := filepath.Join(dir, "good"), filepath.Join(dir, "broken")
	for path, content := range map[string]string{good: kubeconfig, broken: "clusters: {\ntoken: s3cret-token"} {
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, tt := range map[string]struct {
		env, args string
		want      string // "" for no error
		status    int
	}{
		"good":            {good, "", "", 0},
		"other context":   {good, "--context=staging", "", 0},
		"server":          {"", "--server=https://10.0.0.2:6443", "", 0},
		"none":            {filepath.Join(dir, "none"), "", "no cluster is configured: there is no kubeconfig in " + dir, 1},
		"missing":         {good, "--kubeconfig=" + dir + "/no", "there is no such file", 1},
		"broken":          {broken, "", "cannot be used", 1},
		"unknown context": {good, "--context=prodution", "has no such context: did you mean production?", 2},
		"odd context":     {good, "--context=zzz", "kubectl config get-contexts lists them", 2},
		"unknown cluster": {good, "--cluster=mian", "has no such cluster: did you mean main?", 2},
		"unknown user":    {good, "--user=him", "has no such user", 2},
	} {
		t.Setenv("KUBECONFIG", tt.env)
		kube := genericclioptions.NewConfigFlags(true)
		fs := pflag.NewFlagSet("", pflag.ContinueOnError)
		kube.AddFlags(fs)
		if err := fs.Parse(strings.Fields(tt.args)); err != nil {
			t.Fatal(err)
		}
		config, err := RESTConfig(kube, "plimsoll-test")
		switch {
		case tt.want == "" && (err != nil || config.UserAgent != "plimsoll-test"):
			t.Errorf("%s: %v", name, err)
		case tt.want == "":
		case err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "s3cret"):
			t.Errorf("%s: %v, want %q", name, err, tt.want)
		}
		if got := cmderror.ExitStatus(err); got != tt.status {
			t.Errorf("%s: exit status %d", name, got)
		}
	}
}

// TestNamespace is that of the context, unless a flag names another.
func TestNamespace(t *testing.T) {
	path := filepath.Join(t.TempDir(), "config")
	if err := os.WriteFile(path, []byte(kubeconfig), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("KUBECONFIG", path)
	for args, want := range map[string]string{"": "shop", "-n other": "other", "--context=staging": "default"} {
		kube := genericclioptions.NewConfigFlags(true)
		fs := pflag.NewFlagSet("", pflag.ContinueOnError)
		kube.AddFlags(fs)
		if err := fs.Parse(strings.Fields(args)); err != nil {
			t.Fatal(err)
		}
		if got, err := Namespace(kube); err != nil || got != want {
			t.Errorf("%q: %s, %v", args, got, err)
		}
	}
}
