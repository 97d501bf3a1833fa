package rate

import (
	"testing"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/collect/kubelet/kubelettest"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/averaging"
)

// TestInterval: from texts each quarter of a second, the newest and the third newest interval last that long, the one
// between them a second, and the window reaches back as far as with texts each second. All end with the newest sample.
func TestInterval(t *testing.T) {
	const millis = 250
	start := time.Unix(1_800_000_000, 0)
	store := New(Config{})
	node := kubelettest.Filled(1, 1, start.Add(-time.Hour))
	query := Query{Node: "node-1", Namespace: node.Pods[0].Namespace, Pod: node.Pods[0].Name, Window: DefaultSpan}
	for i := range 200 {
		now := start.Add(time.Duration(i*millis) * time.Millisecond)
		// Half a core until 40 s, two cores from then on.
		milli := int64(500)
		if i > 160 {
			milli = 2000
		}
		node.Burn(milli * millis * 1_000_000 / 1000)
		if _, err := store.Ingest("node-1", now, node.Text(now)); err != nil {
			t.Fatal(err)
		}
		query.Now = now
		found, _ := store.Usage(query, nil)
		if len(found) != 1 || found[0].HasCPU != (i > 0) {
			t.Fatalf("%d: %+v", i, found)
		}
		c := &found[0]
		if i > 0 && !c.CPU.End.Equal(now) {
			t.Fatalf("%d: the window ends %s ago", i, now.Sub(c.CPU.End))
		}
		if i < 100 {
			continue
		}
		if c.CPU.Span < 13*time.Second || c.CPU.Span > DefaultSpan {
			t.Errorf("%d: %s", i, c.CPU.Span)
		}
		wantIntervals(t, c, now)
		if use := c.Recent[0].MilliCores(); i <= 160 && use != 500 || i > 160 && use != 2000 {
			t.Errorf("%d: %d", i, use)
		}
	}
}

// wantIntervals expects these last intervals, one after the other.
func wantIntervals(t *testing.T, c *ContainerUsage, end time.Time) {
	t.Helper()
	if c.RecentCount != averaging.RecentIntervals {
		t.Errorf("%d intervals", c.RecentCount)
	}
	for k, want := range []time.Duration{250 * time.Millisecond, time.Second, 250 * time.Millisecond} {
		interval := &c.Recent[k]
		if !interval.End.Equal(end) || interval.Span != want {
			t.Errorf("interval %d of %s, want %s, ends %s before the one behind it begins", k, interval.Span, want,
				end.Sub(interval.End))
		}
		end = end.Add(-interval.Span)
	}
}
