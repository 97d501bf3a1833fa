package scaling

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/plimsoll-dev/plimsoll/internal/dev/test/integration/harness"
)

// The walk through kubectl of the documentation: autoscale, get, describe, delete.
func TestKubectlAutoscaleGetDescribeDelete(t *testing.T) {
	t.Parallel()
	s := shared.Namespace(t)
	web := harness.Workload{}
	s.Create(web.Deployment(), web.Service(0))
	wantOutput(t, s.Kubectl("autoscale", "deployment", "web", "--cpu=50%", "--min=1", "--max=10"),
		"horizontalpodautoscaler.autoscaling/web autoscaled")
	awaitTargets(s, "cpu: 0%/50%", "1")

	s.SetLoad("web", 17.5) // 175m over 50 % of 100m
	s.AwaitReplicas(harness.Deployment, "web", 4)
	awaitTargets(s, `cpu: 4[34]%/50%`, "4")

	// events are written one after the other, later than the status
	s.AwaitEvent("web", "SuccessfulRescale", "New size: 4")

	description := s.Kubectl("describe", "hpa", "web")
	for _, want := range []string{
		`Reference: +Deployment/web\n`,
		`Metrics: +\( current / target \)\n +resource cpu on pods +\(as a percentage of request\): +4[34]% \(4[34]m\) / 50%\n`,
		`Min replicas: +1\n`,
		`Max replicas: +10\n`,
		`Deployment pods: +4 current / 4 desired\n`,
		`AbleToScale +True +\w+ `,
		`ScalingActive +True +ValidMetricFound +the HPA was able to successfully calculate a replica count from ` +
			`cpu resource utilization \(percentage of request\)\n`,
		`ScalingLimited +False +DesiredWithinRange +the desired count is within the acceptable range\n`,
		`Normal +SuccessfulRescale +\S+( \(x\d+ over \S+\))? +horizontal-pod-autoscaler +New size: 4; reason: ` +
			`cpu resource utilization \(percentage of request\) above target\n`,
	} {
		if !regexp.MustCompile(want).MatchString(description) {
			t.Errorf("describe does not show %s:\n%s", want, description)
		}
	}

	wantOutput(t, s.Kubectl("delete", "hpa", "web"),
		fmt.Sprintf("horizontalpodautoscaler.autoscaling %q deleted from %s namespace", "web", s.Name))
	if got := s.Replicas(harness.Deployment, "web"); got != 4 {
		t.Errorf("the deleted autoscaler left %d replicas, want 4", got)
	}
	s.SetLoad("web", 60)
	s.HoldsReplicas(patience, harness.Deployment, "web", 4)
}

func wantOutput(t *testing.T, got, want string) {
	t.Helper()
	if strings.TrimSpace(got) != want {
		t.Errorf("kubectl says %q, want %q", got, want)
	}
}

// awaitTargets waits for a row of `kubectl get hpa` with these targets, a regular expression, and replicas.
func awaitTargets(s *harness.Namespace, targets, replicas string) {
	row := regexp.MustCompile(`^web +Deployment/web +` + targets + ` +1 +10 +` + replicas + ` +\S+\n$`)
	header := regexp.MustCompile(`^NAME +REFERENCE +TARGETS +MINPODS +MAXPODS +REPLICAS +AGE\n`)
	s.Eventually("targets "+targets+" in kubectl get hpa", func(ctx context.Context) error {
		out, err := s.Cluster.Kubectl(ctx, "--namespace="+s.Name, "get", "hpa")
		if err != nil {
			return err
		}
		head := header.FindString(out)
		if head == "" || !row.MatchString(out[len(head):]) {
			return fmt.Errorf("%s", out)
		}
		return nil
	})
}
