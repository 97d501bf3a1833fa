package explain

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"

	"github.com/plimsoll-dev/plimsoll/internal/dev/demo"
	"github.com/plimsoll-dev/plimsoll/internal/dev/test/integration/harness"
	explainhorizontal "github.com/plimsoll-dev/plimsoll/internal/explain/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/explain/loadreport"
)

// waiting makes an autoscaler that wants four pods and may have one more a minute, and waits until the first has come
// and the status shows it.
func waiting(t *testing.T) *harness.Namespace {
	t.Helper()
	s := shared.Namespace(t)
	hpa := harness.Autoscaler("web", harness.QueueLength("jobs", harness.AverageValue("10")))
	hpa.Spec.Behavior = &autoscalingv2.HorizontalPodAutoscalerBehavior{ScaleUp: &autoscalingv2.HPAScalingRules{
		Policies: []autoscalingv2.HPAScalingPolicy{{Type: autoscalingv2.PodsScalingPolicy, Value: 1, PeriodSeconds: 60}},
	}}
	s.Create(harness.Workload{}.Deployment(), harness.Queue("jobs", 35))
	s.Create(hpa)
	s.AwaitReplicas(harness.Deployment, "web", 2)
	s.AwaitHPA("web", "status", func(hpa *autoscalingv2.HorizontalPodAutoscaler) error {
		if hpa.Status.DesiredReplicas != 2 {
			return fmt.Errorf("%d wanted, not 2", hpa.Status.DesiredReplicas)
		}
		return nil
	})
	return s
}

// explain runs the program as the cluster's administrator.
func explain(t *testing.T, s *harness.Namespace, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	p := shared.Plimsoll(t)
	return p.Run(t, append([]string{"explain", "hpa/web", "-n", s.Name, "--kubeconfig=" + s.Cluster.KubeconfigPath()},
		args...)...)
}

// explained is an explanation with the controller's history.
func explained(t *testing.T, s *harness.Namespace) explainhorizontal.Output {
	t.Helper()
	stdout, stderr, code := explain(t, s, "-o", "json", "--sync-period=1s",
		"--controller-address="+shared.Plimsoll(t).Inspection())
	var out explainhorizontal.Output
	if err := json.Unmarshal([]byte(stdout), &out); err != nil || code != 0 {
		t.Fatalf("exit status %d, %v: %s%s", code, err, stdout, stderr)
	}
	return out
}

// TestNamesTheLimitThatTheControllerObeys: the limit that binds during a surge is
// named, with what is used up of it, and the next pod comes when it was predicted.
func TestNamesTheLimitThatTheControllerObeys(t *testing.T) {
	t.Parallel()
	s := waiting(t)
	out := explained(t, s)
	if out.LimitedBy != "scale_up_rate" || !out.KnowsHistory {
		t.Fatalf("limited by %q (history known: %t), want the scale-up rate", out.LimitedBy, out.KnowsHistory)
	}
	if len(out.RatePolicies) != 1 || out.RatePolicies[0].Start != 1 || out.RatePolicies[0].Permits != 2 {
		t.Errorf("the policies are %+v, want one that began at 1 and permits 2", out.RatePolicies)
	}
	if len(out.Steps) != 2 || out.Steps[0].Replicas != 3 || out.Steps[1].Replicas != 4 {
		t.Fatalf("predicted are %+v, want 3 and then 4", out.Steps)
	}
	s.AwaitReplicas(harness.Deployment, "web", 3)
	if late := time.Since(out.Steps[0].Time); late < -2*time.Second || late > 10*time.Second {
		t.Errorf("the third pod came %s after its predicted time", late)
	}
}

// TestText: the text begins with a sentence and the numbers that it rests on; --verbose has the metric, the limits, and
// what comes.
func TestText(t *testing.T) {
	t.Parallel()
	s := waiting(t)
	args := []string{"--sync-period=1s", "--controller-address=" + shared.Plimsoll(t).Inspection()}
	stdout, stderr, code := explain(t, s, args...)
	const sentence = "Stays at 2: queue_length asks for 4, but the policies of scaleUp permit 2; then 3 after "
	if lines := strings.Count(stdout, "\n"); code != 0 || !strings.HasPrefix(stdout, sentence) || lines > 7 {
		t.Errorf("exit status %d, %d lines: %s%s", code, lines, stdout, stderr)
	}
	stdout, stderr, code = explain(t, s, append(args, "--verbose")...)
	if code != 0 || !strings.HasPrefix(stdout, sentence) {
		t.Fatalf("exit status %d: %s%s", code, stdout, stderr)
	}
	for _, want := range []string{
		"HorizontalPodAutoscaler " + s.Name + "/web", "Deployment/web: 2 desired replicas", "proposed",
		"stabilized", "the rate policies permit 2",
		"rate policy    scaleUp 1 Pods per 60 s: permits 2, from 1 at the start of the period",
		"limited by     rate policies of scaleUp",
		"next           3 in about ", "then no further change, if the load stays", "history        read from the controller",
	} {
		if !strings.Contains(stdout, want) {
			t.Errorf("it does not say %q:\n%s", want, stdout)
		}
	}
	if strings.Contains(stdout, "\x1b[") {
		t.Error("it colours what goes into a file")
	}
}

