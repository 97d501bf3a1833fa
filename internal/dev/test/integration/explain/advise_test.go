package explain

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plimsoll-dev/plimsoll/internal/advise/show"
	"github.com/plimsoll-dev/plimsoll/internal/dev/test/integration/harness"
)

// unwise has, in this order: no request for CPU, a single replica, a target that is not there, and a budget that
// forbids every eviction; the last HPA ignores the rule about its single replica.
const unwise = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: NAMESPACE, labels: {app: web}}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - name: app
        image: registry.example/simulated:1
        resources: {requests: {memory: 64Mi}, limits: {memory: 128Mi}}
        readinessProbe: {httpGet: {path: /ready, port: 80}}
---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: web, namespace: NAMESPACE}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}
  maxReplicas: 6
  metrics:
  - type: Resource
    resource: {name: cpu, target: {type: Utilization, averageUtilization: 60}}
---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: lost, namespace: NAMESPACE, annotations: {plimsoll.dev/ignore: single-replica}}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: wbe}
  maxReplicas: 6
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: web, namespace: NAMESPACE}
spec:
  maxUnavailable: 0
  selector: {matchLabels: {app: web}}
`

// advise runs the program as the cluster's administrator.
func advise(t *testing.T, s *harness.Namespace, args ...string) (report show.Report, code int) {
	t.Helper()
	args = append([]string{"advise", "-o", "json", "--kubeconfig=" + s.Cluster.KubeconfigPath()}, args...)
	stdout, stderr, code := shared.Plimsoll(t).Run(t, args...)
	if err := json.Unmarshal([]byte(stdout), &report); err != nil {
		t.Fatalf("exit status %d, %v: %s%s", code, err, stdout, stderr)
	}
	return report, code
}

// keys returns the rules with the objects and fields of their findings.
func keys(report show.Report) []string {
	var all []string
	for _, f := range report.Findings {
		all = append(all, strings.Join([]string{f.Rule, f.Object.Kind, f.Object.Name, f.Field}, " "))
	}
	slices.Sort(all)
	return all
}

// TestAdvisesOnClusters: the same is found on a cluster as in the files that were applied to it, and each patch is
// taken by the API server. What is only missing is found on the cluster alone: in a file's stead there may be another
// file.
func TestAdvisesOnClusters(t *testing.T) {
	t.Parallel()
	s := shared.Namespace(t)
	file := filepath.Join(t.TempDir(), "unwise.yaml")
	if err := os.WriteFile(file, []byte(strings.ReplaceAll(unwise, "NAMESPACE", s.Name)), 0o600); err != nil {
		t.Fatal(err)
	}
	s.Kubectl("apply", "-f", file)
	inFiles, code := advise(t, s, "-f", file)
	if code != 1 {
		t.Errorf("exit status %d of files with errors", code)
	}
	onCluster, code := advise(t, s, "-n", s.Name)
	if code != 1 {
		t.Errorf("exit status %d on a cluster with errors", code)
	}
	missing := "target-missing HorizontalPodAutoscaler lost spec.scaleTargetRef"
	found := keys(onCluster)
	if !slices.Contains(found, missing) {
		t.Errorf("the cluster lacks what HPA lost scales, and %v is found", found)
	}
	found = slices.DeleteFunc(found, func(key string) bool { return key == missing })
	if diff := cmp.Diff(keys(inFiles), found); diff != "" {
		t.Errorf("(-in files +on the cluster):\n%s", diff)
	}
	if inFiles.Ignored != 1 || onCluster.Ignored != 1 {
		t.Errorf("annotations ignore %d and %d findings, want one", inFiles.Ignored, onCluster.Ignored)
	}
	triesPatches(t, s, onCluster)
	if _, code := advise(t, s, "-n", s.Name, "--fail-on=never"); code != 0 {
		t.Errorf("exit status %d with --fail-on=never", code)
	}
	one, code := advise(t, s, "-n", s.Name, "--rules=single-replica")
	if got := keys(one); code != 0 || len(got) != 1 || !strings.HasPrefix(got[0], "single-replica ") {
		t.Errorf("--rules=single-replica: exit status %d, %v", code, got)
	}
}

// triesPatches sends each patch to the API server as a dry run.
func triesPatches(t *testing.T, s *harness.Namespace, on show.Report) {
	t.Helper()
	for _, f := range on.Findings {
		if f.Patch == nil || len(f.Patch.Operations) == 0 {
			continue
		}
		operations, err := json.Marshal(f.Patch.Operations)
		if err != nil {
			t.Fatal(err)
		}
		s.Kubectl("patch", f.Object.Kind, f.Object.Name, "--type=json", "--dry-run=server", "-p", string(operations))
	}
}

// TestAdviceNamesMissingRights: without the right to list autoscalers there is no advice; without another right its
// rules are left out and the right is named.
func TestAdviceNamesMissingRights(t *testing.T) {
	t.Parallel()
	s := shared.Namespace(t)
	s.KubectlInput(strings.ReplaceAll(unwise, "NAMESPACE", s.Name), "apply", "-f", "-")
	user := "--as=system:serviceaccount:" + s.Name + ":reader"
	args := []string{"advise", "-n", s.Name, user, "--kubeconfig=" + s.Cluster.KubeconfigPath()}
	_, stderr, code := shared.Plimsoll(t).Run(t, args...)
	if code == 0 || !strings.Contains(stderr, "you may not list horizontalpodautoscalers.autoscaling in namespace "+
		s.Name) {
		t.Errorf("without rights: exit status %d: %s", code, stderr)
	}
	s.Kubectl("create", "role", "reader", "--verb=list",
		"--resource=horizontalpodautoscalers.autoscaling,deployments.apps,limitranges")
	s.Kubectl("create", "rolebinding", "reader", "--role=reader", "--serviceaccount="+s.Name+":reader")
	s.Eventually("the rights given", func(context.Context) error {
		_, stderr, _ := shared.Plimsoll(t).Run(t, args...)
		if strings.Contains(stderr, "you may not list horizontalpodautoscalers") {
			return errors.New(stderr)
		}
		return nil
	})
	report, code := advise(t, s, "-n", s.Name, user)
	if found := strings.Join(keys(report), "\n"); code != 1 ||
		!strings.Contains(found, "missing-request Deployment web") || strings.Contains(found, "PodDisruptionBudget") {
		t.Errorf("exit status %d:\n%s", code, found)
	}
	for rule, why := range map[string]string{
		"budget-forbids-eviction": "you may not list poddisruptionbudgets.policy in namespace " + s.Name,
		"no-disruption-budget":    "you may not list poddisruptionbudgets.policy in namespace " + s.Name,
		"selector-matches-others": "you may not list pods in namespace " + s.Name,
		"request-far-from-usage":  "you may not list pods.metrics.k8s.io in namespace " + s.Name,
		"max-allowed-beyond-node": "you may not list ",
		"update-mode-auto":        "you may not list verticalpodautoscalers.autoscaling.k8s.io in namespace " + s.Name,
	} {
		at := slices.IndexFunc(report.Skipped, func(s show.Skipped) bool { return s.Rule == rule })
		if at < 0 || !strings.Contains(report.Skipped[at].Why, why) {
			t.Errorf("%s: not skipped because %q: %v", rule, why, report.Skipped)
		}
	}
}
