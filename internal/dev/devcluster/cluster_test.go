package devcluster_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/plimsoll-dev/plimsoll/internal/dev/devcluster"
	"github.com/plimsoll-dev/plimsoll/internal/dev/devcluster/devclustertest"
)

// pod reads a pod of namespace default.
func pod(ctx context.Context, c *devcluster.Cluster, name string) (*corev1.Pod, error) {
	return c.Client().CoreV1().Pods("default").Get(ctx, name, metav1.GetOptions{})
}

func readiness(p *corev1.Pod) (corev1.ConditionStatus, time.Time) {
	for _, condition := range p.Status.Conditions {
		if condition.Type == corev1.PodReady {
			return condition.Status, condition.LastTransitionTime.Time
		}
	}
	return corev1.ConditionUnknown, time.Time{}
}

// awaitReadiness waits for a pod's Ready condition.
func awaitReadiness(t *testing.T, c *devcluster.Cluster, name string, want corev1.ConditionStatus) *corev1.Pod {
	t.Helper()
	var got *corev1.Pod
	eventually(t, 20*time.Second, func(ctx context.Context) error {
		var err error
		if got, err = pod(ctx, c, name); err != nil {
			return err
		}
		if status, _ := readiness(got); status != want {
			return fmt.Errorf("pod %s has Ready=%s in phase %s", name, status, got.Status.Phase)
		}
		return nil
	})
	return got
}

func awaitPhase(t *testing.T, c *devcluster.Cluster, name string, want corev1.PodPhase) *corev1.Pod {
	t.Helper()
	var got *corev1.Pod
	eventually(t, 20*time.Second, func(ctx context.Context) error {
		var err error
		if got, err = pod(ctx, c, name); err != nil {
			return err
		}
		if got.Status.Phase != want {
			return fmt.Errorf("pod %s is in phase %s", name, got.Status.Phase)
		}
		return nil
	})
	return got
}

func TestPodIsReadyAfterItsStartupDelay(t *testing.T) {
	c := shared.Cluster(t)
	apply(t, c, podManifest("quick", ""))
	apply(t, c, podManifest("slow", `sim.plimsoll.dev/startup-delay: "4s"`))

	// Times in the API have whole seconds, so a delay of n seconds shows as n-1 and more: a busy machine adds to it.
	for name, least := range map[string]time.Duration{"quick": 0, "slow": 3 * time.Second} {
		p := awaitReadiness(t, c, name, corev1.ConditionTrue)
		_, readyAt := readiness(p)
		if took := readyAt.Sub(p.Status.StartTime.Time); took < least {
			t.Errorf("pod %s was ready %s after its start, want %s at least", name, took, least)
		}
		if p.Status.Phase != corev1.PodRunning || p.Status.PodIP == "" || !p.Status.ContainerStatuses[0].Ready {
			t.Errorf("pod %s: status %+v", name, p.Status)
		}
	}
}

func TestAnnotationsSteerPods(t *testing.T) {
	c := shared.Cluster(t)
	apply(t, c, podManifest("unready", `sim.plimsoll.dev/ready: "false"`))
	apply(t, c, podManifest("done", `sim.plimsoll.dev/complete-after: "1s"`))
	apply(t, c, podManifest("broken", `sim.plimsoll.dev/fail-after: "1s"`))
	apply(t, c, podManifest("turns", ""))

	awaitPhase(t, c, "done", corev1.PodSucceeded)
	awaitPhase(t, c, "broken", corev1.PodFailed)
	awaitReadiness(t, c, "turns", corev1.ConditionTrue)
	kubectl(t, c, "annotate", "pod", "turns", devcluster.AnnotationReady+"=false")
	awaitReadiness(t, c, "turns", corev1.ConditionFalse)
	kubectl(t, c, "annotate", "pod", "turns", devcluster.AnnotationReady+"-")
	awaitReadiness(t, c, "turns", corev1.ConditionTrue)

	// By now it had several times the default delay to get ready.
	p := awaitPhase(t, c, "unready", corev1.PodRunning)
	if status, _ := readiness(p); status != corev1.ConditionFalse {
		t.Errorf("pod unready has Ready=%s", status)
	}
}

func TestDeletedPodGoes(t *testing.T) {
	c := shared.Cluster(t)
	apply(t, c, podManifest("goes", ""))
	awaitReadiness(t, c, "goes", corev1.ConditionTrue)
	kubectl(t, c, "delete", "pod", "goes", "--wait=true", "--timeout=15s")
}

