package migrate

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/utils/ptr"

	plimsollv1alpha1 "github.com/plimsoll-dev/plimsoll/api/plimsoll/v1alpha1"
	"github.com/plimsoll-dev/plimsoll/internal/dev/devcluster"
	"github.com/plimsoll-dev/plimsoll/internal/dev/test/integration/harness"
)

// scaledObjects is the resource of KEDA's ScaledObjects.
var scaledObjects = schema.GroupVersionResource{Group: "keda.sh", Version: "v1alpha1", Resource: "scaledobjects"}

// definitions is the resource of CustomResourceDefinitions.
var definitions = apiextensionsv1.SchemeGroupVersion.WithResource("customresourcedefinitions")

// installScaledObjects installs a definition of ScaledObjects that accepts everything.
func installScaledObjects(ctx context.Context, cluster *devcluster.Cluster) error {
	definition := &apiextensionsv1.CustomResourceDefinition{
		TypeMeta: metav1.TypeMeta{
			APIVersion: apiextensionsv1.SchemeGroupVersion.String(), Kind: "CustomResourceDefinition"},
		ObjectMeta: metav1.ObjectMeta{Name: scaledObjects.Resource + "." + scaledObjects.Group},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: scaledObjects.Group, Scope: apiextensionsv1.NamespaceScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{
				Plural: scaledObjects.Resource, Singular: "scaledobject", Kind: "ScaledObject", ListKind: "ScaledObjectList"},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
				Name: scaledObjects.Version, Served: true, Storage: true,
				Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{
					Type: "object", XPreserveUnknownFields: ptr.To(true)}},
			}},
		},
	}
	raw, err := runtime.DefaultUnstructuredConverter.ToUnstructured(definition)
	if err != nil {
		return err
	}
	client, err := dynamic.NewForConfig(cluster.RESTConfig())
	if err != nil {
		return err
	}
	_, err = client.Resource(definitions).Create(ctx, &unstructured.Unstructured{Object: raw}, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}

// scaled is a workload with a ScaledObject whose schedules demand four replicas at any time. The HPA that the test
// makes of it, as KEDA would, demands as many.
type scaled struct {
	*workload

	scaledObjects dynamic.ResourceInterface
}

const scaledObject = `{"apiVersion":"keda.sh/v1alpha1","kind":"ScaledObject","metadata":{"name":"web"},"spec":{
	"scaleTargetRef":{"name":"web"},"minReplicaCount":1,"maxReplicaCount":10,"triggers":[
		{"type":"cron","metadata":{"timezone":"Etc/UTC","start":"0 * * * *","end":"59 * * * *","desiredReplicas":"4"}},
		{"type":"cron","metadata":{"timezone":"Etc/UTC","start":"30 * * * *","end":"29 * * * *","desiredReplicas":"4"}}]}}`

func newScaled(t *testing.T) *scaled {
	t.Helper()
	w := emptyWorkload(t)
	w.Create(harness.Workload{Replicas: ptr.To[int32](4)}.Deployment(), harness.Queue("jobs", 35))
	config := w.Cluster.RESTConfig()
	config.QPS = -1
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	s := &scaled{workload: w, scaledObjects: client.Resource(scaledObjects).Namespace(w.Name)}
	object := &unstructured.Unstructured{}
	if err := object.UnmarshalJSON([]byte(scaledObject)); err != nil {
		t.Fatal(err)
	}
	w.Eventually("a ScaledObject", func(ctx context.Context) error {
		// Definitions are served a moment before objects can be created.
		_, err := s.scaledObjects.Create(ctx, object, metav1.CreateOptions{})
		return err
	})
	go s.play(t.Context())
	w.AwaitHPA("keda-hpa-web", "a decision", func(hpa *autoscalingv2.HorizontalPodAutoscaler) error {
		if hpa.Status.DesiredReplicas != 4 {
			return fmt.Errorf("%d wanted", hpa.Status.DesiredReplicas)
		}
		return nil
	})
	return s
}

// play does what KEDA does, again and again: there is an HPA unless the ScaledObject is paused.
func (s *scaled) play(ctx context.Context) {
	hpas := s.Client.AutoscalingV2().HorizontalPodAutoscalers(s.Name)
	for ctx.Err() == nil {
		object, err := s.scaledObjects.Get(ctx, "web", metav1.GetOptions{})
		switch {
		case err != nil:
		case object.GetAnnotations()["autoscaling.keda.sh/paused"] == "true":
			_ = hpas.Delete(ctx, "keda-hpa-web", metav1.DeleteOptions{})
		default:
			hpa := queue("web")
			hpa.Name, hpa.Labels = "keda-hpa-web", nil
			hpa.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(object, object.GroupVersionKind())}
			_, _ = hpas.Create(ctx, hpa, metav1.CreateOptions{})
		}
		select {
		case <-time.After(500 * time.Millisecond):
		case <-ctx.Done():
		}
	}
}

