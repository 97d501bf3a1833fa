package scaling

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	plimsollv1alpha1 "github.com/plimsoll-dev/plimsoll/api/plimsoll/v1alpha1"
	"github.com/plimsoll-dev/plimsoll/internal/dev/test/integration/harness"
)

// example is a file of docs/gitops.
func example(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile("../../../../../../docs/gitops/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// withReplicas is the example's Deployment with a count of 2 in the manifest.
func withReplicas(t *testing.T) string {
	t.Helper()
	manifest := strings.Replace(example(t, "deployment.yaml"), "spec:\n", "spec:\n  replicas: 2\n", 1)
	if !strings.Contains(manifest, "\n  replicas: 2\n") {
		t.Fatalf("no count in\n%s", manifest)
	}
	return manifest
}

// serverSide returns the arguments with which Argo CD and Flux apply manifests: server-side, under one name, and taking
// fields from others.
func serverSide(manager string, more ...string) []string {
	return append([]string{"apply", "--server-side", "--field-manager=" + manager, "-f", "-"}, more...)
}

const (
	worker = "worker"
	forced = "--force-conflicts"
)

// scaledToFour applies a Deployment and the example's WorkloadAutoscaler, and waits until it has scaled.
func scaledToFour(t *testing.T, deployment, manager string) *objects {
	t.Helper()
	o := objectsOf(t)
	o.Create(harness.Queue("jobs", 35))
	o.KubectlInput(deployment, serverSide(manager, forced)...)
	o.KubectlInput(example(t, "workloadautoscaler.yaml"), serverSide(manager, forced)...)
	o.AwaitReplicas(harness.Deployment, worker, 4)
	return o
}

// The manifests of docs/gitops.md can be applied again and again while Plimsoll scales, with a new image too. No apply
// changes the count. As no manifest ever had it, the API server records no owner of it.
func TestApplyingTheExamplesLeavesTheCount(t *testing.T) {
	t.Parallel()
	for _, manager := range []string{"argocd-controller", "kustomize-controller"} {
		t.Run(manager, func(t *testing.T) {
			t.Parallel()
			o := scaledToFour(t, example(t, "deployment.yaml"), manager)
			changes := o.WatchChanges(worker)
			for i, length := range []int{35, 55, 75} {
				image := fmt.Sprintf("worker:%d", i+2)
				o.SetQueue("jobs", length)
				o.KubectlInput(strings.Replace(example(t, "deployment.yaml"), "worker:1", image, 1), serverSide(manager, forced)...)
				o.KubectlInput(example(t, "workloadautoscaler.yaml"), serverSide(manager, forced)...)
				o.AwaitReplicas(harness.Deployment, worker, int64(length+9)/10)
				o.KubectlInput(example(t, "deployment.yaml"), serverSide(manager, forced)...)
			}
			o.HoldsReplicas(3*time.Second, harness.Deployment, worker, 8)
			all := changes.All()
			for _, change := range all {
				if change.By == manager || change.To < change.From {
					t.Errorf("%s changed the count from %d to %d", change.By, change.From, change.To)
				}
			}
			if len(all) == 0 {
				t.Error("nothing scaled")
			}
		})
	}
}

// With a count in the manifest an apply is refused, and one that takes fields resets the count, which Plimsoll repairs.
// Once the count has been taken out of the manifest, it stays.
func TestReplicasInTheManifest(t *testing.T) {
	t.Parallel()
	o := scaledToFour(t, withReplicas(t), "argocd-controller")
	changes := o.WatchChanges(worker)
	_, err := o.Cluster.KubectlInput(t.Context(), withReplicas(t),
		append([]string{"--namespace=" + o.Name}, serverSide("argocd-controller")...)...)
	if err == nil || !strings.Contains(err.Error(), `conflict with "plimsoll"`) ||
		!strings.Contains(err.Error(), ".spec.replicas") {
		t.Errorf("applying 2 replicas: %v, want a conflict with Plimsoll over .spec.replicas", err)
	}
	o.KubectlInput(withReplicas(t), serverSide("argocd-controller", forced)...)
	o.Eventually("the count is repaired", func(context.Context) error {
		want := []harness.Change{{From: 4, To: 2, By: "argocd-controller"}, {From: 2, To: 4, By: plimsoll}}
		if all := changes.All(); !slices.Equal(all, want) {
			return fmt.Errorf("%v, want %v", all, want)
		}
		return nil
	})
	o.KubectlInput(example(t, "deployment.yaml"), serverSide("argocd-controller", forced)...)
	o.HoldsReplicas(3*time.Second, harness.Deployment, worker, 4)
}

// A mode that the manifest does not have survives an apply.
func TestPauseSurvivesAnApply(t *testing.T) {
	t.Parallel()
	o := scaledToFour(t, example(t, "deployment.yaml"), "argocd-controller")
	o.Kubectl("patch", "wla", worker, "--type=merge", "-p", `{"spec":{"mode":"Paused"}}`)
	o.KubectlInput(example(t, "workloadautoscaler.yaml"), serverSide("argocd-controller", forced)...)
	mode := o.Kubectl("get", "wla", worker, "-o", "jsonpath={.spec.mode}")
	if mode != string(plimsollv1alpha1.ModePaused) {
		t.Errorf("mode %s after an apply", mode)
	}
}

// An HPA that a repository still has comes back: the WorkloadAutoscaler stops acting and names it, and continues when
// it is pruned.
func TestHPAComesBack(t *testing.T) {
	t.Parallel()
	o := scaledToFour(t, example(t, "deployment.yaml"), "argocd-controller")
	hpa := queue("5")
	hpa.Name, hpa.Spec.ScaleTargetRef.Name = worker, worker
	o.Create(hpa)
	o.awaitCondition(worker, "AbleToScale", metav1.ConditionFalse, "TargetHasAnotherAutoscaler")
	o.awaitOwnEvent(worker, "HorizontalPodAutoscaler")
	o.AwaitReplicas(harness.Deployment, worker, 7)
	err := o.Client.AutoscalingV2().HorizontalPodAutoscalers(o.Name).Delete(t.Context(), worker, metav1.DeleteOptions{})
	if err != nil {
		t.Fatal(err)
	}
	o.awaitCondition(worker, "AbleToScale", metav1.ConditionTrue, "")
	o.SetQueue("jobs", 85)
	o.AwaitReplicas(harness.Deployment, worker, 9)
}

// A GitOps tool and a person apply one object, a metric each. Both count, an apply of the one leaves what the other has,
// and neither takes the other's metric by mistake.
func TestTwoManagersOfMetricsByKubectl(t *testing.T) {
	t.Parallel()
	o := scaledToFour(t, example(t, "deployment.yaml"), "kustomize-controller")
	const manifest = "apiVersion: plimsoll.dev/v1alpha1\nkind: WorkloadAutoscaler\nmetadata: {name: worker}\n" +
		"spec:\n  metrics:\n"
	mails := manifest + "  - {name: mails, type: External, external: {metric: {name: queue_length, selector: " +
		"{matchLabels: {service: jobs}}}, target: {type: AverageValue, averageValue: 5}}}\n"
	o.KubectlInput(mails, serverSide("person")...)
	o.AwaitReplicas(harness.Deployment, worker, 7)
	o.KubectlInput(example(t, "workloadautoscaler.yaml"), serverSide("kustomize-controller", forced)...)
	names := o.Kubectl("get", "wla", worker, "-o", "jsonpath={.spec.metrics[*].name} {.status.metrics[*].name}")
	if names != "queue-length mails queue-length mails" {
		t.Errorf("the metrics are %s", names)
	}
	_, err := o.Cluster.KubectlInput(t.Context(), strings.Replace(mails, "{name: mails,", "{name: queue-length,", 1),
		append([]string{"--namespace=" + o.Name}, serverSide("person")...)...)
	if err == nil || !strings.Contains(err.Error(), `conflict with "kustomize-controller"`) ||
		!strings.Contains(err.Error(), `.spec.metrics[name="queue-length"]`) {
		t.Errorf("applying the other's metric: %v", err)
	}
	o.KubectlInput(strings.Replace(manifest, "metrics:\n", "metrics: []\n", 1), serverSide("person")...)
	if names = o.Kubectl("get", "wla", worker, "-o", "jsonpath={.spec.metrics[*].name}"); names != "queue-length" {
		t.Errorf("without the person's metric there are %s", names)
	}
}

// pages are metrics on so many pages of each pod. The API server accepts any number, the controller ten.
func pages(n int) []string {
	all := make([]string, n)
	for i := range all {
		all[i] = fmt.Sprintf(`{"name":"page-%d","type":"PodEndpoint","podEndpoint":{"port":%d,"valueType":"Gauge",`+
			`"metric":{"name":"m"},"target":{"type":"AverageValue","averageValue":"1"}}}`, i, 8000+i)
	}
	return all
}

// kubectl wait uses the conditions that summarize the others: Ready, and Stalled while only an edit helps.
func TestKubectlWaits(t *testing.T) {
	t.Parallel()
	o := objectsOf(t)
	o.Create(harness.Queue("jobs", 35))
	o.KubectlInput(example(t, "workloadautoscaler.yaml"), serverSide("argocd-controller")...)
	waits := func(condition string) {
		t.Helper()
		o.Kubectl("wait", "wla/"+worker, "--for=condition="+condition, "--timeout=60s")
	}
	waits("Ready=false") // there is no Deployment
	o.KubectlInput(example(t, "deployment.yaml"), serverSide("argocd-controller")...)
	waits("Ready")
	o.AwaitReplicas(harness.Deployment, worker, 4)
	metrics := o.Kubectl("get", "wla", worker, "-o", "jsonpath={.spec.metrics}")
	o.patch(worker, `{"metrics":[`+strings.Join(pages(11), ",")+`]}`)
	waits("Stalled")
	waits("Ready=false")
	o.patch(worker, `{"metrics":`+metrics+`}`)
	waits("Ready")
	if types := o.Kubectl("get", "wla", worker, "-o", "jsonpath={.status.conditions[*].type}"); strings.Contains(types,
		"Stalled") {
		t.Errorf("its conditions are %s", types)
	}
}
