package recommender

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/plimsoll-dev/plimsoll/internal/dev/test/integration/harness"
	"github.com/plimsoll-dev/plimsoll/internal/dev/test/integration/harness/parts"
)

func TestRecommendationFollowsLoad(t *testing.T) {
	t.Parallel()
	s := namespace(t)
	s.Create(harness.Workload{Replicas: ptr.To[int32](2)}.Deployment(), harness.Workload{}.Service(20))
	began := time.Now()
	autoscaler(s, "web", "web", "")
	awaitCPU(s, "web", 90, 160) // 10 requests/s for each pod at 10m, and the margin
	t.Logf("the first recommendation after %.1f s", time.Since(began).Seconds())
	awaitCondition(s, "web", "RecommendationProvided", "")
	awaitCondition(s, "web", "LowConfidence", "app")

	began = time.Now()
	s.SetLoad("web", 100)
	awaitCPU(s, "web", 450, 800)
	t.Logf("five times the load is recommended for after %.1f s", time.Since(began).Seconds())
	out := s.Kubectl("get", "vpa", "web")
	t.Logf("%s", out)
	if !strings.Contains(out, "True") {
		t.Errorf("kubectl prints\n%s", out)
	}
}

func TestHistorySurvivesARestart(t *testing.T) {
	t.Parallel()
	s := namespace(t)
	s.Create(harness.Workload{}.Deployment(), harness.Workload{}.Service(30))
	own := startOwn(t, s)
	autoscaler(s, "web", "web", ownRecommender(s))
	awaitCPU(s, "web", 270, 450)
	s.Holds(20*time.Second, "the recommendation", func(ctx context.Context) error {
		cpu, _, err := target(ctx, s, "web")
		if err == nil && (cpu < 250 || cpu > 450) {
			err = fmt.Errorf("%dm", cpu)
		}
		return err
	})
	own.Stop()
	saved, err := checkpoint(t.Context(), s, "web")
	if err != nil {
		t.Fatalf("after the end of the process: %v", err)
	}
	samples := saved.Status.TotalSamplesCount
	if samples < 2 || saved.Status.Version != "v3" || saved.Annotations["plimsoll.dev/open-windows"] == "" {
		t.Errorf("the checkpoint is %+v, %v", saved.Status, saved.Annotations)
	}
	s.SetLoad("web", 0)
	own = startOwn(t, s)
	s.Holds(20*time.Second, "the recommendation of before", func(ctx context.Context) error {
		cpu, _, err := target(ctx, s, "web")
		if err == nil && (cpu < 250 || cpu > 450) {
			err = fmt.Errorf("%dm", cpu)
		}
		return err
	})
	own.Stop()
	saved, err = checkpoint(t.Context(), s, "web")
	if err != nil || saved.Status.TotalSamplesCount <= samples {
		t.Errorf("the next process counted on from %d: %v, %v", samples, saved, err)
	}
}

// A checkpoint as upstream's recommender left it, eight days of a container that used 1 core and 2 GB.
func TestCheckpointOfUpstreamIsTakenOver(t *testing.T) {
	t.Parallel()
	s := namespace(t)
	s.Create(harness.Workload{}.Deployment(), harness.Workload{}.Service(1))
	s.Create(harness.Workload{Name: "damaged"}.Deployment(), harness.Workload{Name: "damaged"}.Service(10))
	damage(s)
	autoscaler(s, "web", "web", ownRecommender(s)+"  updatePolicy: {updateMode: \"Off\"}\n")
	now := time.Now().UTC()
	s.KubectlInput(fmt.Sprintf(`
apiVersion: autoscaling.k8s.io/v1
kind: VerticalPodAutoscalerCheckpoint
metadata:
  name: web-app
spec: {vpaObjectName: web, containerName: app}
status:
  version: v3
  lastUpdateTime: %[1]q
  firstSampleStart: %[2]q
  lastSampleStart: %[1]q
  totalSamplesCount: 11520
  cpuHistogram:
    referenceTimestamp: %[3]q
    bucketWeights: {"35": 4000, "36": 10000}
    totalWeight: 2000
  memoryHistogram:
    referenceTimestamp: %[3]q
    bucketWeights: {"50": 10000}
    totalWeight: 12
`, now.Format(time.RFC3339), now.Add(-8*24*time.Hour).Format(time.RFC3339), now.Truncate(24*time.Hour).Format(time.RFC3339)), "apply", "-f", "-")
	startOwn(t, s)
	// Bucket 36 ends at 0.01*(1.05^37-1)/0.05 cores, bucket 50 at 1e7*(1.05^51-1)/0.05 bytes; and the margin.
	awaitCPU(s, "web", 1160, 1180)
	_, memory, err := target(t.Context(), s, "web")
	if err != nil || memory < 2_500_000_000 || memory > 2_600_000_000 {
		t.Errorf("memory is %d, %v", memory, err)
	}
	object, err := get(t.Context(), s, "web")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range object.Status.Conditions {
		if c.Type == "LowConfidence" {
			t.Errorf("eight days are little history: %v", c)
		}
	}
	awaitCondition(s, "damaged", "DamagedCheckpoint", "app")
	awaitEvent(s, "damaged", "DamagedCheckpoint")
	awaitCPU(s, "damaged", 90, 160) // It begins anew.
}