// TestSavedIsDecidedAlike: what --save wrote is decided by evaluate as it was here.
func TestSavedIsDecidedAlike(t *testing.T) {
	t.Parallel()
	s := waiting(t)
	file := filepath.Join(t.TempDir(), "web.yaml")
	_, stderr, code := explain(t, s, "--save", file, "--controller-address="+shared.Plimsoll(t).Inspection())
	if code != 0 {
		t.Fatalf("exit status %d: %s", code, stderr)
	}
	stdout, stderr, code := shared.Plimsoll(t).Run(t, "evaluate", "-f", file, "-o", "json")
	if code != 0 || !strings.Contains(stdout, `"desiredReplicas":2,"rescale":false`) {
		t.Errorf("evaluate says %s%s", stdout, stderr)
	}
	stdout, stderr, code = shared.Plimsoll(t).Run(t, "explain", "--from", file, "--verbose")
	if code != 0 || !strings.Contains(stdout, "limited by     rate policies of scaleUp") {
		t.Errorf("explain --from says %s%s", stdout, stderr)
	}
	if raw, err := os.ReadFile(file); err != nil || !strings.Contains(string(raw), "kind: Snapshot") {
		t.Errorf("the file has %d bytes, %v", len(raw), err)
	}
}

// TestWithoutTheController: if its history cannot be read, the explanation has a note about that, and all parts that
// are certain anyway.
func TestWithoutTheController(t *testing.T) {
	t.Parallel()
	s := waiting(t)
	stdout, stderr, code := explain(t, s, "--verbose")
	if code != 0 {
		t.Fatalf("exit status %d: %s", code, stderr)
	}
	// In this cluster Plimsoll runs as no pod.
	for _, want := range []string{"history        unknown: ", "controller     plimsoll", "limits"} {
		if !strings.Contains(stdout, want) {
			t.Errorf("it does not say %q:\n%s", want, stdout)
		}
	}
}

// TestTheDemosLineFindsTheLeader: the line that make demo prints explains an HPA with its history. The controller runs
// beside the cluster, so it is found by the Lease's holder, without its address.
func TestTheDemosLineFindsTheLeader(t *testing.T) {
	t.Parallel()
	s := waiting(t)
	p := shared.Plimsoll(t)
	line, err := demo.Explain{
		Program: p.Binary(), Kubeconfig: s.Cluster.KubeconfigPath(), Namespace: s.Name, Kind: demo.HPA,
		Inspection: p.Inspection(),
	}.Line()
	if err != nil {
		t.Fatal(err)
	}
	stdout, stderr, code := harness.RunShell(t, line+" --verbose")
	if code != 0 || !strings.Contains(stdout, "history        read from the controller") {
		t.Errorf("%s: exit status %d:\n%s%s", line, code, stdout, stderr)
	}
}

// TestNamesTheMissingPermission: for a user without a permission the error names it.
func TestNamesTheMissingPermission(t *testing.T) {
	t.Parallel()
	s := waiting(t)
	stdout, stderr, code := explain(t, s, "--as=system:serviceaccount:"+s.Name+":none")
	if code == 0 || !strings.Contains(stderr, "you may not get horizontalpodautoscalers.autoscaling in namespace "+
		s.Name) {
		t.Errorf("exit status %d: %s%s", code, stdout, stderr)
	}
	s.Kubectl("create", "role", "reader", "--verb=get",
		"--resource=horizontalpodautoscalers.autoscaling,deployments.apps/scale")
	s.Kubectl("create", "rolebinding", "reader", "--role=reader", "--serviceaccount="+s.Name+":reader")
	// The API server may need a moment for the new permission.
	s.Eventually("the next missing permission", func(context.Context) error {
		_, stderr, code := explain(t, s, "--as=system:serviceaccount:"+s.Name+":reader")
		if code == 0 || !strings.Contains(stderr, "you may not list pods in namespace "+s.Name) {
			return fmt.Errorf("exit status %d: %s", code, stderr)
		}
		return nil
	})
}

