//go:build keda

package keda

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/utils/ptr"

	plimsollv1alpha1 "github.com/plimsoll-dev/plimsoll/api/plimsoll/v1alpha1"
	"github.com/plimsoll-dev/plimsoll/internal/dev/devcluster/build"
	"github.com/plimsoll-dev/plimsoll/internal/dev/test/integration/harness"
	"github.com/plimsoll-dev/plimsoll/internal/dev/test/integration/harness/parts"
	"github.com/plimsoll-dev/plimsoll/internal/dev/test/integration/harness/workloads"
	"github.com/plimsoll-dev/plimsoll/internal/dev/test/keda/backends"
)

// queues are the backends of the tests; nil before the first one.
var queues map[string]backends.Backend

// startBackends starts the backends, once.
func startBackends(t *testing.T, folder string) []string {
	t.Helper()
	if queues == nil {
		started, err := backends.Start(t.Context(), folder)
		if err != nil {
			t.Fatal(err)
		}
		queues = started
	}
	return slices.Sorted(maps.Keys(queues))
}

// startScalers runs plimsoll-scalers with the rights of config/scalers, until the test ends, and returns its address.
func startScalers(t *testing.T, s *harness.Namespace) string {
	t.Helper()
	built, err := build.Run(t.Context(), build.Config{Parts: []string{build.Scalers}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Cluster.KubectlInput(t.Context(), "", "apply", "-k", "../../../../config/scalers"); err != nil {
		t.Fatal(err)
	}
	kubeconfig, err := parts.ServiceAccount(s.Cluster, "plimsoll-scalers")
	if err != nil {
		t.Fatal(err)
	}
	addresses, err := parts.FreeAddresses(t.Context(), 2)
	if err != nil {
		t.Fatal(err)
	}
	const name = "plimsoll-scalers"
	running, err := s.Cluster.StartProgram(t.Context(), name, []string{
		"env", "KEDA_CLUSTER_OBJECT_NAMESPACE=plimsoll-system", filepath.Join(built.BinDir, build.Scalers), "serve",
		"--kubeconfig=" + kubeconfig, "--bind-address=" + addresses[0], "--health-probe-bind-address=" + addresses[1],
		"--socket-directory=" + t.TempDir(),
	}, func(ctx context.Context) error { return parts.Answers(ctx, "http://"+addresses[1]+"/readyz") })
	if err != nil {
		t.Fatal(err)
	}
	parts.Granted(t, s.Cluster, running, name)
	return addresses[0]
}

// authenticate makes the TriggerAuthentication of a trigger, which has the name of the queue.
func authenticate(t *testing.T, s *workloads.Autoscalers, client dynamic.Interface, queue string, secret map[string]string) {
	t.Helper()
	data, references := map[string][]byte{}, []any{}
	for key, value := range secret {
		data[key] = []byte(value)
		references = append(references, map[string]any{"parameter": key, "name": queue, "key": key})
	}
	_, err := s.Client.CoreV1().Secrets(s.Name).Create(t.Context(),
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: queue}, Data: data}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	authentications := schema.GroupVersionResource{
		Group: "keda.sh", Version: "v1alpha1", Resource: "triggerauthentications",
	}
	_, err = client.Resource(authentications).Namespace(s.Name).Create(t.Context(), &unstructured.Unstructured{
		Object: map[string]any{
			"apiVersion": "keda.sh/v1alpha1", "kind": "TriggerAuthentication", "metadata": map[string]any{"name": queue},
			"spec": map[string]any{"secretTargetRef": references},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
}

// length sets the length of a kind's queue so that this count of replicas is wanted, between two multiples of the
// target.
func (s *scaled) length(kind string, replicas int) {
	s.t.Helper()
	if err := queues[kind].Set(s.t.Context(), s.queue(kind), max(0, perReplica*replicas-1)); err != nil {
		s.t.Fatal(err)
	}
}

// newBackends makes a Deployment with a ScaledObject for each backend, which begin with one replica wanted.
func newBackends(t *testing.T) (s *scaled, kinds []string) {
	t.Helper()
	s = &scaled{
		Autoscalers: workloads.Of(t, namespace(t)), t: t, changes: map[string]*harness.Changes{}, backups: t.TempDir(),
	}
	kinds = startBackends(t, s.Cluster.Dir())
	config := s.Cluster.RESTConfig()
	config.QPS = -1
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	s.client = client.Resource(scaledObjects).Namespace(s.Name)
	for _, kind := range kinds {
		s.Create(harness.Workload{Name: kind, Replicas: ptr.To[int32](1)}.Deployment())
		s.length(kind, 1)
		s.changes[kind] = s.WatchChanges(kind)
		trigger := queues[kind].Trigger(s.queue(kind), perReplica)
		authenticate(t, s.Autoscalers, client, kind, trigger.Secret)
		metadata := map[string]any{}
		for key, value := range trigger.Metadata {
			metadata[key] = value
		}
		object := s.object(byScaler, 0)
		object.SetName(kind)
		triggers := []any{map[string]any{
			"type": trigger.Type, "metadata": metadata, "authenticationRef": map[string]any{"name": kind},
		}}
		for field, value := range map[string]any{"scaleTargetRef": map[string]any{"name": kind}, "triggers": triggers} {
			if err := unstructured.SetNestedField(object.Object, value, "spec", field); err != nil {
				t.Fatal(err)
			}
		}
		s.Eventually("a ScaledObject", func(ctx context.Context) error {
			_, err := s.client.Create(ctx, object.DeepCopy(), metav1.CreateOptions{})
			return err
		})
	}
	for _, kind := range kinds {
		s.awaitHPA(kind, 1)
	}
	return s, kinds
}

// TestMigrateScalers: ScaledObjects of six real servers are migrated under load to metrics of type Scaler. The counts
// are those of KEDA's operator before; then KEDA's operator ends, and targets go to zero and come back.
func TestMigrateScalers(t *testing.T) {
	s, kinds := newBackends(t)
	byKEDA := map[string][]time.Duration{}
	for _, n := range []int{4, 2} {
		for _, kind := range kinds {
			began := time.Now()
			s.length(kind, n)
			s.AwaitReplicas(harness.Deployment, kind, int64(n))
			byKEDA[kind] = append(byKEDA[kind], time.Since(began))
		}
	}
	s.begin("--scalers-address=" + startScalers(t, s.Namespace))
	out, stderr, err := s.migrate(append([]string{"--native"}, append(slices.Clone(kinds), "--apply", "--yes",
		"--accept-differences", "--observe=6s", "--timeout=30s")...)...)
	t.Logf("migrate:\n%s%s", stderr, out)
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range kinds {
		s.AwaitWLA(kind, "a metric of type Scaler", func(w *plimsollv1alpha1.WorkloadAutoscaler) error {
			if len(w.Spec.Metrics) != 1 || w.Spec.Metrics[0].Scaler == nil || w.Spec.Metrics[0].Scaler.Type != kind {
				return fmt.Errorf("%+v", w.Spec.Metrics)
			}
			return nil
		})
	}
	running.operator.Stop(t.Context())
	defer func() {
		if err := running.startOperator(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	}()
	for _, kind := range kinds {
		for i, n := range []int{4, 2} {
			began := time.Now()
			s.length(kind, n)
			s.AwaitReplicas(harness.Deployment, kind, int64(n))
			t.Logf("%s to %d: %s with KEDA, %s with Plimsoll", kind, n, byKEDA[kind][i].Round(10*time.Millisecond),
				time.Since(began).Round(10*time.Millisecond))
		}
		s.length(kind, 0)
	}
	for _, kind := range kinds {
		s.AwaitReplicas(harness.Deployment, kind, 0)
		s.length(kind, 3)
		s.AwaitReplicas(harness.Deployment, kind, 3)
		s.changesHands(kind, upstream, plimsoll)
		log, err := s.LogLinesOf("plimsoll-scalers", backends.Password)
		if err != nil || len(log) > 0 {
			t.Errorf("a password is in the log of plimsoll-scalers: %v, %v", log, err)
		}
	}
	s.failing(kinds)
}

// failing: a secret that is wrong fails its own metric, which says why without it; the count stays.
func (s *scaled) failing(kinds []string) {
	s.t.Helper()
	for _, kind := range kinds {
		if kind == "rabbitmq" {
			continue // An open connection needs the password no more.
		}
		secrets := s.Client.CoreV1().Secrets(s.Name)
		secret, err := secrets.Get(s.t.Context(), kind, metav1.GetOptions{})
		if err != nil {
			s.t.Fatal(err)
		}
		for key := range secret.Data {
			secret.Data[key] = []byte("wrong-" + string(secret.Data[key]))
		}
		if _, err := secrets.Update(s.t.Context(), secret, metav1.UpdateOptions{}); err != nil {
			s.t.Fatal(err)
		}
		w, err := s.WLAs.Get(s.t.Context(), kind, metav1.GetOptions{})
		if err != nil {
			s.t.Fatal(err)
		}
		// Another field makes another scaler, with the Secret as it is now.
		w.Spec.Metrics[0].Scaler.Metadata["activationListLength"] = "1"
		if _, err := s.WLAs.Update(s.t.Context(), w, metav1.UpdateOptions{}); err != nil {
			s.t.Fatal(err)
		}
		s.AwaitWLA(kind, "the failure", func(w *plimsollv1alpha1.WorkloadAutoscaler) error {
			if len(w.Status.Metrics) != 1 || w.Status.Metrics[0].Failure == nil {
				return fmt.Errorf("%+v", w.Status.Metrics)
			}
			message := w.Status.Metrics[0].Failure.Message
			if strings.Contains(message, backends.Password) {
				s.t.Errorf("%s: the password is in %q", kind, message)
			}
			s.t.Logf("%s with a wrong password: %s", kind, message)
			return nil
		})
		s.AwaitReplicas(harness.Deployment, kind, 3)
	}
}
