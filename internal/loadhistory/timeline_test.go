package loadhistory

import (
	"math"
	"testing"
	"time"
)

var timelineBegin = time.Date(2026, 3, 2, 8, 0, 0, 0, time.UTC)

func timelineAfter(seconds int) time.Time {
	return timelineBegin.Add(time.Duration(seconds) * time.Second)
}

// recorded returns a history with a point every few seconds, without those for which of returns false.
func recorded(seconds, every int, of func(second int) (p Point, ok bool)) *History {
	h := &History{}
	for second := 0; second < seconds; second += every {
		if p, ok := of(second); ok {
			h.Add(timelineAfter(second), p)
		}
	}
	return h
}

// ramp has a load of a pod more each minute.
func ramp(second int) (Point, bool) {
	n := int32(second / 60)
	return Point{Load: float64(n) + 1, Wanted: n + 1, Ready: n, PerPodMilli: 350}, true
}

// TestResolutions: a timeline has one resolution, the finest that its whole time has.
func TestResolutions(t *testing.T) {
	h := recorded(3*86400, 1, func(second int) (Point, bool) {
		return Point{Load: 2 + float64(second)/86400, Wanted: 3, Ready: 3}, true
	})
	now := timelineAfter(3 * 86400)
	for lasts, step := range map[time.Duration]time.Duration{
		10 * time.Minute: time.Second, 24 * time.Hour: time.Minute, 72 * time.Hour: 5 * time.Minute,
	} {
		line := TimelineOf(h, now.Add(-lasts), now)
		if line.Step != step || line.Start.Before(now.Add(-lasts)) || line.End().Before(now.Add(-step)) {
			t.Errorf("the last %v: %v to %v in steps of %v", lasts, line.Start, line.End(), line.Step)
		}
		if got := time.Duration(len(line.Cells)) * step; got < lasts-2*step || got > lasts {
			t.Errorf("the last %v: %v in %d cells", lasts, got, len(line.Cells))
		}
		for i, c := range line.Cells {
			at := line.Start.Add(time.Duration(i) * step)
			want := 2 + at.Add(step/2).Sub(timelineBegin).Hours()/24
			if !c.IsRecorded || math.Abs(c.Load-want) > 0.02*want || c.Wanted != 3 || c.Ready != 3 {
				t.Fatalf("the last %v, at %v: %+v, want a load of %.2f", lasts, at, c, want)
			}
		}
	}
	if line := TimelineOf(h, now.AddDate(-1, 0, 0), now); line.End().Sub(line.Start) > 4*24*time.Hour || len(line.Cells) == 0 {
		t.Errorf("of a year: %v to %v", line.Start, line.End())
	}
}

// TestShortRecord: a record of four minutes has the resolution of seconds, for a requested time of any length.
func TestShortRecord(t *testing.T) {
	h := recorded(240, 1, ramp)
	for _, before := range []time.Duration{0, time.Hour, 24 * time.Hour, 10 * 24 * time.Hour} {
		line := TimelineOf(h, timelineBegin.Add(-before), timelineAfter(300))
		if line.Step != time.Second || !line.Start.Equal(timelineBegin) || len(line.Cells) < 239 {
			t.Errorf("%v before it: %d cells of %v from %v", before, len(line.Cells), line.Step, line.Start)
		}
	}
}

// TestCountsOfCoarsePoints: in steps finer than a point, its counts begin at its end, not before they applied. Here
// they change half a minute before each five minutes end.
func TestCountsOfCoarsePoints(t *testing.T) {
	wanted := func(second int) int32 { return 1 + int32((second+30)/300%7) }
	h := recorded(3*86400, 10, func(second int) (Point, bool) {
		return Point{Load: 2, Wanted: wanted(second), Ready: int32(second / 60 % 50)}, true
	})
	line, coarse := MinutesOf(h, timelineAfter(3600), timelineAfter(7200))
	if coarse != 60 {
		t.Fatalf("%d of 60 minutes are coarse", coarse)
	}
	for i, c := range line.Cells[5:] {
		if minute := 60 + 5 + i; c.Wanted != wanted(60*minute+59) {
			t.Errorf("minute %d: %d wanted, not %d", minute, c.Wanted, wanted(60*minute+59))
		}
	}
}

