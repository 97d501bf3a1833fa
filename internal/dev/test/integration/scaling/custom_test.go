package scaling

import (
	"context"
	"fmt"
	"testing"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/plimsoll-dev/plimsoll/internal/dev/test/integration/harness"
)

var crew = schema.GroupVersionResource{Group: "sailing.example", Version: "v1", Resource: "crews"}

const crewDefinition = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: crews.sailing.example}
spec:
  group: sailing.example
  scope: Namespaced
  names: {kind: Crew, plural: crews, singular: crew}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec: {type: object, properties: {replicas: {type: integer}}}
          status: {type: object, properties: {replicas: {type: integer}, selector: {type: string}}}
    subresources:
      status: {}
      scale: {specReplicasPath: .spec.replicas, statusReplicasPath: .status.replicas, labelSelectorPath: .status.selector}
`

// The kind is unknown when Plimsoll starts.
func TestCustomResourceScalesUpUnderLoad(t *testing.T) {
	t.Parallel()
	s := shared.Namespace(t)
	s.KubectlInput(crewDefinition, "apply", "-f", "-")
	s.Kubectl("wait", "--for=condition=Established", "--timeout=60s", "crd/crews.sailing.example")
	s.Eventually("the new kind", func(ctx context.Context) error {
		const crew = "{apiVersion: sailing.example/v1, kind: Crew, metadata: {name: web}, spec: {replicas: 1}}"
		_, err := s.Cluster.KubectlInput(ctx, crew, "--namespace="+s.Name, "apply", "-f", "-")
		return err
	})

	web := harness.Workload{}
	hpa := harness.Autoscaler("web", harness.PodRequests(harness.AverageValue("10")))
	hpa.Spec.ScaleTargetRef = autoscalingv2.CrossVersionObjectReference{
		APIVersion: "sailing.example/v1", Kind: "Crew", Name: "web",
	}
	s.Create(web.Service(5), hpa)

	boatswain := newBoatswain(t, s, web)
	await := func(replicas int64) func(context.Context) error {
		return func(ctx context.Context) error {
			got, err := boatswain.reconcile(ctx)
			if err != nil || got == replicas {
				return err
			}
			return fmt.Errorf("%d replicas\n%s", got, harness.Describe(s.HPA("web")))
		}
	}
	valid := func(ctx context.Context) error { return both(await(1)(ctx), hasValidMetric(s.HPA("web"))) }
	s.Eventually("a first value for one replica", valid)
	s.Holds(3*time.Second, "one replica", valid)

	s.SetLoad("web", 35)
	s.Eventually("4 replicas of the custom resource", await(4)) // 35 over 10 each
	s.Eventually("4 current replicas in the status", func(ctx context.Context) error {
		return both(await(4)(ctx), currentReplicas(s.HPA("web"), 4))
	})
	s.Holds(5*time.Second, "4 replicas of the custom resource", await(4))
}

// boatswain is the custom resource's controller: it creates the pods of the resource.
type boatswain struct {
	space *harness.Namespace
	crews dynamic.ResourceInterface
	web   harness.Workload
}

func newBoatswain(t *testing.T, s *harness.Namespace, web harness.Workload) boatswain {
	t.Helper()
	client, err := dynamic.NewForConfig(s.Cluster.RESTConfig())
	if err != nil {
		t.Fatal(err)
	}
	return boatswain{space: s, crews: client.Resource(crew).Namespace(s.Name), web: web}
}

// reconcile creates missing pods, reports the existing ones, and returns the wanted number.
func (b boatswain) reconcile(ctx context.Context) (int64, error) {
	object, err := b.crews.Get(ctx, "web", metav1.GetOptions{})
	if err != nil {
		return 0, err
	}
	want, _, err := unstructured.NestedInt64(object.Object, "spec", "replicas")
	if err != nil {
		return 0, err
	}
	pods := b.space.Client.CoreV1().Pods(b.space.Name)
	selector := labels.SelectorFromSet(b.web.Labels()).String()
	list, err := pods.List(ctx, metav1.ListOptions{LabelSelector: selector})
	if err != nil {
		return 0, err
	}
	there := int64(len(list.Items))
	for ; there < want; there++ {
		template := b.web.Template()
		template.GenerateName = "web-"
		if _, err := pods.Create(ctx, &corev1.Pod{ObjectMeta: template.ObjectMeta, Spec: template.Spec},
			metav1.CreateOptions{}); err != nil {
			return 0, err
		}
	}
	object.Object["status"] = map[string]any{"replicas": there, "selector": selector}
	_, err = b.crews.UpdateStatus(ctx, object, metav1.UpdateOptions{})
	return want, err
}
