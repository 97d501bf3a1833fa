package horizontal_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	plimsollv1alpha1 "github.com/plimsoll-dev/plimsoll/api/plimsoll/v1alpha1"
	"github.com/plimsoll-dev/plimsoll/internal/controller/horizontal/horizontaltest"
)

// rivals returns two WorkloadAutoscalers of one target. The younger one, which comes first by its name, wants nine
// replicas.
func (w *world) rivals(api *horizontaltest.WorkloadAPI) (younger, older *plimsollv1alpha1.WorkloadAutoscaler) {
	hpa := horizontaltest.Externally(w.Web("web", 1))
	w.ExternalValue = func(context.Context) (int64, error) { return 100, nil }
	younger, older = horizontaltest.WorkloadOf(hpa), horizontaltest.WorkloadOf(hpa)
	younger.Name, younger.UID, younger.Spec.MinReplicas = "a", "a", ptr.To[int32](9)
	older.Name, older.UID = "z", "z"
	older.CreationTimestamp = metav1.NewTime(time.Now().Add(-time.Hour))
	api.Put(younger)
	api.Put(older)
	return younger, older
}

// TestYoungerWaitsForAllToBeKnown: at the start, the list has thousands of others between two WorkloadAutoscalers of
// one target. The one that must not act waits for the whole list.
func TestYoungerWaitsForAllToBeKnown(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		api := w.Workloads()
		younger, _ := w.rivals(api)
		for i := range 2000 {
			other := younger.DeepCopy()
			other.Name = fmt.Sprintf("m%d", i)
			other.UID, other.Spec.ScaleTargetRef.Name = types.UID(other.Name), "no-"+other.Name
			api.Put(other)
		}
		w.Start(api.Serve)
		w.Pass(horizontaltest.Period)
		if got := w.ScaleWrites(); len(got) > 0 {
			t.Errorf("the younger one scaled: %v", got)
		}
		if got := horizontaltest.WorkloadCondition(api.Get("a"), "AbleToScale"); got.Reason != "TargetHasAnotherAutoscaler" {
			t.Errorf("the younger one shows %v", got)
		}
		if got := horizontaltest.WorkloadCondition(api.Get("z"), "AbleToScale"); got.Status != metav1.ConditionTrue {
			t.Errorf("the older one shows %v", got)
		}
	})
}

// TestCreatedAgainUnseen: a WorkloadAutoscaler is deleted and created again while no watch is open. It is now the
// younger one, as for a controller that has just started.
func TestCreatedAgainUnseen(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		api := w.Workloads()
		_, older := w.rivals(api)
		w.Start(api.Serve)
		w.Pass(horizontaltest.Period)
		w.WantReplicas("web", 1, "the older one acts")
		again := older.DeepCopy()
		again.UID, again.CreationTimestamp = "z-2", metav1.Now()
		api.Put(again)
		w.Pass(horizontaltest.Period)
		w.WantReplicas("web", 9, "the other one is older now")
	})
}

// TestModeBesideAnother: a WorkloadAutoscaler announces that it scales once the other one is deleted only if its mode
// permits that.
func TestModeBesideAnother(t *testing.T) {
	for m, want := range map[plimsollv1alpha1.Mode]string{
		plimsollv1alpha1.ModeActive:  "takes over once that one is deleted",
		plimsollv1alpha1.ModePreview: "scales nothing in mode Preview",
	} {
		inWorld(t, func(t *testing.T, w *world) {
			api := w.Workloads()
			younger, _ := w.rivals(api)
			younger.Spec.Mode = m
			api.Put(younger)
			w.Start(api.Serve)
			w.Pass(horizontaltest.Period)
			got := horizontaltest.WorkloadCondition(api.Get("a"), "AbleToScale")
			if got.Reason != "TargetHasAnotherAutoscaler" || !strings.HasSuffix(got.Message, want) {
				t.Errorf("%s: %v", m, got)
			}
		})
	}
}

// TestMigrationWarnsOfNothing: a WorkloadAutoscaler waits for the autoscaler that plimsoll migrate is about to remove,
// and its condition says so. An event warns only where no migration does that, and where one was interrupted long ago.
func TestMigrationWarnsOfNothing(t *testing.T) {
	for mark, want := range map[string]bool{"": true, "forward": false, "back": false, "interrupted": true} {
		inWorld(t, func(t *testing.T, w *world) {
			api := w.Workloads()
			younger, _ := w.rivals(api)
			younger.CreationTimestamp = metav1.Now()
			if mark != "" {
				younger.Annotations = map[string]string{plimsollv1alpha1.MigratingAnnotation: mark}
			}
			if mark == "interrupted" {
				younger.CreationTimestamp = metav1.NewTime(time.Now().Add(-30 * time.Minute))
			}
			api.Put(younger)
			w.Start(api.Serve)
			w.Pass(horizontaltest.Period)
			const reason = "TargetHasAnotherAutoscaler"
			got := horizontaltest.WorkloadCondition(api.Get("a"), "AbleToScale")
			if got.Reason != reason || (got.Status == metav1.ConditionFalse) != want {
				t.Errorf("%q: %v", mark, got)
			}
			got = horizontaltest.WorkloadCondition(api.Get("a"), "Ready")
			if got.Status != metav1.ConditionFalse || got.Reason != reason {
				t.Errorf("%q: %v", mark, got)
			}
			if isWarned := w.HasEvent(reason); isWarned != want {
				t.Errorf("%q: events %q", mark, w.Events)
			}
		})
	}
}
