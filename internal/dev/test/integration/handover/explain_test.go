package handover

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/plimsoll-dev/plimsoll/internal/dev/devcluster"
	"github.com/plimsoll-dev/plimsoll/internal/dev/test/integration/harness"
	explainhorizontal "github.com/plimsoll-dev/plimsoll/internal/explain/horizontal"
)

// explained is the program's explanation of "web" where kube-controller-manager alone decides.
func explained(t *testing.T, s *harness.Namespace, p *harness.Plimsoll) explainhorizontal.Output {
	t.Helper()
	stdout, stderr, code := p.Run(t, "explain", "hpa/web", "-n",
		s.Name, "--kubeconfig="+s.Cluster.KubeconfigPath(), "-o", "json")
	var out explainhorizontal.Output
	if err := json.Unmarshal([]byte(stdout), &out); err != nil || code != 0 {
		t.Fatalf("exit status %d, %v: %s%s", code, err, stdout, stderr)
	}
	return out
}

// explainText is its text output.
func explainText(t *testing.T, s *harness.Namespace, p *harness.Plimsoll) string {
	t.Helper()
	stdout, stderr, code := p.Run(t, "explain", "hpa/web", "-n", s.Name, "--kubeconfig="+s.Cluster.KubeconfigPath(),
		"--verbose")
	if code != 0 {
		t.Fatalf("exit status %d: %s", code, stderr)
	}
	return stdout
}

func wantWords(t *testing.T, text string, words ...string) {
	t.Helper()
	for _, want := range words {
		if !strings.Contains(text, want) {
			t.Errorf("it does not say %q:\n%s", want, text)
		}
	}
}

// On a cluster without Plimsoll the explanation reports that the history is unknown, and predicts only the part that
// holds for every history; kube-controller-manager then does that: it scales up at its next sync, and delays scaling
// down.
func TestExplainPredictsUpstream(t *testing.T) {
	s, p := namespace(t)
	restart(t, s, loopOn, "--horizontal-pod-autoscaler-sync-period=10s")
	s.Create(harness.Workload{Replicas: ptr.To[int32](2)}.Deployment(), harness.Queue("jobs", 15),
		harness.Autoscaler("web", harness.QueueLength("jobs", harness.AverageValue("10"))))
	s.AwaitConditions("web", validMetric())
	changes := s.WatchChanges("web")
	predicted := func(current, want int32) (out explainhorizontal.Output) {
		t.Helper()
		s.Eventually(fmt.Sprintf("a forecast of %d", want), func(context.Context) error {
			out = explained(t, s, p)
			if out.Status.CurrentReplicas != current || ptr.Deref(out.Least, -1) != want || ptr.Deref(out.Most, -1) != want {
				return fmt.Errorf("%d replicas, predicted are %d to %d", out.Status.CurrentReplicas, ptr.Deref(out.Least, -1),
					ptr.Deref(out.Most, -1))
			}
			return nil
		})
		return out
	}
	s.SetQueue("jobs", 35)
	out := predicted(2, 4)
	if out.KnowsHistory || out.Controller != explainhorizontal.Upstream || out.NoHistory == "" {
		t.Errorf("it knows the history: %t (%q) of %s", out.KnowsHistory, out.NoHistory, out.Controller)
	}
	s.AwaitReplicas(harness.Deployment, "web", 4)

	s.SetQueue("jobs", 15)
	awaitAverage(s, "web", 4)
	predicted(4, 4)
	text := explainText(t, s, p)
	wantWords(t, text, "history        unknown: kube-controller-manager, which wrote the status at ",
		", does not expose it",
		"controller     kube-controller-manager",
		"limited by     stabilization window of scaleDown until ", "result         stay at 4",
		"scale-down     not known: what was recommended earlier is unknown")
	s.HoldsReplicas(15*time.Second, harness.Deployment, "web", 4)
	if got, want := changes.All(),
		[]harness.Change{{From: 2, To: 4, By: "kube-controller-manager"}}; !slices.Equal(got, want) {
		t.Errorf("changes %v, want %v", got, want)
	}
}

// Without the API of a metric, the explanation names it, as the controller's own event does.
func TestExplainSaysWhichAPIIsMissing(t *testing.T) {
	s, p := namespace(t)
	restart(t, s, often, loopOn)
	if err := s.Cluster.StopMetricsServer(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		resolution := devcluster.MetricsServerConfig{Resolution: devcluster.DefaultMetricResolution}
		if err := s.Cluster.RestartMetricsServer(context.WithoutCancel(t.Context()), resolution); err != nil {
			t.Error(err)
		}
	})
	s.Create(harness.Workload{}.Deployment(),
		harness.Autoscaler("web", harness.Resource(corev1.ResourceCPU, harness.Utilization(50))))
	event := s.AwaitEvent("web", "FailedGetResourceMetric", "the server could not find the requested resource")
	text := explainText(t, s, p)
	wantWords(t, text, "the server could not find the requested resource (get pods.metrics.k8s.io)",
		"FailedGetResourceMetric",
		"stays at 1 (minReplicas) until this changes")
	if !strings.Contains(text, event.Message) {
		t.Errorf("the controller says %q, the explanation:\n%s", event.Message, text)
	}
}
