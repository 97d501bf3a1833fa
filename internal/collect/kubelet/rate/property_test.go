package rate_test

import (
	"fmt"
	"math/big"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/plimsoll-dev/plimsoll/internal/collect/kubelet/rate"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/averaging"
)

// truth is a container as it really is: its counter at the instants of the
// scrapes, since its last restart.
type truth struct {
	millis, cpuNanos []int64
}

func ingest(t *rapid.T, s *rate.Store, now time.Time, startMillis, cpuNanos int64) rate.Round {
	input := fmt.Sprintf("container_cpu_usage_seconds_total%s %d.%09d %d\n", labels, cpuNanos/1e9, cpuNanos%1e9,
		now.UnixMilli())
	if startMillis > 0 {
		input += fmt.Sprintf("container_start_time_seconds%s %d.%03d\n", labels, startMillis/1000, startMillis%1000)
	}
	round, err := s.Ingest("node-1", now, []byte(input))
	if err != nil {
		t.Fatal(err)
	}
	return round
}

// index returns the index of a true instant.
func (c *truth) index(t *rapid.T, millis int64) int {
	for i, m := range c.millis {
		if m == millis {
			return i
		}
	}
	t.Fatalf("an interval ends at %d, when nothing was scraped", millis)
	return 0
}

// holds checks that an interval lies between two scrapes of one life of the container and has exactly the difference of
// their counters.
func (c *truth) holds(t *rapid.T, i rate.Interval) (first, last int) {
	last = c.index(t, i.End.UnixMilli())
	first = c.index(t, i.End.Add(-i.Span).UnixMilli())
	if first >= last {
		t.Fatalf("an empty interval: %+v", i)
	}
	product := new(big.Int).Mul(big.NewInt(c.cpuNanos[last]-c.cpuNanos[first]), big.NewInt(1000))
	want := product.Div(product, big.NewInt(c.millis[last]-c.millis[first])).Int64()
	if i.NanoCores != want {
		t.Fatalf("%+v: want %d nanocores", i, want)
	}
	return first, last
}

// TestRatesAreDifferences: for any times of scrapes, load and restarts, every rate is the difference of the counter
// over its span; the newest sample ends it; no rate spans a restart; the window is filled as far as the store's samples
// allow.
func TestRatesAreDifferences(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := rate.New(rate.Config{})
		now := noon
		c := truth{}
		cpu, start := int64(rapid.IntRange(1, 1<<40).Draw(t, "cpu")), noon.Add(-time.Hour).UnixMilli()
		// Short gaps only, so that samples must be thinned out, or all kinds.
		gaps := rapid.SampledFrom([]*rapid.Generator[int]{
			rapid.IntRange(100, 900),
			rapid.OneOf(rapid.IntRange(900, 1100), rapid.IntRange(100, 5000), rapid.IntRange(100, 100_000)),
		}).Draw(t, "gaps")
		for range rapid.IntRange(1, 60).Draw(t, "scrapes") {
			gap := int64(gaps.Draw(t, "gap"))
			now = now.Add(time.Duration(gap) * time.Millisecond)
			shown := start
			switch rapid.IntRange(0, 50).Draw(t, "event") {
			case 0: // a restart that the start time shows
				start = now.UnixMilli() - rapid.Int64Range(0, gap-1).Draw(t, "before")
				cpu = int64(rapid.IntRange(1, 1<<40).Draw(t, "cpu"))
				c, shown = truth{}, start
			case 1: // one that only the counter shows
				cpu = 1 + int64(rapid.Float64Range(0, .999).Draw(t, "part")*float64(cpu-1))
				if len(c.cpuNanos) > 0 && cpu < c.cpuNanos[len(c.cpuNanos)-1] {
					c = truth{}
				}
				shown = 0
			default:
				cpu += int64(rapid.IntRange(0, 64_000_000).Draw(t, "cores")) * gap
			}
			c.millis, c.cpuNanos = append(c.millis, now.UnixMilli()), append(c.cpuNanos, cpu)
			if round := ingest(t, s, now, shown, cpu); round.Fresh != 1 || round.ClockJumps != 0 || round.Ignored != 0 {
				t.Fatalf("%+v", round)
			}
			c.check(t, s, now)
		}
	})
}

