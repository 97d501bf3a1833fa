package steps

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	plimsollv1alpha1 "github.com/plimsoll-dev/plimsoll/api/plimsoll/v1alpha1"
	"github.com/plimsoll-dev/plimsoll/internal/migrate/convert"
	"github.com/plimsoll-dev/plimsoll/internal/migrate/keda"
)

// withKEDA is an API server with a ScaledObject and with KEDA.
type withKEDA struct {
	object *unstructured.Unstructured
	w      *plimsollv1alpha1.WorkloadAutoscaler
	// servesPaused is set if KEDA serves the metrics of a paused ScaledObject.
	servesPaused bool
}

func newWithKEDA() *withKEDA {
	object := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "keda.sh/v1alpha1", "kind": keda.Kind,
		"spec": map[string]any{
			"scaleTargetRef": map[string]any{"name": "web"}, "minReplicaCount": int64(1),
			"triggers": []any{map[string]any{"type": "prometheus",
				"metadata": map[string]any{"serverAddress": "http://prometheus", "query": "jobs", "threshold": "5"}}},
		},
	}}
	object.SetNamespace(web.Namespace)
	object.SetName(web.Name)
	return &withKEDA{object: object}
}

func (k *withKEDA) State(context.Context, types.NamespacedName) (*State, error) {
	s := &State{Kind: keda.Kind, Original: k.object.DeepCopy()}
	if !keda.IsPaused(k.object) {
		s.HPA = testHPA(10)
	}
	if k.w == nil {
		return s, nil
	}
	decide(k.w, s.HPA != nil)
	m := plimsollv1alpha1.MetricStatus{Name: "jobs", Replicas: ptr.To[int32](3)}
	if s.HPA == nil && !k.servesPaused {
		m.Replicas, m.Failure = nil, &plimsollv1alpha1.MetricFailure{Message: "the server has no such metric"}
	}
	k.w.Status.Metrics = []plimsollv1alpha1.MetricStatus{m}
	s.WorkloadAutoscaler = k.w.DeepCopy()
	return s, nil
}

func (k *withKEDA) Remove(context.Context, *State) error {
	k.object.SetAnnotations(map[string]string{keda.AnnotationPaused: "true"})
	return nil
}

func (k *withKEDA) Restore(context.Context, *State, *unstructured.Unstructured) error {
	k.object.SetAnnotations(nil)
	return nil
}

func (k *withKEDA) CreateWorkloadAutoscaler(_ context.Context, w *plimsollv1alpha1.WorkloadAutoscaler) error {
	k.w = w
	return nil
}

func (k *withKEDA) SetMode(
	_ context.Context, _ *plimsollv1alpha1.WorkloadAutoscaler, mode plimsollv1alpha1.Mode, migrating string,
) error {
	k.w.Spec.Mode = mode
	if k.w.Annotations[convert.Migrating] = migrating; migrating == "" {
		delete(k.w.Annotations, convert.Migrating)
	}
	return nil
}

func (k *withKEDA) CheckTarget(context.Context, *unstructured.Unstructured) error { return nil }

func (k *withKEDA) DeleteWorkloadAutoscaler(context.Context, *plimsollv1alpha1.WorkloadAutoscaler) error {
	k.w = nil
	return nil
}

// If KEDA does not serve the metrics of a paused ScaledObject, the ScaledObject is resumed.
func TestMetricsOfPausedScaledObject(t *testing.T) {
	for _, servesPaused := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			k := newWithKEDA()
			k.servesPaused = servesPaused
			r := newFake(t).runner()
			r.Cluster = k
			_, err := r.Prepare(t.Context(), web)
			err = errors.Join(err, r.Finish(t.Context(), web))
			if servesPaused {
				if err != nil || !keda.IsPaused(k.object) || k.w == nil || k.w.Annotations[convert.Migrating] != "" {
					t.Errorf("%v, %+v, %+v", err, k.object, k.w)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), "cannot be read any more") || keda.IsPaused(k.object) || k.w != nil {
				t.Errorf("%v, %+v, %+v", err, k.object, k.w)
			}
		})
	}
}
