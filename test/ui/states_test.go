//go:build ui

package ui

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/plimsoll-dev/plimsoll/internal/ui/view"
)

// checkStates checks that what pictures show could be: the numbers of each autoscaler agree with each other, and those
// of the settings that are played with the HPA's limits.
func checkStates(t *testing.T, cluster *madeUp) {
	t.Helper()
	for i := range cluster.rows {
		checkRow(t, &cluster.rows[i])
	}
	for _, object := range cluster.objects {
		if object.Row.Kind != view.VPA {
			checkState(t, object)
		}
	}
	for name, played := range map[string]view.Played{"as it is": cluster.played.AsIs, "with the changes": cluster.played.Changed} {
		if least, most := slices.Min(played.Desired), slices.Max(played.Desired); least < 2 || most > 12 {
			t.Errorf("%s, %d to %d replicas are played between 2 and 12", name, least, most)
		}
		if most := slices.Max(cluster.played.Load); most > 12 {
			t.Errorf("a load of %v pods at the target", most)
		}
	}
}

// checkRow: the desired count is within its bounds, and is the one that the utilization asks for.
func checkRow(t *testing.T, row *view.Row) {
	t.Helper()
	if row.Desired == nil || row.Load == nil {
		return
	}
	desired, current := *row.Desired, *row.Current
	if desired < *row.Min || desired > *row.Max || current > *row.Max {
		t.Errorf("%s: %d → %d of %d to %d", row.ID, current, desired, *row.Min, *row.Max)
	}
	asks := current
	if ratio := *row.Load.Ratio; math.Abs(ratio-1) > 0.1 {
		asks = int32(math.Ceil(ratio*float64(current) - 1e-9))
	}
	if min(max(asks, *row.Min), *row.Max) != desired || asks > *row.Max && row.Health == view.OK {
		t.Errorf("%s: %s of %d pods asks for %d, desired are %d; it is %s", row.ID, row.Load.Text, current, asks, desired, row.Health)
	}
	if n := len(row.Counts); n > 0 && row.Counts[n-1].Desired != desired {
		t.Errorf("%s: desired %d, and %d at last", row.ID, desired, row.Counts[n-1].Desired)
	}
}

// checkState: the history ends with the row, its changes are those of its points, each has an event, and metrics, pods
// and sentences have the same numbers.
func checkState(t *testing.T, o *view.Object) {
	t.Helper()
	checkRow(t, &o.Row)
	last := o.History.Points[len(o.History.Points)-1]
	if *last.Wanted != *o.Row.Desired || *last.Ready != *o.Row.Current || math.Abs(*last.Load/float64(*last.Ready)-*o.Row.Load.Ratio) > 0.02 {
		t.Errorf("the history ends with %d desired, %d ready and a load of %.2f pods, the row says %d, %d and %s", *last.Wanted, *last.Ready, *last.Load,
			*o.Row.Desired, *o.Row.Current, o.Row.Load.Text)
	}
	checkLoads(t, o)
	checkChanges(t, o)
	asked := int32(0)
	for _, m := range o.Metrics {
		asked = max(asked, *m.Replicas)
		if pods := *m.Counted + len(m.SetAside); pods != int(*o.Row.Current) {
			t.Errorf("%s: %d pods of %d", m.Name, pods, *o.Row.Current)
		}
	}
	if asked != *o.Row.Desired {
		t.Errorf("the metrics ask for %d, %d are desired", asked, *o.Row.Desired)
	}
	for _, ahead := range o.Ahead {
		if ahead.Replicas > *o.Row.Max || ahead.Replicas == *o.Row.Desired {
			t.Errorf("%d replicas come, of %d at most, and %d are desired", ahead.Replicas, *o.Row.Max, *o.Row.Desired)
		}
	}
}

// checkChanges: each change follows the one before, and has an event; the last one led to what is desired.
func checkChanges(t *testing.T, o *view.Object) {
	t.Helper()
	before := o.History.Changes[0].From
	for _, c := range o.History.Changes {
		if c.From != before || c.To > *o.Row.Max || !slices.ContainsFunc(o.Events, func(e view.Event) bool {
			return e.At-c.Time.UnixMilli() == 1000 && strings.HasPrefix(e.Message, "New size: ")
		}) {
			t.Errorf("change %+v after %d", c, before)
		}
		before = c.To
	}
	if before != *o.Row.Desired || o.History.Changes[len(o.History.Changes)-1].Time.UnixMilli() != o.Row.Scaled {
		t.Errorf("the last change is to %d, and %d are desired", before, *o.Row.Desired)
	}
}

// checkLoads: each point has the load by each metric, and the largest of these is its load.
func checkLoads(t *testing.T, o *view.Object) {
	t.Helper()
	for i, point := range o.History.Points {
		most := 0.0
		for _, m := range o.History.Metrics {
			if len(m.Loads) != len(o.History.Points) {
				t.Fatalf("%d loads by %s, %d points", len(m.Loads), m.Name, len(o.History.Points))
			}
			most = max(most, *m.Loads[i])
		}
		if most != *point.Load {
			t.Errorf("a load of %v at %s, of %v by the metrics", *point.Load, point.Time, most)
		}
	}
}
