//go:build helm

package chart

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/plimsoll-dev/plimsoll/internal/dev/devcluster"
	"github.com/plimsoll-dev/plimsoll/internal/dev/devcluster/build"
	"github.com/plimsoll-dev/plimsoll/internal/dev/devcluster/devclustertest"
)

// commandBlocks are the blocks of commands in README.md that a reader types on a cluster of his own.
var commandBlocks = regexp.MustCompile("(?s)\n```sh\n(.*?)\n```\n")

// TestREADME types the commands of README.md as they stand there, on a cluster where kube-controller-manager's HPA loop is
// on and nothing of Plimsoll is installed. Then load comes, and Plimsoll scales.
func TestREADME(t *testing.T) {
	quickstart(t, func(*devcluster.Cluster) {})
}

// TestREADMEBesideUpstreamVPA types them where upstream's vertical autoscaler is installed. It stays the only one.
func TestREADMEBesideUpstreamVPA(t *testing.T) {
	var cluster *devcluster.Cluster
	quickstart(t, func(c *devcluster.Cluster) {
		cluster = c
		installUpstreamVPA(t, c)
	})
	d, err := cluster.Client().AppsV1().Deployments(namespace).Get(t.Context(), "plimsoll-controller", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if args := d.Spec.Template.Spec.Containers[0].Args; !slices.Contains(args, "--components=horizontal") {
		t.Errorf("two updaters: %q", args)
	}
}

func quickstart(t *testing.T, prepare func(*devcluster.Cluster)) {
	t.Helper()
	root, err := build.Root()
	if err != nil {
		t.Fatal(err)
	}
	cluster := devclustertest.Start(t, devcluster.Config{
		MetricsServer: true, HPAController: true, StartupDelay: time.Second,
	})
	prepare(cluster)
	controllers := followPods(t, cluster, "plimsoll-controller")
	home := t.TempDir()
	reader := &reader{t: t, dir: root, env: append(cluster.Env(), "HELM_CACHE_HOME="+home, "HELM_CONFIG_HOME="+home,
		"HELM_DATA_HOME="+home, "REGISTRY=registry.example", "PATH="+filepath.Join(root, "bin")+":"+os.Getenv("PATH"))}
	reader.run("kubectl apply -f docs/tutorial/web.yaml")
	reader.run("kubectl wait hpa/web -n shop --timeout=2m " +
		"--for=jsonpath='{.status.currentMetrics[0].resource.current.averageUtilization}'")
	t.Cleanup(func() {
		// migrate keeps the HPA's manifest in the reader's folder.
		if err := os.Remove(filepath.Join(root, "shop-web.hpa.yaml")); err != nil {
			t.Error(err)
		}
	})
	blocks := commandBlocks.FindAllStringSubmatch(read(t, filepath.Join(root, "README.md")), -1)
	if len(blocks) != 2 {
		t.Fatalf("README.md has %d blocks of commands, want one that only reads and one that installs", len(blocks))
	}
	began := time.Now()
	for _, block := range blocks {
		reader.run(block[1])
	}
	reader.run("kubectl annotate service web -n shop --overwrite sim.plimsoll.dev/requests-per-second=200")
	// Each request takes 10m, and a pod bears 30 requests a second at the target.
	const wanted = 7
	eventually(t, "replicas for the load", func(ctx context.Context) error {
		scale, err := cluster.Client().AppsV1().Deployments("shop").GetScale(ctx, "web", metav1.GetOptions{})
		if err == nil && scale.Spec.Replicas < wanted {
			err = fmt.Errorf("%d, want %d", scale.Spec.Replicas, wanted)
		}
		return err
	})
	t.Logf("%s from the first command to %d replicas", time.Since(began).Round(time.Second), wanted)
	if printed := reader.run("kubectl get hpa,wla -n shop"); strings.Contains(printed, "horizontalpodautoscaler") {
		t.Errorf("the HPA is there still:\n%s", printed)
	}
	if len(controllers.pods()) != 2 {
		t.Errorf("controllers: %q", controllers.pods())
	}
}

// reader types commands into a shell in one folder.
type reader struct {
	t   *testing.T
	dir string
	env []string
}

// run returns what the commands print. A command that fails ends the test.
func (r *reader) run(commands string) string {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "bash", "-euo", "pipefail", "-xc", commands)
	cmd.Dir, cmd.Env = r.dir, r.env
	printed, err := cmd.CombinedOutput()
	if err != nil {
		r.t.Fatalf("%v\n%s", err, printed)
	}
	r.t.Logf("%s", printed)
	return string(printed)
}
