package recommender

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"k8s.io/utils/ptr"

	"github.com/plimsoll-dev/plimsoll/internal/explain/sizes"
	"github.com/plimsoll-dev/plimsoll/test/integration/harness"
)

// arguments explain vpa/web as the cluster's administrator.
func arguments(s *harness.Space, more ...string) []string {
	return append([]string{"explain", "vpa/web", "-n", s.Namespace, "--kubeconfig=" + s.Cluster.KubeconfigPath()}, more...)
}

func explain(t *testing.T, s *harness.Space, more ...string) (stdout, stderr string, code int) {
	t.Helper()
	return installation.plimsoll.Run(t, arguments(s, more...)...)
}

// TestExplains: what explain makes of the checkpoints is what the recommender made of its samples, step by step. Of each
// pod it says why it is left alone, and what would become of it in another mode. Who lacks a right learns which.
func TestExplains(t *testing.T) {
	s := space(t)
	s.Create(harness.Workload{Replicas: ptr.To[int32](2)}.Deployment(), harness.Workload{}.Service(60))
	const limit = "\n  resourcePolicy: {containerPolicies: [{containerName: \"*\", maxAllowed: {cpu: 210m}}]}\n"
	autoscaler(s, "web", "web", "  updatePolicy: {updateMode: \"Off\"}"+limit)
	awaitCPU(s, "web", 210, 210) // two pods use 300m each
	restart(t, s, func() {})     // at its end the recommender writes what it has learnt

	t.Run("text", func(t *testing.T) {
		stdout, stderr, code := explain(t, s)
		if code != 0 {
			t.Fatalf("exit status %d: %s", code, stderr)
		}
		wantWords(t, stdout, "VerticalPodAutoscaler "+s.Namespace+"/web", "Deployment/web: 2 pods; mode Off", "samples of CPU", "confidence 0.",
			"target   p90 of use ", "with the margin ", "capped to 210m", "published 210m", "requests app cpu 100m and memory 64Mi", "stays as it is: ModeOff")
	})
	t.Run("json", func(t *testing.T) {
		stdout, stderr, code := explain(t, s, "-o", "json")
		var out sizes.Output
		if err := json.Unmarshal([]byte(stdout), &out); err != nil || code != 0 {
			t.Fatalf("exit status %d, %v: %s%s", code, err, stdout, stderr)
		}
		judge(t, s, &out)
	})
	t.Run("watch", func(t *testing.T) { watch(t, s) })
	t.Run("save", func(t *testing.T) {
		if _, stderr, code := explain(t, s, "--save="+t.TempDir()+"/web.yaml"); code == 0 || !strings.Contains(stderr, "checkpoints are objects already") {
			t.Errorf("exit status %d: %s", code, stderr)
		}
	})
	t.Run("rights", func(t *testing.T) { lackRights(t, s) })
	t.Run("another mode", func(t *testing.T) {
		s.Kubectl("patch", "vpa", "web", "--type=merge", "-p", `{"spec":{"updatePolicy":{"updateMode":"Recreate"}}}`)
		stdout, _, _ := explain(t, s)
		// With next to no history everything is good enough.
		wantWords(t, stdout, "mode Recreate", "stays as it is: WithinBounds")
	})
}

// judge compares with what the recommender has published and learnt.
func judge(t *testing.T, s *harness.Space, out *sizes.Output) {
	t.Helper()
	saved, err := checkpoint(t.Context(), s, "web")
	if err != nil {
		t.Fatal(err)
	}
	if len(out.Containers) != 1 || len(out.Pods) != 2 || out.Containers[0].Samples == 0 || out.Containers[0].Samples > saved.Status.TotalSamplesCount {
		t.Fatalf("the checkpoint has %d samples, the explanation is %+v", saved.Status.TotalSamplesCount, out)
	}
	cpu := out.Containers[0].Resources[0]
	if cpu.Name != "cpu" || len(cpu.Bounds) != 3 {
		t.Fatalf("%+v", cpu)
	}
	judgeTarget(t, s, cpu.Bounds[0])
	for _, pod := range out.Pods {
		if pod.Action != "nothing" || pod.Against != "ModeOff" {
			t.Errorf("%+v", pod)
		}
	}
}

func judgeTarget(t *testing.T, s *harness.Space, b sizes.Bound) {
	t.Helper()
	published, _, err := target(t.Context(), s, "web")
	if err != nil {
		t.Fatal(err)
	}
	// Each pod is offered 30 requests a second of 10m; buckets are 5 % wide.
	if b.Percentile != 0.9 || b.Used < 280 || b.Used > 330 || b.WithMargin < b.Used*114/100 || b.Capped != published {
		t.Errorf("%dm are published, explained by %+v", published, b)
	}
}

func wantWords(t *testing.T, text string, words ...string) {
	t.Helper()
	for _, want := range words {
		if !strings.Contains(text, want) {
			t.Errorf("it does not say %q:\n%s", want, text)
		}
	}
}

// watch explains until it is interrupted, and ends well then.
func watch(t *testing.T, s *harness.Space) {
	t.Helper()
	binary, err := harness.Program(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 6*time.Second)
	defer cancel()
	var out bytes.Buffer
	cmd := exec.CommandContext(ctx, binary, arguments(s, "--watch", "--interval=1s")...)
	cmd.Stdout, cmd.Stderr = &out, &out
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	_ = cmd.Run() // it reports that its context has ended
	if n := strings.Count(out.String(), "VerticalPodAutoscaler "+s.Namespace+"/web"); n < 2 || cmd.ProcessState.ExitCode() != 0 {
		t.Errorf("%d explanations, exit status %d: %s", n, cmd.ProcessState.ExitCode(), out.String())
	}
}

// lackRights gives a user one right after the other, and wants the next one named.
func lackRights(t *testing.T, s *harness.Space) {
	t.Helper()
	user := "--as=system:serviceaccount:" + s.Namespace + ":looker"
	for i, c := range []struct{ verb, resource, named string }{
		{"get", "verticalpodautoscalers.autoscaling.k8s.io", "get verticalpodautoscalers.autoscaling.k8s.io"},
		{"list", "verticalpodautoscalercheckpoints.autoscaling.k8s.io", "list verticalpodautoscalercheckpoints.autoscaling.k8s.io"},
		{"get", "deployments.apps/scale", "get scale of Deployment web"},
		{"list", "pods", "list pods"},
	} {
		_, stderr, code := explain(t, s, user)
		if code == 0 || !strings.Contains(stderr, "you may not "+c.named+" in namespace "+s.Namespace) {
			t.Errorf("without the right to %s: exit status %d: %s", c.named, code, stderr)
		}
		name := fmt.Sprint("right-", i)
		s.Kubectl("create", "role", name, "--verb="+c.verb, "--resource="+c.resource)
		s.Kubectl("create", "rolebinding", name, "--role="+name, "--serviceaccount="+s.Namespace+":looker")
	}
	if _, stderr, code := explain(t, s, user); code != 0 {
		t.Errorf("with all rights: exit status %d: %s", code, stderr)
	}
}
