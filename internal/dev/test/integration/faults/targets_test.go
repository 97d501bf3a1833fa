package faults

import (
	"context"
	"fmt"
	"strings"
	"testing"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"

	"github.com/plimsoll-dev/plimsoll/internal/dev/test/integration/harness"
)

func jobs() autoscalingv2.MetricSpec { return harness.QueueLength("jobs", harness.AverageValue("10")) }

// The target of "web" is another one for a while.
func TestReferenceThatNamesNothing(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		reference autoscalingv2.CrossVersionObjectReference
		words     []string
	}{
		"name": {autoscalingv2.CrossVersionObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Name: "wbe"},
			[]string{`.apps "wbe" not found`}}, // deployments/scale on older versions
		"kind": {autoscalingv2.CrossVersionObjectReference{APIVersion: "apps/v1", Kind: "Deploymnet", Name: "web"},
			[]string{`no matches for kind "Deploymnet" in group "apps"`}},
		"group": {autoscalingv2.CrossVersionObjectReference{APIVersion: "aps/v1", Kind: "Deployment", Name: "web"},
			[]string{`no matches for kind "Deployment" in group "aps"`}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := shared.Namespace(t)
			web(s, jobs())
			right := s.HPA("web").Spec.ScaleTargetRef
			ordeal{
				breaks:    func(s *harness.Namespace) { refer(s, c.reference) },
				heals:     func(s *harness.Namespace) { refer(s, right) },
				condition: unable("FailedGetScale"),
				event:     "FailedGetScale",
				words:     c.words,
			}.undergo(t, s)
		})
	}
}

func refer(s *harness.Namespace, reference autoscalingv2.CrossVersionObjectReference) {
	s.UpdateHPA("web", func(hpa *autoscalingv2.HorizontalPodAutoscaler) { hpa.Spec.ScaleTargetRef = reference })
}

// The API server of 1.37 refuses an invalid apiVersion, or a group that the kind cannot have: no controller has to
// report it.
func TestReferenceWithImpossibleVersion(t *testing.T) {
	t.Parallel()
	s := shared.Namespace(t)
	for name, version := range map[string]string{"web": "apps/v1/beta", "web-too": "", "web-three": "v1"} {
		hpa := harness.Autoscaler(name, jobs())
		hpa.Spec.ScaleTargetRef.APIVersion = version
		_, err := s.Client.AutoscalingV2().HorizontalPodAutoscalers(s.Name).Create(t.Context(), hpa, metav1.CreateOptions{})
		if !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), "spec.scaleTargetRef.apiVersion") {
			t.Errorf("apiVersion %q: %v", version, err)
		}
	}
}

func TestTargetGone(t *testing.T) {
	t.Parallel()
	s := shared.Namespace(t)
	web(s, jobs())
	awaitFine(s, "web")
	deployments := s.Client.AppsV1().Deployments(s.Name)
	if err := deployments.Delete(t.Context(), "web", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	o := ordeal{condition: unable("FailedGetScale"), words: []string{`.apps "web" not found`}}
	s.AwaitHPA("web", "the symptom", o.shown)
	if event := s.AwaitEvent("web", "FailedGetScale", o.words[0]); event.Type != corev1.EventTypeWarning {
		t.Errorf("event of type %s", event.Type)
	}
	more(s)
	s.AwaitDecisions("web", 3)
	if err := o.shown(s.HPA("web")); err != nil {
		t.Error(err)
	}
	if _, err := deployments.Get(t.Context(), "web", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("the target is back: %v", err)
	}
	s.Create(harness.Workload{Replicas: ptr.To[int32](2)}.Deployment())
	s.AwaitReplicas(harness.Deployment, "web", 4)
	awaitFine(s, "web")
}

// Two objects whose targets select the same pods: neither may scale, and deleting one heals the other.
func TestTwoObjectsOnTheSamePods(t *testing.T) {
	t.Parallel()
	s := shared.Namespace(t)
	web(s, jobs())
	awaitFine(s, "web")
	record := s.WatchCounts("web")
	other := harness.Autoscaler("web-too", jobs())
	other.Spec.ScaleTargetRef.Name = "web"
	s.Create(other)

	for name, rival := range map[string]string{"web": "web-too", "web-too": "web"} {
		o := ordeal{
			condition: inactive("AmbiguousSelector"),
			words:     []string{"pods by selector app=web are controlled by more than one HPA", s.Name + "/" + rival},
		}
		s.AwaitHPA(name, "the symptom", o.shown)
		if event := s.AwaitEvent(name, "AmbiguousSelector", o.words[0]); event.Type != corev1.EventTypeWarning {
			t.Errorf("event of type %s", event.Type)
		}
	}
	more(s)
	s.AwaitDecisions("web", 3)
	s.AwaitDecisions("web-too", 2)
	wantCounts(t, record, 2)

	err := s.Client.AutoscalingV2().HorizontalPodAutoscalers(s.Name).Delete(t.Context(), "web-too", metav1.DeleteOptions{})
	if err != nil {
		t.Fatal(err)
	}
	s.AwaitReplicas(harness.Deployment, "web", 4)
	awaitFine(s, "web")
	wantCounts(t, record, 2, 4)
}

// gadgets have a scale, in which there is a selector only once selectorPath is set.
const gadgets = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: gadgets.trouble.example}
spec:
  group: trouble.example
  scope: Namespaced
  names: {kind: Gadget, plural: gadgets, singular: gadget}
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
    subresources:
      scale: {specReplicasPath: .spec.replicas, statusReplicasPath: .status.replicas%s}
`

const gadget = `
apiVersion: trouble.example/v1
kind: Gadget
metadata: {name: web}
spec: {replicas: 2}
status: {replicas: 2, selector: app=web}
`

func TestScaleWithoutSelector(t *testing.T) {
	t.Parallel()
	s := shared.Namespace(t)
	define := func(selectorPath string) {
		s.KubectlInput(fmt.Sprintf(gadgets, selectorPath), "apply", "-f", "-")
	}
	define("")
	t.Cleanup(func() {
		_, err := s.Cluster.Kubectl(context.WithoutCancel(t.Context()), "delete", "crd", "gadgets.trouble.example",
			"--wait=false")
		if err != nil {
			t.Error(err)
		}
	})
	s.Kubectl("wait", "--for=condition=Established", "--timeout=60s", "crd/gadgets.trouble.example")
	s.KubectlInput(gadget, "apply", "-f", "-")
	hpa := harness.Autoscaler("web", jobs())
	hpa.Spec.ScaleTargetRef = autoscalingv2.CrossVersionObjectReference{
		APIVersion: "trouble.example/v1", Kind: "Gadget", Name: "web",
	}
	s.Create(harness.Queue("jobs", 35), hpa)

	o := ordeal{condition: inactive("InvalidSelector"), words: []string{"the HPA target's scale is missing a selector"}}
	s.AwaitHPA("web", "the symptom", o.shown)
	if event := s.AwaitEvent("web", "SelectorRequired", "selector is required"); event.Type != corev1.EventTypeWarning {
		t.Errorf("event of type %s", event.Type)
	}
	s.AwaitDecisions("web", 3)
	kind := schema.GroupVersionResource{Group: "trouble.example", Version: "v1", Resource: "gadgets"}
	if got := s.Replicas(kind, "web"); got != 2 {
		t.Errorf("%d replicas, want the 2 that there were", got)
	}
	define(", labelSelectorPath: .status.selector")
	s.AwaitReplicas(kind, "web", 4)
	awaitFine(s, "web")
}
