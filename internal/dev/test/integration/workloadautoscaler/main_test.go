package workloadautoscaler

import (
	"context"
	"encoding/json"
	"os"
	"testing"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	plimsollv1alpha1 "github.com/plimsoll-dev/plimsoll/api/plimsoll/v1alpha1"
	"github.com/plimsoll-dev/plimsoll/internal/dev/devcluster"
	"github.com/plimsoll-dev/plimsoll/internal/dev/devcluster/devclustertest"
	"github.com/plimsoll-dev/plimsoll/internal/dev/test/integration/harness"
)

// shared is the cluster of all tests here: nothing runs on it.
var (
	shared       = devclustertest.Shared{Config: devcluster.Config{ControlPlaneOnly: true}}
	installation harness.Installation
)

func TestMain(m *testing.M) { os.Exit(shared.Main(m)) }

// namespace is a namespace of a cluster with the definition of the WorkloadAutoscaler.
func namespace(t *testing.T) *harness.Namespace {
	t.Helper()
	s := installation.Namespace(t, &shared, func(ctx context.Context, cluster *devcluster.Cluster) error {
		return cluster.InstallDefinitions(ctx)
	})
	// Definitions are served a moment before objects can be created.
	s.Eventually("an object is accepted", func(context.Context) error {
		_, err := objectsOf(t, s).dryRun(t, workloadAutoscaler, base())
		return err
	})
	return s
}

// The kinds of objects that are compared.
var (
	workloadAutoscaler = kind{plimsollv1alpha1.SchemeGroupVersion.WithResource("workloadautoscalers"), "WorkloadAutoscaler"}
	autoscaler         = kind{schema.GroupVersionResource{Group: "autoscaling", Version: "v2",
		Resource: "horizontalpodautoscalers"}, "HorizontalPodAutoscaler"}
	cronJob = kind{schema.GroupVersionResource{Group: "batch", Version: "v1", Resource: "cronjobs"}, "CronJob"}
)

type kind struct {
	resource schema.GroupVersionResource
	name     string
}

// objects creates objects of all kinds in one namespace.
type objects struct {
	client    dynamic.Interface
	namespace string
}

func objectsOf(t *testing.T, s *harness.Namespace) objects {
	t.Helper()
	client, err := dynamic.NewForConfig(unlimited(s))
	if err != nil {
		t.Fatal(err)
	}
	return objects{client: client, namespace: s.Name}
}

// unlimited is a configuration of a client that does not wait before requests.
func unlimited(s *harness.Namespace) *rest.Config {
	config := s.Cluster.RESTConfig()
	config.QPS = -1
	return config
}

// dryRun returns the spec that the API server would store.
func (o objects) dryRun(t *testing.T, k kind, spec map[string]any) (map[string]any, error) {
	return o.create(t, k, spec, metav1.DryRunAll)
}

func (o objects) create(t *testing.T, k kind, spec map[string]any, dryRun ...string) (map[string]any, error) {
	t.Helper()
	if k == autoscaler {
		spec = unnamed(spec)
	}
	object := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": k.resource.GroupVersion().String(), "kind": k.name,
		"metadata": map[string]any{"generateName": "web-"}, "spec": spec,
	}}
	created, err := o.client.Resource(k.resource).Namespace(o.namespace).Create(t.Context(), object,
		metav1.CreateOptions{DryRun: dryRun, FieldValidation: metav1.FieldValidationStrict})
	if err != nil {
		return nil, err
	}
	stored, _, err := unstructured.NestedMap(created.Object, "spec")
	return stored, err
}

// unnamed is the spec as an HPA has it: without the names of metrics.
func unnamed(spec map[string]any) map[string]any {
	spec = runtime.DeepCopyJSON(spec)
	metrics, _ := spec["metrics"].([]any)
	for _, metric := range metrics {
		if fields, ok := metric.(map[string]any); ok {
			delete(fields, "name")
		}
	}
	return spec
}

const baseSpec = `{"scaleTargetRef":{"apiVersion":"apps/v1","kind":"Deployment","name":"web"},"maxReplicas":5,"metrics":[
	{"name":"cpu","type":"Resource","resource":{"name":"cpu","target":{"type":"Utilization","averageUtilization":80}}}]}`

// base is the smallest spec that is valid, for both kinds of autoscalers.
func base() map[string]any { return decoded([]byte(baseSpec)) }

// with is the smallest spec with the changes of a JSON merge patch.
func with(t *testing.T, patch string) map[string]any {
	t.Helper()
	merged, err := jsonpatch.MergePatch([]byte(baseSpec), []byte(patch))
	if err != nil {
		t.Fatalf("%v: %s", err, patch)
	}
	return decoded(merged)
}

// decoded has the numbers of unstructured objects, which are not those of encoding/json.
func decoded(text []byte) map[string]any {
	var spec map[string]any
	if err := utiljson.Unmarshal(text, &spec); err != nil {
		panic(err)
	}
	return spec
}

func encoded(t *testing.T, value any) string {
	t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