// TestSaysWhatIsNotThere: a name that does not exist, and an argument that is none.
func TestSaysWhatIsNotThere(t *testing.T) {
	t.Parallel()
	s := shared.Namespace(t)
	_, stderr, code := explain(t, s)
	if code == 0 || !strings.Contains(stderr, `horizontalpodautoscalers.autoscaling "web" not found`) {
		t.Errorf("exit status %d: %s", code, stderr)
	}
	_, stderr, code = shared.Plimsoll(t).Run(t, "explain", "web")
	if code == 0 || !strings.Contains(stderr, "name the object to explain: hpa/NAME, wla/NAME or vpa/NAME") {
		t.Errorf("exit status %d: %s", code, stderr)
	}
}

// TestFindsWhatScales: a Deployment and a pod of it stand for their autoscalers, and an HPA that is gone for the
// WorkloadAutoscaler of its name.
func TestFindsWhatScales(t *testing.T) {
	t.Parallel()
	s := waiting(t)
	p := shared.Plimsoll(t)
	run := func(args ...string) (stdout, stderr string, code int) {
		return p.Run(t, append([]string{"explain", "-n", s.Name, "--kubeconfig=" + s.Cluster.KubeconfigPath(),
			"--controller-address=" + p.Inspection()}, args...)...)
	}
	pod := ""
	s.Eventually("a pod", func(context.Context) error {
		if pod = s.Kubectl("get", "pods", "-o", "name"); pod == "" {
			return errors.New("there is none")
		}
		pod, _, _ = strings.Cut(strings.TrimPrefix(pod, "pod/"), "\n")
		return nil
	})
	for _, subject := range []string{"deploy/web", "deployments.apps/web", "pod/" + pod} {
		stdout, stderr, code := run(subject)
		if code != 0 || !strings.Contains(stdout, "HorizontalPodAutoscaler "+s.Name+"/web") {
			t.Errorf("%s: exit status %d: %s%s", subject, code, stdout, stderr)
		}
	}
	_, stderr, code := run("sts/web")
	if code != 1 || !strings.Contains(stderr, `statefulsets.apps "web" not found in namespace `+s.Name) {
		t.Errorf("exit status %d: %s", code, stderr)
	}
	s.Kubectl("delete", "hpa", "web")
	s.KubectlInput(`
apiVersion: plimsoll.dev/v1alpha1
kind: WorkloadAutoscaler
metadata: {name: web}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}
  maxReplicas: 3
  metrics: [{name: cpu, type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 60}}}]
`, "apply", "-f", "-")
	s.Eventually("the successor's explanation", func(context.Context) error {
		stdout, stderr, code := run("hpa/web")
		if code != 0 || !strings.Contains(stdout, "WorkloadAutoscaler "+s.Name+"/web") ||
			!strings.Contains(stderr, "hpa/web does not exist: wla/web took over") {
			return fmt.Errorf("exit status %d: %s%s", code, stdout, stderr)
		}
		return nil
	})
}

// TestLast: the controller answers with the load that it has recorded: 3.5 pods at the target, of which the rate policy
// permitted one more.
func TestLast(t *testing.T) {
	t.Parallel()
	s := waiting(t)
	args := []string{"--last=10m", "--controller-address=" + shared.Plimsoll(t).Inspection()}
	var out loadreport.Output
	var last loadreport.OutputPoint
	// The metric may have failed at first.
	for deadline := time.Now().Add(30 * time.Second); last.Load == nil; {
		stdout, stderr, code := explain(t, s, append(args, "-o=json")...)
		if code == 0 {
			if err := json.Unmarshal([]byte(stdout), &out); err != nil {
				t.Fatal(err)
			}
		}
		if time.Now().After(deadline) {
			t.Fatalf("no load is recorded: exit status %d: %s%s", code, stdout, stderr)
		}
		if n := len(out.Points); n > 0 {
			last = out.Points[n-1]
		}
	}
	if out.Source != "Controller" || out.ResolutionSeconds != 1 || *last.Load < 3.4 || *last.Load > 3.6 ||
		*last.Wanted < 2 || last.Limit != "ScaleUpLimit" {
		t.Errorf("%+v, at last %+v", out, last)
	}
	stdout, stderr, code := explain(t, s, args...)
	if code != 0 || !strings.Contains(stdout, "  load      3.5 to 3.5 pods at the target") ||
		!strings.Contains(stdout, "history   read from the controller\n") {
		t.Errorf("exit status %d: %s%s", code, stdout, stderr)
	}
}
