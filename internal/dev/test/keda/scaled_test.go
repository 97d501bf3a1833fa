//go:build keda

package keda

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"testing"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/utils/ptr"

	"github.com/plimsoll-dev/plimsoll/internal/dev/test/integration/harness"
	"github.com/plimsoll-dev/plimsoll/internal/dev/test/integration/harness/workloads"
)

var scaledObjects = schema.GroupVersionResource{Group: "keda.sh", Version: "v1alpha1", Resource: "scaledobjects"}

// perReplica is the queue length per replica.
const perReplica = 10

// The kinds of triggers that are tested. A Deployment, its ScaledObject and its queue have the name of the kind.
const (
	byCron       = "cron"
	byPrometheus = "prometheus"
	byScaler     = "external"
	byPush       = "external-push"
)

// scaled is a namespace with ScaledObjects.
type scaled struct {
	*workloads.Autoscalers

	t       *testing.T
	client  dynamic.ResourceInterface
	changes map[string]*harness.Changes
	// backups is the folder for the manifests.
	backups string
}

// newScaled makes a Deployment with a ScaledObject of each kind, which begin with one replica wanted. A minimum of 0 is
// for kinds that KEDA can scale to zero.
func newScaled(t *testing.T, minimum int, kinds ...string) *scaled {
	t.Helper()
	s := &scaled{
		Autoscalers: workloads.Of(t, namespace(t)), t: t, changes: map[string]*harness.Changes{}, backups: t.TempDir(),
	}
	config := s.Cluster.RESTConfig()
	config.QPS = -1
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	s.client = client.Resource(scaledObjects).Namespace(s.Name)
	for _, kind := range kinds {
		s.Create(harness.Workload{Name: kind, Replicas: ptr.To[int32](1)}.Deployment())
		load.set(s.queue(kind), perReplica*0.9)
		s.changes[kind] = s.WatchChanges(kind)
		object := s.object(kind, minimum)
		s.Eventually("a ScaledObject", func(ctx context.Context) error {
			_, err := s.client.Create(ctx, object.DeepCopy(), metav1.CreateOptions{})
			return err
		})
	}
	for _, kind := range kinds {
		s.awaitHPA(kind, 1)
	}
	return s
}

// queue is the name of a kind's queue: the servers are those of all tests.
func (s *scaled) queue(kind string) string { return s.Name + "_" + kind }

func (s *scaled) object(kind string, minimum int) *unstructured.Unstructured {
	metadata := map[string]any{}
	switch kind {
	case byPrometheus:
		metadata["serverAddress"], metadata["query"] = load.prometheus, s.queue(kind)
		metadata["threshold"] = fmt.Sprint(perReplica)
	case byScaler, byPush:
		metadata["scalerAddress"], metadata[queueKey] = load.scaler, s.queue(kind)
	}
	triggers := []any{map[string]any{"type": kind, "metadata": metadata}}
	if kind == byCron {
		triggers = crons(1)
	}
	object := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "keda.sh/v1alpha1", "kind": "ScaledObject", "metadata": map[string]any{"name": kind},
		"spec": map[string]any{
			"scaleTargetRef": map[string]any{"name": kind}, "triggers": triggers,
			"minReplicaCount": int64(minimum), "maxReplicaCount": int64(20),
			"pollingInterval": int64(2), "cooldownPeriod": int64(5),
			"advanced": map[string]any{"horizontalPodAutoscalerConfig": map[string]any{"behavior": map[string]any{
				"scaleDown": map[string]any{"stabilizationWindowSeconds": int64(0), "policies": []any{
					map[string]any{"type": "Percent", "value": int64(100), "periodSeconds": int64(15)}}},
				"scaleUp": map[string]any{"stabilizationWindowSeconds": int64(0), "policies": []any{
					map[string]any{"type": "Pods", "value": int64(20), "periodSeconds": int64(15)}}},
			}}},
		},
	}}
	return object
}

