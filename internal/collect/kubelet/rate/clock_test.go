package rate

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/plimsoll-dev/plimsoll/internal/collect/kubelet/kubelettest"
)

// exchange is a request at a time that takes so long, and is answered at a time between by a clock that is so far ahead.
func exchange(sent time.Time, way, back, ahead time.Duration) *Exchange {
	return &Exchange{Sent: sent, Received: sent.Add(way + back), Date: sent.Add(way + ahead).Truncate(time.Second)}
}

// TestClock: the offset is off by no more than what an answer leaves open, also after a clock was set, and clocks that
// agree are never told apart.
func TestClock(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		within := func(name string, most time.Duration) time.Duration {
			return time.Duration(rapid.Int64Range(0, int64(most)).Draw(t, name))
		}
		now, agreed := time.Unix(1_800_000_000, 0), true
		var c clock
		for range rapid.IntRange(1, 3).Draw(t, "settings") {
			ahead := time.Duration(0)
			if !rapid.Bool().Draw(t, "agrees") {
				ahead, agreed = within("ahead", time.Hour)-30*time.Minute, false
			}
			for range rapid.IntRange(1, 20).Draw(t, "answers") {
				now = now.Add(within("pause", 2*time.Second))
				c.compare(exchange(now, within("way", time.Second), within("back", time.Second), ahead))
				if off := (c.ahead() - ahead).Abs(); off > dateStep+2*time.Second || agreed && off != 0 {
					t.Fatalf("%s ahead instead of %s: %s to %s", c.ahead(), ahead, c.least, c.most)
				}
			}
		}
	})
}

// TestClockNarrows: answers that are written at other parts of a second tell the clock to less than a second.
func TestClockNarrows(t *testing.T) {
	for _, ahead := range []time.Duration{-7300 * time.Millisecond, 0, 400 * time.Millisecond, 5 * time.Minute} {
		var c clock
		for i := range 20 {
			c.compare(exchange(time.Unix(1_800_000_000, int64(i)*1_050_000_000), 2*time.Millisecond, 3*time.Millisecond, ahead))
		}
		if off := (c.ahead() - ahead).Abs(); off > 50*time.Millisecond || ahead == 0 && off != 0 {
			t.Errorf("%s instead of %s", c.ahead(), ahead)
		}
	}
}

// TestAnswersThatTellNothing: without a Date, and with one that cannot be, nothing is known.
func TestAnswersThatTellNothing(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	for name, e := range map[string]*Exchange{
		"no date":         {Sent: now, Received: now},
		"the first year":  {Sent: now, Received: now, Date: time.Date(1, 1, 1, 0, 0, 1, 0, time.UTC)},
		"the last year":   {Sent: now, Received: now, Date: time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC)},
		"answered before": {Sent: now, Received: now.Add(-time.Second), Date: now.Add(-time.Hour)},
	} {
		var c clock
		if c.compare(e); c != (clock{}) {
			t.Errorf("%s: %+v", name, c)
		}
	}
}

// TestEndByThisMachinesClock: a window ends at a moment by this machine's clock, whatever that of the node says.
func TestEndByThisMachinesClock(t *testing.T) {
	const ahead = 40 * time.Second
	start := time.Unix(1_800_000_000, 0)
	store := New(Config{})
	node := kubelettest.Filled(1, 1, start.Add(-time.Hour))
	now := start
	for i := range 10 {
		now = start.Add(time.Duration(i) * time.Second)
		node.Burn(int64(i) * 1e8)
		store.Compare("node-1", exchange(now, 0, 0, ahead))
		if _, err := store.Ingest("node-1", now, node.Text(now.Add(ahead))); err != nil {
			t.Fatal(err)
		}
	}
	pod := &node.Pods[0]
	query := Query{
		Node: "node-1", Namespace: pod.Namespace, Pod: pod.Name, Window: time.Second, End: start.Add(5 * time.Second), Now: now,
	}
	got, _ := store.Usage(query, nil)
	if len(got) != 1 || !got[0].HasCPU || (got[0].ClockAhead-ahead).Abs() > time.Second {
		t.Fatalf("%+v", got)
	}
	if end := got[0].CPU.End.Add(-got[0].ClockAhead); !end.Equal(query.End) || got[0].CPU.NanoCores < 4e8 || got[0].CPU.NanoCores > 6e8 {
		t.Errorf("%+v", got[0])
	}
}