func TestJobCompletes(t *testing.T) {
	c := shared.Cluster(t)
	apply(t, c, `
apiVersion: batch/v1
kind: Job
metadata: {name: job}
spec:
  template:
    metadata: {annotations: {sim.plimsoll.dev/complete-after: "1s"}}
    spec: {restartPolicy: Never, containers: [{name: work, image: simulated}]}
`)
	kubectl(t, c, "wait", "--for=condition=Complete", "job/job", "--timeout=30s")
}

func TestNodesAreAsRealOnesLook(t *testing.T) {
	c := shared.Cluster(t)
	nodes, err := c.Client().CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if len(nodes.Items) != devcluster.DefaultNodes || len(c.NodeNames()) != devcluster.DefaultNodes {
		t.Fatalf("%d nodes, want %d", len(nodes.Items), devcluster.DefaultNodes)
	}
	for _, node := range nodes.Items {
		if cpu := node.Status.Allocatable.Cpu().MilliValue(); cpu != 16000 {
			t.Errorf("node %s offers %dm CPU", node.Name, cpu)
		}
		if node.Status.DaemonEndpoints.KubeletEndpoint.Port == 0 {
			t.Errorf("node %s has no kubelet port", node.Name)
		}
		if kubelet := node.Status.NodeInfo.KubeletVersion; kubelet == "" || kubelet != c.Kubernetes() {
			t.Errorf("node %s has a kubelet of %s, the API server is of %s", node.Name, kubelet, c.Kubernetes())
		}
		if len(node.Spec.Taints) > 0 {
			t.Errorf("node %s has taints %v", node.Name, node.Spec.Taints)
		}
	}
}

// The way: model, simulated kubelet, metrics-server over TLS, aggregation layer, kubectl.
func TestTopPodsAndNodes(t *testing.T) {
	c := shared.Cluster(t)
	apply(t, c, podManifest("measured", ""))
	eventually(t, 60*time.Second, func(ctx context.Context) error {
		out, err := c.Kubectl(ctx, "top", "pod", "measured", "--no-headers")
		if err != nil {
			return err
		}
		if fields := strings.Fields(out); len(fields) != 3 || fields[0] != "measured" || !strings.HasSuffix(fields[2], "Mi") {
			return fmt.Errorf("kubectl top pod says %q", out)
		}
		return nil
	})
	if lines := strings.Count(kubectl(t, c, "top", "nodes", "--no-headers"), "\n"); lines != devcluster.DefaultNodes {
		t.Errorf("kubectl top nodes has %d lines", lines)
	}
}

func TestCustomAndExternalMetricsAreServed(t *testing.T) {
	c := shared.Cluster(t)
	apply(t, c, podManifest("asked", ""))
	apply(t, c,
		`{apiVersion: v1, kind: Service, metadata: {name: asked}, spec: {selector: {app: asked}, ports: [{port: 80}]}}`)
	awaitReadiness(t, c, "asked", corev1.ConditionTrue)
	if err := c.World().SetLoad("default", "asked", 5); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{
		"/apis/custom.metrics.k8s.io/v1beta2/namespaces/default/pods/*/http_requests_per_second?labelSelector=app%3Dasked",
		"/apis/custom.metrics.k8s.io/v1beta1/namespaces/default/pods/*/http_requests_per_second?labelSelector=app%3Dasked",
		"/apis/external.metrics.k8s.io/v1beta1/namespaces/default/queue_length",
	} {
		eventually(t, 20*time.Second, func(ctx context.Context) error {
			out, err := c.Kubectl(ctx, "get", "--raw", path)
			if err == nil && !strings.Contains(out, `"value":`) {
				err = fmt.Errorf("%s answers %s", path, out)
			}
			return err
		})
	}
}

func TestRBACHolds(t *testing.T) {
	c := shared.Cluster(t)
	kubeconfig, err := c.KubeconfigFor("somebody")
	if err != nil {
		t.Fatal(err)
	}
	out, err := c.Kubectl(t.Context(), "--kubeconfig="+kubeconfig, "get", "pods")
	if err == nil || !strings.Contains(err.Error(), "forbidden") {
		t.Errorf("a user without a role got %q, %v", out, err)
	}
}

func TestControllerManagerRestartsWithOtherFlags(t *testing.T) {
	c := shared.Cluster(t)
	c.StopControllerManager(t.Context())
	apply(t, c, `{apiVersion: apps/v1, kind: Deployment, metadata: {name: later}, spec: {replicas: 1,
		selector: {matchLabels: {app: later}}, template: {metadata: {labels: {app: later}},
		spec: {containers: [{name: web, image: simulated}]}}}}`)
	if err := c.RestartControllerManager(t.Context(), "--controllers=*",
		"--horizontal-pod-autoscaler-sync-period=1s"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.RestartControllerManager(context.Background()); err != nil {
			t.Error(err)
		}
	})
	kubectl(t, c, "wait", "--for=condition=Available", "deployment/later", "--timeout=30s")
	kubectl(t, c, "autoscale", "deployment", "later", "--min=2", "--max=3", "--cpu=50%")
	t.Cleanup(func() {
		if _, err := c.Kubectl(context.Background(), "delete", "hpa", "later"); err != nil {
			t.Error(err)
		}
	})
	// Only a running HPA loop raises the count to the minimum.
	kubectl(t, c, "wait", "--for=jsonpath={.spec.replicas}=2", "deployment/later", "--timeout=30s")
}

