package scaling

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/dev/test/integration/harness"
)

// patience is how long a count must stay: several decisions, and a scrape.
const patience = 12 * time.Second

// deployed is a manifest as people keep it; replicas is a line of spec, or nothing.
func deployed(replicas, image string) string {
	return fmt.Sprintf(`
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
spec:
%s
  selector: {matchLabels: {app: web}}
  template:
    metadata:
      labels: {app: web}
      annotations: {sim.plimsoll.dev/startup-delay: 1s}
    spec:
      containers:
      - {name: app, image: "registry.example/web:%s", resources: {requests: {cpu: 100m, memory: 64Mi}}}
`, replicas, image)
}

const twoReplicas = "  replicas: 2"

// autoscaled applies a manifest with 2 replicas in it and waits until it is autoscaled to 4.
func autoscaled(t *testing.T, apply ...string) *harness.Namespace {
	t.Helper()
	s := shared.Namespace(t)
	s.KubectlInput(deployed(twoReplicas, "1"), apply...)
	s.Create(harness.Queue("jobs", 35), harness.Autoscaler("web", harness.QueueLength("jobs", harness.AverageValue("10"))))
	s.AwaitReplicas(harness.Deployment, "web", 4)
	return s
}

var (
	clientSide = []string{"apply", "-f", "-"}
	serverSide = []string{"apply", "--server-side", "-f", "-"}
)

// The reason for all of this: applying a manifest with a count sets it, whatever the autoscaler wants.
func TestApplyingReplicasResetsTheCount(t *testing.T) {
	t.Parallel()
	s := autoscaled(t, clientSide...)
	record := s.WatchCounts("web")
	s.KubectlInput(deployed(twoReplicas, "2"), clientSide...)
	s.AwaitReplicas(harness.Deployment, "web", 4) // the autoscaler repairs it
	awaitSequence(s, record, 4, 2, 4)
}

// And the trap of the way out: just leaving the count out of the manifest makes it the default.
func TestLeavingReplicasOutOfAnAppliedManifestMakesItOne(t *testing.T) {
	t.Parallel()
	s := autoscaled(t, clientSide...)
	record := s.WatchCounts("web")
	s.KubectlInput(deployed("", "2"), clientSide...)
	awaitSequence(s, record, 4, 1, 4)
}

// The documentation's way with client-side apply: first take the count out of the last applied configuration.
func TestEditLastAppliedLeavesTheCountAlone(t *testing.T) {
	t.Parallel()
	s := autoscaled(t, clientSide...)
	record := s.WatchCounts("web")
	editLastApplied(t, s)
	if last := s.Kubectl("apply", "view-last-applied", "deployment/web"); strings.Contains(last, "replicas") {
		t.Fatalf("the last applied configuration still has replicas:\n%s", last)
	}
	s.KubectlInput(deployed("", "2"), clientSide...)
	staysAtFour(t, s, record)
}

// The documented way with server-side apply: another manager takes the field over, then the manifest drops it.
func TestHandingReplicasOverLeavesTheCountAlone(t *testing.T) {
	t.Parallel()
	s := autoscaled(t, serverSide...)
	record := s.WatchCounts("web")
	only := `{apiVersion: apps/v1, kind: Deployment, metadata: {name: web}, spec: {replicas: 4}}`
	s.KubectlInput(only, "apply", "--server-side", "--field-manager=handover-to-hpa", "--validate=false", "-f", "-")
	s.KubectlInput(deployed("", "2"), serverSide...)
	staysAtFour(t, s, record)

	// The autoscaler still may change it.
	s.SetQueue("jobs", 55)
	s.AwaitReplicas(harness.Deployment, "web", 6)
}

// Server-side apply refuses to take back a count that the autoscaler has written: the conflict of the documentation.
func TestServerSideApplyOfReplicasConflictsWithTheAutoscaler(t *testing.T) {
	t.Parallel()
	s := autoscaled(t, serverSide...)
	_, err := s.Cluster.KubectlInput(t.Context(), deployed(twoReplicas, "2"),
		append([]string{"--namespace=" + s.Name}, serverSide...)...)
	if err == nil || !strings.Contains(err.Error(), "conflict") || !strings.Contains(err.Error(), ".spec.replicas") {
		t.Errorf("applying 2 replicas: %v, want a conflict over .spec.replicas", err)
	}
	s.HoldsReplicas(3*time.Second, harness.Deployment, "web", 4)
}

// staysAtFour checks that the manifest was applied and that the count never was another.
func staysAtFour(t *testing.T, s *harness.Namespace, record *harness.Record) {
	t.Helper()
	if image := s.Kubectl("get", "deployment/web", "-o",
		"jsonpath={.spec.template.spec.containers[0].image}"); !strings.HasSuffix(image, ":2") {
		t.Fatalf("image %s: the manifest was not applied", image)
	}
	s.HoldsReplicas(patience, harness.Deployment, "web", 4)
	awaitSequence(s, record, 4)
}

// editLastApplied is `kubectl apply edit-last-applied deployment/web` that deletes the line with replicas.
func editLastApplied(t *testing.T, s *harness.Namespace) {
	t.Helper()
	editor := filepath.Join(t.TempDir(), "editor")
	if err := os.WriteFile(editor, []byte("#!/bin/sh\nsed -i '/^ *replicas:/d' \"$1\"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), harness.Long)
	defer cancel()
	cmd := exec.CommandContext(ctx, kubectlPath(t, s), "--namespace="+s.Name, "apply", "edit-last-applied",
		"deployment/web")
	cmd.Env = append(s.Cluster.Env(), "KUBE_EDITOR="+editor)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("edit-last-applied: %v: %s", err, out)
	}
}

// kubectlPath finds kubectl in the PATH of the cluster's environment.
func kubectlPath(t *testing.T, s *harness.Namespace) string {
	t.Helper()
	for _, variable := range s.Cluster.Env() {
		list, isPath := strings.CutPrefix(variable, "PATH=")
		for _, dir := range filepath.SplitList(list) {
			path := filepath.Join(dir, "kubectl")
			if _, err := os.Stat(path); isPath && err == nil {
				return path
			}
		}
	}
	t.Fatal("no kubectl in the cluster's PATH")
	return ""
}
