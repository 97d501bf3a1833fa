//go:build helm

package chart

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/plimsoll-dev/plimsoll/internal/dev/devcluster"
	"github.com/plimsoll-dev/plimsoll/internal/dev/devcluster/devclustertest"
	"github.com/plimsoll-dev/plimsoll/internal/dev/devcluster/manifests"
)

// shared is a cluster whose pods are simulated: those of a release become ready, and run nothing.
var shared = devclustertest.Shared{Parallel: 1, Config: devcluster.Config{
	MetricsServer: true, StartupDelay: time.Second,
}}

func TestMain(m *testing.M) { os.Exit(shared.Main(m)) }

// helm is the program as an administrator of the cluster runs it.
type helm struct {
	t       *testing.T
	cluster *devcluster.Cluster
	home    string
}

func newHelm(t *testing.T) *helm {
	t.Helper()
	return &helm{t: t, cluster: shared.Cluster(t), home: t.TempDir()}
}

// run returns what helm prints; that it fails ends the test.
func (h *helm) run(args ...string) string {
	h.t.Helper()
	out, err := h.try(args...)
	if err != nil {
		h.t.Fatalf("helm %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return out
}

func (h *helm) try(args ...string) (string, error) {
	h.t.Helper()
	binary, err := filepath.Abs("../../bin/helm")
	if err != nil {
		h.t.Fatal(err)
	}
	if _, err := os.Stat(binary); err != nil {
		h.t.Fatalf("%v: make test-chart builds it", err)
	}
	var out strings.Builder
	// Also after the test, to remove what it has left.
	cmd := exec.CommandContext(context.WithoutCancel(h.t.Context()), binary, args...)
	cmd.Env = append(h.cluster.Env(), "HELM_CACHE_HOME="+h.home, "HELM_CONFIG_HOME="+h.home, "HELM_DATA_HOME="+h.home)
	cmd.Stdout, cmd.Stderr = &out, &out
	err = cmd.Run()
	return out.String(), err
}

// deleteNamespace returns when it is gone.
func (h *helm) deleteNamespace(name string) {
	h.t.Helper()
	namespaces, ctx := h.cluster.Client().CoreV1().Namespaces(), context.WithoutCancel(h.t.Context())
	if err := namespaces.Delete(ctx, name, metav1.DeleteOptions{}); err != nil {
		h.t.Error(err)
	}
	eventually(h.t, "the end of namespace "+name, func(ctx context.Context) error {
		_, err := namespaces.Get(ctx, name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		return fmt.Errorf("it is there still: %w", errors.Join(err))
	})
}

// release is a release called plimsoll in a namespace of its own, which goes with the test.
type release struct {
	*helm
	namespace string
}

// newRelease makes the namespace as docs/install.md says.
func newRelease(t *testing.T, namespace string) *release {
	t.Helper()
	r := &release{helm: newHelm(t), namespace: namespace}
	namespaces := r.cluster.Client().CoreV1().Namespaces()
	_, err := namespaces.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		Name: namespace, Labels: map[string]string{"pod-security.kubernetes.io/enforce": "restricted"},
	}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if out, err := r.try("uninstall", "plimsoll", "--namespace="+namespace, "--ignore-not-found", "--wait"); err != nil {
			t.Errorf("%v: %s", err, out)
		}
		r.deleteNamespace(namespace)
	})
	return r
}

// apply installs or upgrades the release and waits until its pods are ready.
func (r *release) apply(command, chart, values string, flags ...string) {
	r.t.Helper()
	r.run(append([]string{command, "plimsoll", chart, "--namespace=" + r.namespace, "--values=" + r.file(values),
		"--wait", "--timeout=2m"}, flags...)...)
}

// file is a file of values.
func (r *release) file(values string) string {
	r.t.Helper()
	path := filepath.Join(r.t.TempDir(), "values.yaml")
	if err := os.WriteFile(path, []byte(values), 0o600); err != nil {
		r.t.Fatal(err)
	}
	return path
}