func TestRegisteredAPIIsReached(t *testing.T) {
	c := shared.Cluster(t)
	err := c.RegisterAPIService(t.Context(), devcluster.APIService{
		Group: "nobody.example", Version: "v1", Port: 1, CABundle: c.CA().CertPEM(),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_, err := c.Kubectl(context.Background(), "delete", "apiservice", devcluster.APIServiceName("nobody.example", "v1"))
		if err != nil {
			t.Error(err)
		}
	})
	// Nothing listens on port 1: the API server must report that, rather than an unknown group.
	eventually(t, 20*time.Second, func(ctx context.Context) error {
		out, err := c.Kubectl(ctx, "get", "apiservice", "v1.nobody.example", "-o",
			`jsonpath={.status.conditions[?(@.type=="Available")].message}`)
		if err == nil && !strings.Contains(out, "127.0.0.1:1") && !strings.Contains(out, "localhost:1") {
			err = fmt.Errorf("condition says %q", out)
		}
		return err
	})
}

func TestClusterFailsWhenAPartEnds(t *testing.T) {
	c := devclustertest.Start(t, devcluster.Config{Nodes: 1})
	select {
	case err := <-c.Failed():
		t.Fatalf("failed already: %v", err)
	default:
	}
	killed := false
	for _, p := range processesOf(t, c.Dir()) {
		if filepath.Base(p.command) == "kube-scheduler" {
			killed = syscall.Kill(p.id, syscall.SIGKILL) == nil
		}
	}
	if !killed {
		t.Fatal("found no kube-scheduler")
	}
	select {
	case err := <-c.Failed():
		if text := err.Error(); !strings.Contains(text, "kube-scheduler ended") || !strings.Contains(text, "last lines of") {
			t.Errorf("error does not name the part and quote its log: %v", err)
		}
	case <-time.After(10 * time.Second):
		t.Error("it was not reported")
	}
}

func TestStartThatFailsNamesThePartAndLeavesNothing(t *testing.T) {
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	bin, err := devclustertest.Bin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	_, err = devcluster.Start(t.Context(), devcluster.Config{
		BinDir: bin, Log: t.Logf, APIServerFlags: []string{"--no-such-flag"},
	})
	if err == nil {
		t.Fatal("started")
	}
	for _, want := range []string{"kube-apiserver", "unknown flag: --no-such-flag"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("error does not say %q: %v", want, err)
		}
	}
	if left, err := os.ReadDir(tmp); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v %v", left, err)
	}
}

func TestMissingBinaryIsNamed(t *testing.T) {
	_, err := devcluster.Start(t.Context(), devcluster.Config{BinDir: t.TempDir()})
	if err == nil || !strings.Contains(err.Error(), "etcd") {
		t.Errorf("error does not name what is missing: %v", err)
	}
}

func TestControlPlaneAloneLeavesNodesAndPodsToTheCaller(t *testing.T) {
	c := devclustertest.Start(t, devcluster.Config{ControlPlaneOnly: true})
	nodes, err := c.Client().CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if len(nodes.Items) > 0 || len(c.NodeNames()) > 0 {
		t.Errorf("nodes %v %v that were not created", nodes.Items, c.NodeNames())
	}
	for part, runs := range map[string]bool{"kube-apiserver": true, "kube-scheduler": false, "kwok": false} {
		if _, err := os.Stat(c.LogPath(part)); (err == nil) != runs {
			t.Errorf("%s runs: %t, want %t", part, err == nil, runs)
		}
	}
}

func TestControlPlaneAloneHasNoSimulation(t *testing.T) {
	for name, config := range map[string]devcluster.Config{
		"nodes":    {BinDir: t.TempDir(), ControlPlaneOnly: true, Nodes: 1},
		"kubelets": {BinDir: t.TempDir(), ControlPlaneOnly: true, Kubelets: true},
		"metrics":  {BinDir: t.TempDir(), ControlPlaneOnly: true, MetricsServer: true},
	} {
		if _, err := devcluster.Start(t.Context(), config); err == nil ||
			!strings.Contains(err.Error(), "control plane alone") {
			t.Errorf("%s: got %v", name, err)
		}
	}
}
