package horizontal_test

import (
	"testing"

	"k8s.io/utils/ptr"

	plimsollv1alpha1 "github.com/plimsoll-dev/plimsoll/api/plimsoll/v1alpha1"
	controllerhorizontal "github.com/plimsoll-dev/plimsoll/internal/controller/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/controller/horizontal/horizontaltest"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/divergence"
	observehorizontal "github.com/plimsoll-dev/plimsoll/internal/observe/horizontal"
)

// TestStatusAloneMakesNoNewPolicy: the policy, with the state of its schedules, changes only with the spec.
func TestStatusAloneMakesNoNewPolicy(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		object := horizontaltest.WorkloadOf(w.Web("web", 2))
		object.Spec.Schedules = []plimsollv1alpha1.Schedule{horizontaltest.Always(3)}
		var o controllerhorizontal.Policies
		options := observehorizontal.DefaultOptions()
		policy := func(change func(*plimsollv1alpha1.WorkloadAutoscaler)) any {
			object = object.DeepCopy()
			change(object)
			p := o.Of(observehorizontal.WorkloadAutoscaler(object), options)
			return p.WorkloadAutoscaler
		}
		first := policy(func(*plimsollv1alpha1.WorkloadAutoscaler) {})
		if policy(func(w *plimsollv1alpha1.WorkloadAutoscaler) { w.Status.DesiredReplicas = 5 }) != first {
			t.Error("a status write made a new policy")
		}
		// The generation of an edit grows; that of a default that the API server has since does not.
		second := policy(func(w *plimsollv1alpha1.WorkloadAutoscaler) { w.Spec.SyncPeriodSeconds = ptr.To[int32](7) })
		if second == first {
			t.Error("another spec made no new policy")
		}
		third := policy(func(w *plimsollv1alpha1.WorkloadAutoscaler) { w.Unreadable = "no number" })
		if third == second {
			t.Error("a spec that cannot be read made no new policy")
		}
		options.Divergences = divergence.None
		if policy(func(*plimsollv1alpha1.WorkloadAutoscaler) {}) == third {
			t.Error("other options made no new policy")
		}
	})
}

// TestTimeZonesAreShared: the schedules of ten thousand objects in one time zone have one copy of it.
func TestTimeZonesAreShared(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		object := horizontaltest.WorkloadOf(w.Web("web", 2))
		schedule := horizontaltest.Always(3)
		schedule.TimeZone = "America/New_York"
		object.Spec.Schedules = []plimsollv1alpha1.Schedule{schedule}
		var one, other controllerhorizontal.Policies
		first := one.Of(observehorizontal.WorkloadAutoscaler(object), observehorizontal.DefaultOptions())
		second := other.Of(observehorizontal.WorkloadAutoscaler(object), observehorizontal.DefaultOptions())
		zone := first.WorkloadAutoscaler.Schedules[0].Location
		if zone == nil || zone != second.WorkloadAutoscaler.Schedules[0].Location {
			t.Errorf("two copies of %v", zone)
		}
	})
}