// crons are two triggers, one of which is active at any time.
func crons(replicas int) []any {
	of := func(start, end string) any {
		return map[string]any{"type": byCron, "metadata": map[string]any{
			"timezone": "Etc/UTC", "start": start, "end": end, "desiredReplicas": fmt.Sprint(replicas)}}
	}
	return []any{of("0 * * * *", "59 * * * *"), of("30 * * * *", "29 * * * *")}
}

// want sets the wanted replicas.
func (s *scaled) want(kind string, replicas int) {
	s.t.Helper()
	if kind != byCron {
		// Between two multiples of the target, so that jitter changes nothing.
		load.set(s.queue(kind), perReplica*(float64(replicas)-0.1))
		return
	}
	patch, err := json.Marshal(map[string]any{"spec": map[string]any{"triggers": crons(replicas)}})
	if err == nil {
		_, err = s.client.Patch(s.t.Context(), kind, types.MergePatchType, patch, metav1.PatchOptions{})
	}
	if err != nil {
		s.t.Fatal(err)
	}
}

func hpaOf(kind string) string { return "keda-hpa-" + kind }

// awaitHPA waits until the HPA that KEDA made has this count.
func (s *scaled) awaitHPA(kind string, replicas int32) {
	s.t.Helper()
	s.AwaitHPA(hpaOf(kind), fmt.Sprintf("%d replicas", replicas), func(hpa *autoscalingv2.HorizontalPodAutoscaler) error {
		if hpa.Status.DesiredReplicas != replicas {
			return fmt.Errorf("%d wanted", hpa.Status.DesiredReplicas)
		}
		return nil
	})
}

// served is the value in KEDA's metrics server for the first trigger of a kind's ScaledObject.
func (s *scaled) served(kind string) (string, error) {
	object, err := s.client.Get(s.t.Context(), kind, metav1.GetOptions{})
	if err != nil {
		return "", err
	}
	names, _, err := unstructured.NestedStringSlice(object.Object, "status", "externalMetricNames")
	if err != nil || len(names) == 0 {
		return "", fmt.Errorf("the ScaledObject has the metrics %v: %w", names, err)
	}
	raw, err := s.Client.AutoscalingV2().RESTClient().Get().AbsPath(
		"/apis/"+externalMetrics+"/v1beta1/namespaces/"+s.Name+"/"+names[0]).
		Param("labelSelector", "scaledobject.keda.sh/name="+kind).DoRaw(s.t.Context())
	if err != nil {
		return "", err
	}
	var list struct{ Items []struct{ Value string } }
	if err := json.Unmarshal(raw, &list); err != nil || len(list.Items) != 1 {
		return "", fmt.Errorf("%s: %w", raw, err)
	}
	return list.Items[0].Value, nil
}

// awaitServed waits until KEDA serves this value.
func (s *scaled) awaitServed(kind, value string) {
	s.t.Helper()
	s.Eventually(fmt.Sprintf("%s of %s from KEDA", value, kind), func(context.Context) error {
		got, err := s.served(kind)
		if err == nil && got != value {
			err = fmt.Errorf("%s is served", got)
		}
		return err
	})
}

// migrate runs plimsoll migrate scaledobject.
func (s *scaled) migrate(args ...string) (stdout, stderr string, err error) {
	s.t.Helper()
	cmd := exec.CommandContext(s.t.Context(), program.Binary(),
		append([]string{"migrate", "-n", s.Name, "scaledobject"}, args...)...)
	cmd.Env, cmd.Dir = s.Cluster.Env(), s.backups
	var out, problems bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &problems
	err = cmd.Run()
	return out.String(), problems.String(), err
}

// explain returns the output of plimsoll explain about a WorkloadAutoscaler.
func (s *scaled) explain(kind string) string {
	s.t.Helper()
	cmd := exec.CommandContext(s.t.Context(), program.Binary(), "explain", "wla/"+kind, "-n", s.Name,
		"--controller-address="+program.Inspection(), "--verbose")
	cmd.Env = s.Cluster.Env()
	out, err := cmd.CombinedOutput()
	if err != nil {
		s.t.Fatalf("explain %s: %v\n%s", kind, err, out)
	}
	return string(out)
}
