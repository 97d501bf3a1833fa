package update_test

import (
	"testing"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/disruption"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/divergence"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/reason"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/update"
)

// Pods that are 48 hours old request 2 cores and 4 GiB; the recommendation from little history differs.
func TestLittleHistory(t *testing.T) {
	const mi = 1 << 20
	for why, c := range map[string]struct {
		target, upper vertical.Amounts
		sure          bool
		without       divergence.Set
		want, against reason.Reason
	}{
		"less, within wide bounds": {target: vertical.Of(126, 826*mi), upper: vertical.Of(100000, 100000*mi),
			against: reason.LittleHistory},
		"less, outside of them": {target: vertical.Of(126, 826*mi), upper: vertical.Of(1500, 2000*mi),
			against: reason.LittleHistory},
		"more of one": {target: vertical.Of(3000, 826*mi), upper: vertical.Of(100000, 100000*mi),
			want: reason.LongLived},
		"the same": {target: vertical.Of(2000, 4096*mi), upper: vertical.Of(100000, 100000*mi),
			against: reason.NothingChanges},
		"less, and much is known": {target: vertical.Of(126, 826*mi), upper: vertical.Of(100000, 100000*mi), sure: true,
			want: reason.LongLived},
		"as upstream": {
			target: vertical.Of(126, 826*mi), upper: vertical.Of(100000, 100000*mi), without: divergence.LittleHistory,
			want: reason.LongLived,
		},
	} {
		p := update.DefaultPolicy()
		p.Mode, p.Divergences = vertical.ModeInPlaceOrRecreate, p.Divergences&^c.without
		o := &update.Observation{
			Recommended: []vertical.Recommendation{{Container: "app", Lower: vertical.Of(25, 250*mi), Target: c.target,
				Upper: c.upper}},
			LittleHistory: !c.sure, Workload: disruption.Workload{},
		}
		requests := vertical.Of(2000, 4096*mi)
		for _, name := range []string{"a", "b"} {
			o.Pods = append(o.Pods, vertical.Pod{
				UID: name, Name: name, Node: "n", Created: epoch.Add(-48 * time.Hour), Started: epoch.Add(-48 * time.Hour),
				Ready: true,
				Containers: []vertical.PodContainer{{
					Name: "app", Requests: requests, Limits: requests, Spec: vertical.Resized{Requests: requests, Limits: requests},
				}},
			})
		}
		d, _ := update.Decide(epoch, &p, update.State{}, o)
		for i := range d.Pods {
			v := &d.Pods[i]
			if v.Reason != c.want || c.against != reason.None && v.BlockedBy != c.against {
				t.Errorf("%s: wants %q, against %q", why, v.Reason, v.BlockedBy)
			}
		}
	}
}

// Admission does not lower a pod that requests more than little history allows. That its replacement requests as much
// does not count as a failure of admission.
func TestLittleHistoryIsNoFailureOfAdmission(t *testing.T) {
	shape := func(p *vertical.Pod, memory vertical.Amount) {
		p.Containers[0].Requests, p.Containers[0].Limits = vertical.Of(2000, memory), vertical.Amounts{}
		p.Containers[0].Spec = vertical.Resized{Requests: p.Containers[0].Requests}
	}
	f := newFleet(vertical.ModeRecreate, 4, func(_ int, p *vertical.Pod) { shape(p, 100*mebibyte) })
	f.change = func(o *update.Observation) { o.LittleHistory = true }
	f.replace = func(p *vertical.Pod) {
		admitted(p)
		shape(p, 500*mebibyte)
	}
	for range 10 {
		f.pass()
	}
	if f.evicted != 4 || f.last.Circuit != reason.None {
		t.Errorf("%d evicted, circuit %q", f.evicted, f.last.Circuit)
	}
}