func (c *truth) check(t *rapid.T, s *rate.Store, now time.Time) {
	window := time.Duration(rapid.IntRange(1000, 20_000).Draw(t, "window")) * time.Millisecond
	usages, ok := s.Usage(rate.Query{Node: "node-1", Namespace: "shop", Pod: "web-1", Window: window, Now: now}, nil)
	if !ok && len(c.millis) > 1 {
		t.Fatal("unknown")
	}
	if !ok {
		return
	}
	u := usages[0]
	newest := len(c.millis) - 1
	if u.HasCPU != (newest > 0) || u.HasCPU != (u.RecentCount > 0) {
		t.Fatalf("%d samples since the start, and %+v", newest+1, u)
	}
	if !u.HasCPU {
		return
	}
	first, last := c.holds(t, u.CPU)
	if last != newest {
		t.Fatalf("%+v does not end with the newest sample", u.CPU)
	}
	if u.CPU.Span > window && first != newest-1 {
		t.Fatalf("%+v is longer than the window of %s and more than one interval", u.CPU, window)
	}
	c.checkRecent(t, &u)
}

// checkRecent expects the last intervals, one after the other.
func (c *truth) checkRecent(t *rapid.T, u *rate.ContainerUsage) {
	newest := len(c.millis) - 1
	end := newest
	for k, r := range u.Recent[:u.RecentCount] {
		first, last := c.holds(t, r)
		// The one in the middle is made longer; beyond the last 7 values some have been thinned out.
		mayBeLong := k == 1 && r.Span < 1500*time.Millisecond || newest-last >= 6
		if isLong := first != last-1; last != end || isLong && !mayBeLong {
			t.Fatalf("the interval %d before the newest is %+v", k, r)
		}
		end = first
	}
	if u.RecentCount < averaging.RecentIntervals && end > 0 {
		t.Fatalf("%d samples since the start, and %+v", newest+1, u)
	}
}

// TestWindowIsFilled: at any steady rate of scraping, at most one sample is missing from the window, and only where
// samples are thinned out.
func TestWindowIsFilled(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := rate.New(rate.Config{})
		period := rapid.IntRange(150, 5000).Draw(t, "period")
		now, cpu := noon, int64(1)
		for range 200 {
			now = now.Add(time.Duration(period+rapid.IntRange(-period/20, period/20).Draw(t, "jitter")) * time.Millisecond)
			cpu += 1e9
			ingest(t, s, now, 0, cpu)
		}
		usages, ok := s.Usage(rate.Query{Node: "node-1", Namespace: "shop", Pod: "web-1", Window: rate.DefaultSpan, Now: now},
			nil)
		if !ok {
			t.Fatal("unknown")
		}
		span := usages[0].CPU.Span
		// A tenth of 15 s in single intervals, or twice that where two are merged.
		coarse := max(3*time.Second, 2*time.Duration(period)*time.Millisecond)
		if span > rate.DefaultSpan || span < rate.DefaultSpan-coarse {
			t.Fatalf("scraped each %d ms, the window spans %s", period, span)
		}
	})
}

// TestEachSecond: around the usual period no sample is thinned out, so that the window is always as full as single
// intervals can fill it.
func TestEachSecond(t *testing.T) {
	for _, millis := range []int{940, 960, 990, 1000} {
		period := time.Duration(millis) * time.Millisecond
		s := rate.New(rate.Config{})
		for i := range 100 {
			now := noon.Add(time.Duration(i) * period)
			one := fmt.Sprintf("container_cpu_usage_seconds_total%s %d %d\n", labels, 10+i, now.UnixMilli())
			if _, err := s.Ingest("node-1", now, []byte(one)); err != nil {
				t.Fatal(err)
			}
			if got := ask(s, 15*time.Second, now); i >= 15 && got.span != (15*period).Seconds() {
				t.Errorf("scraped each %s, after %d scrapes the window spans %v s", period, i, got.span)
			}
		}
	}
}
