package horizontaltest

import (
	"bytes"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/utils/ptr"

	plimsollv1alpha1 "github.com/plimsoll-dev/plimsoll/api/plimsoll/v1alpha1"
	controllerhorizontal "github.com/plimsoll-dev/plimsoll/internal/controller/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/divergence"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/schedules"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/statusreport"
	explainhorizontal "github.com/plimsoll-dev/plimsoll/internal/explain/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/observe"
	snapshothorizontal "github.com/plimsoll-dev/plimsoll/internal/snapshot/horizontal"
)

// Replayer saves each live decision on an object, reads the snapshot, and decides it again.
type Replayer struct {
	t         *testing.T
	Set       divergence.Set
	decisions []horizontal.Decision
	Saved     []string
}

// ReplayOf decides again every decision on an object.
func (w *World) ReplayOf(t *testing.T, object observe.Key, set divergence.Set) *Replayer {
	r := &Replayer{t: t, Set: set}
	w.Made = func(c *controllerhorizontal.Controller) { c.Inspect(object, r.decided) }
	return r
}

func (r *Replayer) decided(step *snapshothorizontal.Step, d *horizontal.Decision) {
	var file bytes.Buffer
	if err := snapshothorizontal.Encode(&file, step); err != nil {
		r.t.Error(err)
		return
	}
	text := file.String()
	r.decisions, r.Saved = append(r.decisions, d.Clone()), append(r.Saved, text)
	read, err := snapshothorizontal.NewReader(&file).Next()
	if err != nil {
		r.t.Errorf("%v:\n%s", err, text)
		return
	}
	result, _, err := explainhorizontal.Evaluate(read, horizontal.State{}, r.Set)
	if err != nil {
		r.t.Errorf("%v:\n%s", err, text)
		return
	}
	options := cmp.Options{cmpopts.IgnoreUnexported(horizontal.Decision{}), cmpopts.EquateEmpty(), cmpopts.EquateNaNs(),
		cmp.Comparer(sameSchedule), cmp.Comparer(sameZone)}
	if diff := cmp.Diff(*d, result.Decision, options); diff != "" {
		r.t.Errorf("decision %d (-live +replayed):\n%s\n%s", len(r.decisions), diff, text)
	}
	report := statusreport.Of(d, horizontal.Outcome{At: d.At})
	if diff := cmp.Diff(report, result.Report, options); diff != "" {
		r.t.Errorf("report %d (-live +replayed):\n%s\n%s", len(r.decisions), diff, text)
	}
}

// Want fails the test without a decision of that kind among the replayed ones.
func (r *Replayer) Want(what string, is func(*horizontal.Decision) bool) {
	r.t.Helper()
	for i := range r.decisions {
		if is(&r.decisions[i]) {
			return
		}
	}
	r.t.Errorf("of %d decisions none is one %s", len(r.decisions), what)
}

// sameSchedule compares schedules without their cron expressions, which are functions.
func sameSchedule(a, b *schedules.Schedule) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Name == b.Name && a.Duration == b.Duration && a.Ramp == b.Ramp &&
		a.MinReplicas == b.MinReplicas && a.MaxReplicas == b.MaxReplicas
}

func sameZone(a, b *time.Location) bool { return a.String() == b.String() }

// Always returns a schedule that is always in force.
func Always(least int32) plimsollv1alpha1.Schedule {
	return plimsollv1alpha1.Schedule{
		Name: "always", Start: "* * * * *", TimeZone: "Etc/UTC", DurationSeconds: ptr.To[int32](120), MinReplicas: &least,
	}
}
