package recommender

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/plimsoll-dev/plimsoll/internal/dev/test/integration/harness"
	"github.com/plimsoll-dev/plimsoll/internal/dev/test/integration/harness/parts"
	explainvertical "github.com/plimsoll-dev/plimsoll/internal/explain/vertical"
)

// arguments explain vpa/web as the cluster's administrator.
func arguments(s *harness.Namespace, more ...string) []string {
	return append([]string{"explain", "vpa/web", "-n", s.Name, "--kubeconfig=" + s.Cluster.KubeconfigPath()}, more...)
}

func explain(t *testing.T, s *harness.Namespace, more ...string) (stdout, stderr string, code int) {
	t.Helper()
	return installation.plimsoll.Run(t, arguments(s, more...)...)
}

// TestExplains: explain computes the same from the checkpoints as the recommender from its samples, step by step. For
// each pod it has the reason why it stays, and the effect of another mode. For a user without a permission the error
// names it.
func TestExplains(t *testing.T) {
	t.Parallel()
	s := namespace(t)
	own := startOwn(t, s)
	web := harness.Workload{
		Replicas: ptr.To[int32](2), Containers: []corev1.Container{harness.Container("app", "200m", "64Mi")},
	}
	s.Create(web.Deployment())
	// A pod that serves alone bears the load of both.
	s.Kubectl("wait", "--for=jsonpath={.status.readyReplicas}=2", "deployment/web", "--timeout=2m")
	s.Create(harness.Workload{}.Service(60))
	const limit = "\n  resourcePolicy: {containerPolicies: [{containerName: \"*\", maxAllowed: {cpu: 210m}}]}\n"
	autoscaler(s, "web", "web", ownRecommender(s)+"  updatePolicy: {updateMode: \"Off\"}"+limit)
	awaitCPU(s, "web", 210, 210) // two pods use 300m each
	// The first samples may be of a time that began before the load.
	s.Holds(15*time.Second, "the target", func(ctx context.Context) error {
		cpu, _, err := target(ctx, s, "web")
		if err == nil && cpu != 210 {
			err = fmt.Errorf("%dm", cpu)
		}
		return err
	})
	own.Stop() // at its end the recommender writes its checkpoints
	startOwn(t, s)

	t.Run("text", func(t *testing.T) {
		stdout, stderr, code := explain(t, s, "--verbose")
		if code != 0 {
			t.Fatalf("exit status %d: %s", code, stderr)
		}
		wantWords(t, stdout, "VerticalPodAutoscaler "+s.Name+"/web", "Deployment/web: 2 pods; mode Off", "samples of CPU",
			"confidence 0.",
			"target     p90 of usage ", "with safety margin ", ", 210m by maxAllowed", "published  210m",
			"requests app cpu 200m and memory 64Mi", "not updated: the update mode changes no running pods")
	})
	t.Run("json", func(t *testing.T) {
		stdout, stderr, code := explain(t, s, "-o", "json")
		var out explainvertical.Output
		if err := json.Unmarshal([]byte(stdout), &out); err != nil || code != 0 {
			t.Fatalf("exit status %d, %v: %s%s", code, err, stdout, stderr)
		}
		judge(t, s, &out)
	})
	t.Run("watch", func(t *testing.T) { watch(t, s) })
	t.Run("save", func(t *testing.T) {
		file := t.TempDir() + "/web.yaml"
		told, stderr, code := explain(t, s, "-o", "json", "--save="+file)
		if code != 0 {
			t.Fatalf("exit status %d: %s", code, stderr)
		}
		for _, args := range [][]string{{"evaluate", "-o", "json", "-f", file}, {"explain", "-o", "json", "--from", file}} {
			again, stderr, code := installation.plimsoll.Run(t, args...)
			if code != 0 || again != told {
				t.Errorf("%v: exit status %d: %s%swant %s", args, code, again, stderr, told)
			}
		}
	})
	t.Run("rights", func(t *testing.T) { lackRights(t, s) })
	t.Run("another mode", func(t *testing.T) {
		s.Kubectl("patch", "vpa", "web", "--type=merge", "-p", `{"spec":{"updatePolicy":{"updateMode":"Recreate"}}}`)
		stdout, _, _ := explain(t, s, "--verbose")
		// With next to no history nearly everything is good enough.
		wantWords(t, stdout, "mode Recreate", "not updated: the pods' requests are within the recommended bounds")
	})
}