// isCorrectedBy sets another count, and ends the test unless that one alone corrects it.
func (s *scaled) isCorrectedBy(changes *harness.Changes, by string) {
	s.t.Helper()
	before := len(changes.All())
	_, err := s.Client.AppsV1().Deployments(s.Name).Patch(s.t.Context(), "web", types.MergePatchType,
		[]byte(`{"spec":{"replicas":2}}`), metav1.PatchOptions{FieldManager: "somebody"})
	if err != nil {
		s.t.Fatal(err)
	}
	s.AwaitReplicas(harness.Deployment, "web", 4)
	s.HoldsReplicas(patience/2, harness.Deployment, "web", 4)
	want := []harness.Change{{From: 4, To: 2, By: "somebody"}, {From: 2, To: 4, By: by}}
	if all := changes.All()[before:]; !slices.Equal(all, want) {
		s.t.Fatalf("%v, want %v", all, want)
	}
}

// isPaused reports whether the ScaledObject is, and has no HPA.
func (s *scaled) isPaused() (bool, error) {
	object, err := s.scaledObjects.Get(s.t.Context(), "web", metav1.GetOptions{})
	if err != nil {
		return false, err
	}
	_, err = s.Client.AutoscalingV2().HorizontalPodAutoscalers(s.Name).Get(s.t.Context(), "keda-hpa-web",
		metav1.GetOptions{})
	if !apierrors.IsNotFound(err) && err != nil {
		return false, err
	}
	return object.GetAnnotations()["autoscaling.keda.sh/paused"] == "true" && err != nil, nil
}

// A ScaledObject is migrated there and back, and killed after each write: KEDA pauses, and does not make its HPA again.
func TestScaledObject(t *testing.T) {
	t.Parallel()
	args := []string{"scaledobject/web", "--apply", "--yes", observe}
	// The writer after each write.
	for i, by := range []string{upstream, upstream, plimsoll, plimsoll} {
		t.Run(fmt.Sprint(i+1), func(t *testing.T) {
			t.Parallel()
			s := newScaled(t)
			changes := s.WatchChanges("web")
			s.killed(i+1, args...)
			if by == plimsoll {
				s.Eventually("KEDA has deleted its HPA", func(context.Context) error {
					if isPaused, err := s.isPaused(); err != nil || !isPaused {
						return fmt.Errorf("not paused: %w", err)
					}
					return nil
				})
			}
			s.isCorrectedBy(changes, by)
			s.must(args...)
			s.checkPaused()
			s.isCorrectedBy(changes, plimsoll)
			// A second migration has nothing left to do.
			if _, stderr := s.must(args...); !strings.Contains(stderr, "migrated already") {
				t.Error(stderr)
			}
			if i < 3 {
				s.killed(i+1, append(args, "--back")...)
			}
			s.must(append(args, "--back")...)
			if isPaused, err := s.isPaused(); err != nil || isPaused {
				t.Fatalf("not resumed: %v", err)
			}
			if _, o := s.objects("web"); o != nil {
				t.Fatalf("%+v", o)
			}
			s.isCorrectedBy(changes, upstream)
		})
	}
}

func (s *scaled) checkPaused() {
	s.t.Helper()
	isPaused, err := s.isPaused()
	_, o := s.objects("web")
	if err != nil || !isPaused || o == nil || o.Spec.Mode != plimsollv1alpha1.ModeActive ||
		o.Annotations["plimsoll.dev/migrating"] != "" {
		s.t.Fatalf("not migrated: %v, %+v", err, o)
	}
}

// An HPA that KEDA made is not replaced, by its name or by --all.
func TestHPAOfKEDA(t *testing.T) {
	t.Parallel()
	s := newScaled(t)
	if _, stderr, err := s.run("hpa/keda-hpa-web", "--apply", "--yes", observe); err == nil ||
		!strings.Contains(stderr, "ScaledObject web controls") {
		t.Errorf("%v: %s", err, stderr)
	}
	if _, stderr, err := s.run("--all", "--apply", "--yes", observe); err == nil ||
		!strings.Contains(stderr, "skipped: ScaledObject web") {
		t.Errorf("%v: %s", err, stderr)
	}
}
