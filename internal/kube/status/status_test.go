package status

import (
	"context"
	"errors"
	"strconv"
	"testing"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/fake"
)

// server stores one HPA, and refuses updates of an older version.
type server struct {
	stored  *autoscalingv2.HorizontalPodAutoscaler
	version int
	writes  int
	err     error
	// edits are the changes by others before each of the next updates.
	edits []func(*autoscalingv2.HorizontalPodAutoscaler)
}

func (s *server) Get(
	context.Context, string, metav1.GetOptions,
) (*autoscalingv2.HorizontalPodAutoscaler, error) {
	return s.stored.DeepCopy(), nil
}

func (s *server) UpdateStatus(
	_ context.Context, hpa *autoscalingv2.HorizontalPodAutoscaler, options metav1.UpdateOptions,
) (*autoscalingv2.HorizontalPodAutoscaler, error) {
	if len(s.edits) > 0 {
		s.edits[0](s.stored)
		s.edits = s.edits[1:]
		s.store(s.stored)
	}
	switch {
	case s.err != nil:
		return nil, s.err
	case options.FieldManager != "plimsoll" || hpa.ManagedFields != nil:
		return nil, errors.New("the field manager's name is missing, or its fields are not")
	case hpa.ResourceVersion != s.stored.ResourceVersion:
		return nil, apierrors.NewConflict(schema.GroupResource{Resource: "horizontalpodautoscalers"}, hpa.Name, nil)
	}
	s.writes++
	next := s.stored.DeepCopy()
	next.Status = hpa.Status
	s.store(next)
	return s.stored.DeepCopy(), nil
}

func (s *server) store(hpa *autoscalingv2.HorizontalPodAutoscaler) {
	s.version++
	s.stored = hpa
	s.stored.ResourceVersion = strconv.Itoa(s.version)
}

// TestWrite: an equal status is not written. A conflict with an edit of the spec does not lose the status; one with
// another writer of status, or with a new object of the name, is an error.
func TestWrite(t *testing.T) {
	type hpa = autoscalingv2.HorizontalPodAutoscaler
	spec := func(h *hpa) { h.Spec.MaxReplicas++ }
	for name, tt := range map[string]struct {
		desired int32
		err     error
		edits   []func(*hpa)
		writes  int
		fails   bool
	}{
		"equal":                  {3, nil, nil, 0, false},
		"other":                  {4, nil, nil, 1, false},
		"the spec is edited":     {4, nil, []func(*hpa){spec}, 1, false},
		"it is edited twice":     {4, nil, []func(*hpa){spec, spec}, 1, false},
		"it is edited each time": {4, nil, []func(*hpa){spec, spec, spec}, 0, true},
		"another writer":         {4, nil, []func(*hpa){func(h *hpa) { h.Status.CurrentReplicas = 9 }}, 0, true},
		"another object":         {4, nil, []func(*hpa){func(h *hpa) { h.UID = "new" }}, 0, true},
		"the API server is down": {4, errors.New("down"), nil, 0, true},
	} {
		s := &server{err: tt.err}
		s.store(&hpa{
			ObjectMeta: metav1.ObjectMeta{
				Name: "web", UID: "old", ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "kubectl"}},
			},
			Status: autoscalingv2.HorizontalPodAutoscalerStatus{DesiredReplicas: 3},
		})
		s.edits = tt.edits
		w, err := New(fake.NewClientset().AutoscalingV2(), "plimsoll")
		if err != nil {
			t.Fatal(err)
		}
		w.client = func(string) Client[*hpa] { return s }
		cached := s.stored.DeepCopy()
		want := autoscalingv2.HorizontalPodAutoscalerStatus{DesiredReplicas: tt.desired}
		version, err := w.Write(t.Context(), cached, &want)
		if (err != nil) != tt.fails || s.writes != tt.writes || (version != "") != (tt.writes > 0) {
			t.Errorf("%s: %d writes, version %q, %v", name, s.writes, version, err)
		}
		if tt.writes > 0 && (s.stored.Status.DesiredReplicas != tt.desired || version != s.stored.ResourceVersion) {
			t.Errorf("%s: stored %+v as version %s, not %s", name, s.stored.Status, s.stored.ResourceVersion, version)
		}
		if len(cached.ManagedFields) != 1 || cached.Status.DesiredReplicas != 3 {
			t.Errorf("%s: the object of the cache was changed: %+v", name, cached)
		}
	}
}

func TestNew(t *testing.T) {
	client := fake.NewClientset().AutoscalingV2()
	if _, err := New(nil, "plimsoll"); err == nil {
		t.Error("a writer without a client")
	}
	if _, err := New(client, ""); err == nil {
		t.Error("a writer without a field manager")
	}
}