// damage leaves an object with a checkpoint that cannot be: fewer samples than none, a weight without a time.
func damage(s *harness.Namespace) {
	autoscaler(s, "damaged", "damaged", ownRecommender(s))
	s.KubectlInput(`
apiVersion: autoscaling.k8s.io/v1
kind: VerticalPodAutoscalerCheckpoint
metadata: {name: damaged-app}
spec: {vpaObjectName: damaged, containerName: app}
status: {version: v3, totalSamplesCount: -5, cpuHistogram: {bucketWeights: {"35": 4000}, totalWeight: 2000}}
`, "apply", "-f", "-")
}

func TestBadObjects(t *testing.T) {
	t.Parallel()
	s := namespace(t)
	// The API server itself keeps an object without a target out.
	_, err := s.Cluster.KubectlInput(t.Context(), `
apiVersion: autoscaling.k8s.io/v1
kind: VerticalPodAutoscaler
metadata: {name: aimless}
spec: {updatePolicy: {updateMode: "Off"}}
`, "--namespace="+s.Name, "apply", "-f", "-")
	if err == nil || !strings.Contains(err.Error(), "spec.targetRef") {
		t.Errorf("an object without a target: %v", err)
	}
	s.Create(harness.Workload{}.Deployment(), harness.Workload{}.Service(10))
	s.Create(harness.Workload{Name: "twin"}.Deployment())
	autoscaler(s, "gone", "gone", "")
	s.KubectlInput(`
apiVersion: autoscaling.k8s.io/v1
kind: VerticalPodAutoscaler
metadata: {name: strange}
spec:
  targetRef: {apiVersion: example.com/v1, kind: Sculpture, name: david}
`, "apply", "-f", "-")
	autoscaler(s, "first", "twin", "")
	autoscaler(s, "second", "twin", "")
	autoscaler(s, "narrow", "web", "  updatePolicy: {updateMode: \"Off\"}\n"+
		"  resourcePolicy: {containerPolicies: [{containerName: app, minAllowed: {cpu: 2}, maxAllowed: {cpu: 1}}]}\n")
	s.Create(harness.Workload{Name: "child"}.Deployment())
	var sets *appsv1.ReplicaSetList
	s.Eventually("a ReplicaSet", func(ctx context.Context) error {
		if sets, err = s.Client.AppsV1().ReplicaSets(s.Name).List(ctx,
			metav1.ListOptions{LabelSelector: "app=child"}); err == nil && len(sets.Items) != 1 {
			err = errors.New("there is none")
		}
		return err
	})
	s.KubectlInput(fmt.Sprintf(`
apiVersion: autoscaling.k8s.io/v1
kind: VerticalPodAutoscaler
metadata: {name: below}
spec:
  targetRef: {apiVersion: apps/v1, kind: ReplicaSet, name: %s}
`, sets.Items[0].Name), "apply", "-f", "-")
	autoscaler(s, "web", "web", "")

	for name, want := range map[string][2]string{
		"gone":    {"ConfigUnsupported", "Cannot read targetRef. Reason: Deployment " + s.Name + "/gone does not exist"},
		"strange": {"ConfigUnsupported", "unhandled targetRef example.com/v1 / Sculpture / david"},
		"below":   {"ConfigUnsupported", "has a parent controller"},
		"first":   {"TargetShared", "first applies to its pods"},
		"second":  {"TargetShared", "first applies to its pods"},
		"narrow":  {"ConfigInvalid", "max"},
	} {
		awaitCondition(s, name, want[0], want[1])
		awaitEvent(s, name, want[0])
	}
	awaitCPU(s, "web", 90, 160)
}

// awaitEvent waits for an event about an object.
func awaitEvent(s *harness.Namespace, name, reason string) {
	s.Eventually(name+" has an event of "+reason, func(ctx context.Context) error {
		events, err := s.Client.CoreV1().Events(s.Name).List(ctx, metav1.ListOptions{
			FieldSelector: "involvedObject.kind=VerticalPodAutoscaler,involvedObject.name=" + name,
		})
		if err != nil {
			return err
		}
		for i := range events.Items {
			if events.Items[i].Reason == reason && events.Items[i].Source.Component == "vpa-recommender" {
				return nil
			}
		}
		return fmt.Errorf("there are %d others", len(events.Items))
	})
}