// TestBetweenDecisions: if an object is decided every 15 s, each load holds until the next decision. Minutes without a
// decision are unknown; so is a load that could not be read.
func TestBetweenDecisions(t *testing.T) {
	h := recorded(800, 15, func(second int) (Point, bool) {
		p, _ := ramp(second)
		if second >= 600 {
			p.Load = math.NaN()
		}
		return p, second < 200 || second >= 400
	})
	line := TimelineOf(h, timelineBegin, timelineAfter(800))
	for second := range line.Cells[:196] {
		c := &line.Cells[second]
		if want, _ := ramp(second / 15 * 15); !c.IsRecorded || math.Abs(c.Load-want.Load) > 0.01*want.Load ||
			c.Wanted != want.Wanted {
			t.Errorf("second %d: %+v, want %+v", second, *c, want)
		}
	}
	for second := 196; second < 405; second++ {
		if c := &line.Cells[second]; c.IsRecorded || !math.IsNaN(c.Load) {
			t.Errorf("second %d, of which nothing is recorded: %+v", second, *c)
		}
	}
	for second := 600; second < len(line.Cells); second++ {
		if c := &line.Cells[second]; !c.IsRecorded || !math.IsNaN(c.Load) || c.Wanted == 0 {
			t.Errorf("second %d, of which the load is not known: %+v", second, *c)
		}
	}
}

// TestMeans: a minute's load is the mean, and its counts are those at its end.
func TestMeans(t *testing.T) {
	h := recorded(3600, 1, func(second int) (Point, bool) {
		p := Point{Load: 2, Wanted: 2, Ready: 2}
		if second%60 >= 30 {
			p = Point{Load: 4, Wanted: 4, Ready: 3, Limit: ScaleUpLimit}
		}
		return p, true
	})
	line := TimelineOf(h, timelineBegin, timelineAfter(3600))
	for i, c := range line.Cells[:len(line.Cells)-1] {
		if math.Abs(c.Load-3) > 0.05 || c.Wanted != 4 || c.Ready != 3 || c.Limit != ScaleUpLimit {
			t.Errorf("minute %d: %+v", i, c)
		}
	}
	if loads := line.Loads(); len(loads) != len(line.Cells) || loads[1] != line.Cells[1].Load {
		t.Errorf("the loads are %v", loads)
	}
}

// TestTimelineMeansOfTime: if half of a minute has a decision each second, that half counts as much as the other.
func TestTimelineMeansOfTime(t *testing.T) {
	h := &History{}
	for second := 0; second < 3600; second++ {
		switch {
		case second%60 >= 30:
			h.Add(timelineAfter(second), Point{Load: 20, Wanted: 20})
		case second%15 == 0:
			h.Add(timelineAfter(second), Point{Load: 2, Wanted: 20})
		}
	}
	line := TimelineOf(h, timelineBegin, timelineAfter(3600))
	if len(line.Cells) != 60 {
		t.Errorf("%d minutes, want 60", len(line.Cells))
	}
	for i, c := range line.Cells[:len(line.Cells)-1] {
		if math.Abs(c.Load-11) > 0.2 {
			t.Errorf("minute %d: a load of %g, want 11", i, c.Load)
		}
	}
}

// TestNothing: a time without points has no cells.
func TestNothing(t *testing.T) {
	h := recorded(3600, 1, ramp)
	for name, line := range map[string]Timeline{
		"empty": TimelineOf(&History{}, timelineBegin, timelineAfter(3600)), "later": TimelineOf(h, timelineAfter(7200), timelineAfter(9000)),
		"none": TimelineOf(h, timelineBegin, timelineBegin), "backwards": TimelineOf(h, timelineAfter(100), timelineBegin),
	} {
		if len(line.Cells) != 0 || line.Step == 0 {
			t.Errorf("%s: %+v", name, line)
		}
	}
}

// TestTimelineMinutes: there is a cell for each minute, also if only points of five minutes are left.
func TestTimelineMinutes(t *testing.T) {
	h := recorded(3*86400, 15, func(second int) (Point, bool) {
		// With constant counts, the history would keep fine points longer.
		count := int32(2 + second/60%5)
		return Point{Load: 2 + float64(second)/86400, Wanted: count, Ready: count, PerPodMilli: 250}, true
	})
	line, coarse := MinutesOf(h, timelineBegin.AddDate(-1, 0, 0), timelineAfter(3*86400))
	if fine := len(line.Cells) - coarse; line.Step != time.Minute || len(line.Cells) < 3*1440-5 || fine < 1440 ||
		fine > 60*60 {
		t.Errorf("%d cells of %v, %d coarse", len(line.Cells), line.Step, coarse)
	}
	for i, load := range line.Loads() {
		at := line.Start.Add(time.Duration(i) * time.Minute)
		if want := 2 + at.Sub(timelineBegin).Hours()/24; math.Abs(load-want) > 0.02*want || line.PerPodMilli()[i] != 250 {
			t.Fatalf("at %v: %g, want %g", at, load, want)
		}
	}
	if _, coarse := MinutesOf(h, timelineAfter(3*86400-3600), timelineAfter(3*86400)); coarse != 0 {
		t.Errorf("%d of the last 60 minutes are coarse", coarse)
	}
}