// remove uninstalls the release.
func (r *release) remove() {
	r.t.Helper()
	r.run("uninstall", "plimsoll", "--namespace="+r.namespace, "--wait", "--timeout=2m")
}

// eventually waits for a condition.
func eventually(t *testing.T, what string, check func(context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 2*time.Minute)
	defer cancel()
	ticker := time.NewTicker(100 * time.Millisecond)
	defer ticker.Stop()
	for {
		err := check(ctx)
		if err == nil {
			return
		}
		select {
		case <-ctx.Done():
			t.Fatalf("%s: %v", what, err)
		case <-ticker.C:
		}
	}
}

// operatorVersion is the Prometheus Operator's whose definitions the monitors and the rule are checked with.
const operatorVersion = "v0.85.0"

// moduleDir is the folder of a module. The go command checks what it downloads against the checksum database.
func moduleDir(t *testing.T, module string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "mod", "download", "-json", module).Output()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	var downloaded struct{ Dir string }
	if err := json.Unmarshal(out, &downloaded); err != nil {
		t.Fatal(err)
	}
	return downloaded.Dir
}

// upstreamVPA is the version of tools/autoscaler.
const upstreamVPA = "k8s.io/autoscaler/vertical-pod-autoscaler@v1.8.1"

// upstreamDefinitions are the names of upstream's definitions.
var upstreamDefinitions = []string{
	"verticalpodautoscalers.autoscaling.k8s.io", "verticalpodautoscalercheckpoints.autoscaling.k8s.io",
}

// installUpstreamVPA applies what upstream's vertical autoscaler is installed with: definitions, rights and Deployments,
// whose pods are simulated. It goes with the test.
func installUpstreamVPA(t *testing.T, cluster *devcluster.Cluster) {
	t.Helper()
	deploy := filepath.Join(moduleDir(t, upstreamVPA), "deploy")
	files := []string{
		filepath.Join(deploy, "vpa-v1-crd-gen.yaml"), filepath.Join(deploy, "vpa-rbac.yaml"),
		filepath.Join(deploy, "recommender-deployment.yaml"), filepath.Join(deploy, "updater-deployment.yaml"),
	}
	for _, file := range files {
		if _, err := cluster.Kubectl(t.Context(), "apply", "--server-side", "--filename="+file); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() {
		for _, file := range files {
			_, err := cluster.Kubectl(context.WithoutCancel(t.Context()), "delete", "--ignore-not-found", "--filename="+file)
			if err != nil {
				t.Error(err)
			}
		}
	})
	for _, name := range upstreamDefinitions {
		_, err := cluster.Kubectl(t.Context(), "wait", "--for=condition=Established", "customresourcedefinition/"+name)
		if err != nil {
			t.Fatal(err)
		}
	}
}

// installPrometheusDefinitions applies those that the operator's module has.
func installPrometheusDefinitions(t *testing.T, cluster *devcluster.Cluster) {
	t.Helper()
	dir := moduleDir(t, "github.com/prometheus-operator/prometheus-operator@"+operatorVersion)
	all, err := manifests.Files(filepath.Join(dir, "example", "prometheus-operator-crd"))
	if err != nil {
		t.Fatal(err)
	}
	wanted := regexp.MustCompile(`^(servicemonitors|podmonitors|prometheusrules)\.`)
	definitions := all[:0]
	for _, definition := range all {
		if wanted.MatchString(definition.GetName()) {
			definitions = append(definitions, definition)
		}
	}
	if len(definitions) != 3 {
		t.Fatalf("%d definitions", len(definitions))
	}
	if err := manifests.Apply(t.Context(), cluster.RESTConfig(), definitions); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the Prometheus Operator's definitions", func(context.Context) error {
		return manifests.Served(cluster.Client().Discovery(), definitions)
	})
}