// The kubelet's report of a container that ran out of memory is enough.
func TestOutOfMemoryIsRecommendedForAtOnce(t *testing.T) {
	t.Parallel()
	s := namespace(t)
	container := harness.Container("app", "100m", "300Mi")
	s.Create(harness.Workload{Containers: []corev1.Container{container}}.Deployment())
	autoscaler(s, "web", "web", "")
	var pod *corev1.Pod
	s.Eventually("a pod that is ready", func(ctx context.Context) error {
		pods, err := s.Client.CoreV1().Pods(s.Name).List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		if len(pods.Items) != 1 || len(pods.Items[0].Status.ContainerStatuses) != 1 ||
			!pods.Items[0].Status.ContainerStatuses[0].Ready {
			return fmt.Errorf("there are %d", len(pods.Items))
		}
		pod = &pods.Items[0]
		return nil
	})
	ended := metav1.Now()
	patch := fmt.Sprintf(
		`{"status":{"containerStatuses":[{"name":"app","image":"x","imageID":"x","restartCount":1,"ready":true,`+
			`"lastState":{"terminated":{"reason":"OOMKilled","exitCode":137,"startedAt":%q,"finishedAt":%q}}}]}}`,
		ended.Add(-time.Second).UTC().Format(time.RFC3339), ended.UTC().Format(time.RFC3339))
	_, err := s.Client.CoreV1().Pods(s.Name).Patch(t.Context(), pod.Name, types.StrategicMergePatchType, []byte(patch),
		metav1.PatchOptions{}, "status")
	if err != nil {
		t.Fatal(err)
	}
	s.Eventually("100Mi more, and the margin", func(ctx context.Context) error {
		_, memory, err := target(ctx, s, "web")
		if least := int64(400 << 20 * 115 / 100); err == nil && memory < least {
			err = fmt.Errorf("%d bytes, want %d", memory, least)
		}
		return err
	})
	t.Logf("recommended %.1f s after it", time.Since(ended.Time).Seconds())
}

// The recommender runs in a process of its own, with upstream's flags and probe.
func TestAlone(t *testing.T) {
	t.Parallel()
	s := namespace(t)
	s.Create(harness.Workload{}.Deployment(), harness.Workload{}.Service(20))
	binary, err := parts.Program(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	address := parts.FreeAddress(t)
	health := func(ctx context.Context) error { return parts.Answers(ctx, "http://"+address+"/health-check") }
	alone, err := s.Cluster.StartProgram(t.Context(), "plimsoll-recommender", []string{
		binary, "controller", "--components=recommender", "--kubeconfig=" + installation.plimsoll.Kubeconfig(),
		"--address=" + address, "--leader-elect=false", "--health-probe-bind-address=0", "--inspection-bind-address=0",
		"--recommender-name=alone",
		"--recommender-interval=3s", "--v=4", "--stderrthreshold=info", "--pod-recommendation-min-cpu-millicores=1",
		"--kube-api-qps=200",
		"--kube-api-burst=250", "--memory-saver=true", "--vpa-object-namespace=" + s.Name,
		"--kubelet-preferred-address-types=InternalIP",
	}, health)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { alone.Stop(context.WithoutCancel(t.Context())) })
	autoscaler(s, "web", "web", "  recommenders: [{name: alone}]\n")
	awaitCPU(s, "web", 180, 300)
	response, err := http.Get("http://" + address + "/metrics") //nolint:noctx // the test's own
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	for _, series := range []string{"vpa_recommender_vpa_objects_count{",
		"vpa_recommender_execution_latency_seconds_count{step=\"total\"}"} {
		if !strings.Contains(string(text), series) {
			t.Errorf("/metrics lacks %s", series)
		}
	}
}

// A custom kind is a target, if its scale has a selector.
func TestCustomTarget(t *testing.T) {
	t.Parallel()
	s := namespace(t)
	s.Create(harness.Workload{}.Deployment(), harness.Workload{}.Service(20))
	s.KubectlInput(`
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: fleets.harbour.example}
spec:
  group: harbour.example
  scope: Namespaced
  names: {kind: Fleet, plural: fleets, singular: fleet}
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
    subresources:
      status: {}
      scale: {specReplicasPath: .spec.replicas, statusReplicasPath: .status.replicas, labelSelectorPath: .status.selector}
`, "apply", "-f", "-")
	s.Kubectl("wait", "--for=condition=Established", "--timeout=60s", "crd/fleets.harbour.example")
	s.KubectlInput("{apiVersion: harbour.example/v1, kind: Fleet, metadata: {name: north}, spec: {replicas: 1}}", "apply",
		"-f", "-")
	s.KubectlInput(`
apiVersion: autoscaling.k8s.io/v1
kind: VerticalPodAutoscaler
metadata: {name: north}
spec:
  targetRef: {apiVersion: harbour.example/v1, kind: Fleet, name: north}
`, "apply", "-f", "-")
	awaitCondition(s, "north", "ConfigUnsupported", "has an empty selector for scale sub-resource")
	s.Kubectl("patch", "fleet", "north", "--subresource=status", "--type=merge",
		`--patch={"status":{"replicas":1,"selector":"app=web"}}`)
	awaitCPU(s, "north", 180, 300)
}