// judge compares with the recommender's status and checkpoints.
func judge(t *testing.T, s *harness.Namespace, out *explainvertical.Output) {
	t.Helper()
	saved, err := checkpoint(t.Context(), s, "web")
	if err != nil {
		t.Fatal(err)
	}
	if len(out.Containers) != 1 || len(out.Pods) != 2 || out.Containers[0].Samples == 0 ||
		out.Containers[0].Samples > saved.Status.TotalSamplesCount {
		t.Fatalf("the checkpoint has %d samples, the explanation is %+v", saved.Status.TotalSamplesCount, out)
	}
	cpu := out.Containers[0].Resources[0]
	if cpu.Name != "cpu" || len(cpu.Bounds) != 3 {
		t.Fatalf("%+v", cpu)
	}
	judgeTarget(t, s, cpu.Bounds[0])
	for _, pod := range out.Pods {
		if pod.Action != "nothing" || pod.BlockedBy != "ModeOff" {
			t.Errorf("%+v", pod)
		}
	}
}

func judgeTarget(t *testing.T, s *harness.Namespace, b explainvertical.Bound) {
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
func watch(t *testing.T, s *harness.Namespace) {
	t.Helper()
	binary, err := parts.Program(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), harness.Long)
	defer cancel()
	var errs bytes.Buffer
	cmd := exec.CommandContext(ctx, binary, arguments(s, "--watch", "--interval=1s")...)
	cmd.Stderr = &errs
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	explanations := 0
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if !strings.Contains(lines.Text(), "VerticalPodAutoscaler "+s.Name+"/web") {
			continue
		}
		if explanations++; explanations == 2 {
			_ = cmd.Process.Signal(os.Interrupt) // where it is gone, Wait returns how
		}
	}
	if err := cmd.Wait(); err != nil || explanations < 2 {
		t.Errorf("%d explanations, %v: %s", explanations, err, errs.String())
	}
}

// lackRights gives a user one permission after another, and expects the next one in the error.
func lackRights(t *testing.T, s *harness.Namespace) {
	t.Helper()
	user := "--as=system:serviceaccount:" + s.Name + ":looker"
	for i, c := range []struct{ verb, resource, named string }{
		{"get", "verticalpodautoscalers.autoscaling.k8s.io", "get verticalpodautoscalers.autoscaling.k8s.io"},
		{"list", "verticalpodautoscalercheckpoints.autoscaling.k8s.io",
			"list verticalpodautoscalercheckpoints.autoscaling.k8s.io"},
		{"get", "deployments.apps/scale", "get scale of Deployment web"},
		{"list", "pods", "list pods"},
	} {
		// The API server may need a moment for the new permission.
		s.Eventually("the lack of the right to "+c.named, func(context.Context) error {
			_, stderr, code := explain(t, s, user)
			if code == 0 || !strings.Contains(stderr, "you may not "+c.named+" in namespace "+s.Name) {
				return fmt.Errorf("exit status %d: %s", code, stderr)
			}
			return nil
		})
		name := fmt.Sprint("right-", i)
		s.Kubectl("create", "role", name, "--verb="+c.verb, "--resource="+c.resource)
		s.Kubectl("create", "rolebinding", name, "--role="+name, "--serviceaccount="+s.Name+":looker")
	}
	s.Eventually("an explanation with all rights", func(context.Context) error {
		if _, stderr, code := explain(t, s, user); code != 0 {
			return fmt.Errorf("exit status %d: %s", code, stderr)
		}
		return nil
	})
}
