package loadhistory

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// decided is a random history with its decisions. Each decision has another count.
type decided struct {
	history History
	at      []time.Time
	counts  []int32
}

func randomlyDecided(random *rand.Rand, span int) *decided {
	d := &decided{}
	count, every := int32(1), 1+random.IntN(20)
	for second := random.IntN(100); second < span; second += every + random.IntN(3) {
		if random.IntN(200) == 0 {
			second += random.IntN(1200) // a gap without decisions
		}
		if random.IntN(6) == 0 {
			count++
		}
		d.at, d.counts = append(d.at, timelineAfter(second)), append(d.counts, count)
		d.history.Add(timelineAfter(second), Point{Load: 1, Wanted: count, Ready: count})
	}
	return d
}

// isAfterGap reports whether, before the point with this moment, there was no decision for the length of a point.
func (d *decided) isAfterGap(moment time.Time) bool {
	return slices.ContainsFunc([]time.Duration{time.Minute, 5 * time.Minute}, func(every time.Duration) bool {
		begin := moment.Truncate(every)
		return !slices.ContainsFunc(d.at, func(at time.Time) bool {
			return at.Before(begin) && !at.Before(begin.Add(-every))
		})
	})
}

// wrong returns the error of a cell's counts, or nothing.
func (d *decided) wrong(c *Cell, begin, end time.Time) string {
	first := slices.Index(d.counts, c.Wanted)
	if first < 0 || c.Ready != c.Wanted {
		return "they were never recorded"
	}
	if !d.at[first].Before(end) && !d.isAfterGap(begin) {
		return "they were recorded later"
	}
	next := first + slices.IndexFunc(d.counts[first:], func(other int32) bool { return other != c.Wanted })
	if next >= first && begin.Sub(d.at[next]) > 5*time.Minute {
		return "they were others already"
	}
	return ""
}

// TestDrawnCountsHeld: over random histories and times, the counts of each cell are those of a decision that was made
// before the cell ends, and not long before.
func TestDrawnCountsHeld(t *testing.T) {
	for seed := range uint64(200) {
		random := rand.New(rand.NewPCG(seed, 1))
		span := []int{600, 3000, 8 * 3600, 40 * 3600}[seed%4]
		d := randomlyDecided(random, span)
		from := timelineAfter(random.IntN(span))
		to := from.Add(time.Duration(1+random.IntN([]int{60, 900, 3600, span}[random.IntN(4)])) * time.Second)
		minutes, _ := MinutesOf(&d.history, from, to)
		for name, line := range map[string]Timeline{"timeline": TimelineOf(&d.history, from, to), "minutes": minutes} {
			for i := range line.Cells {
				begin := line.Start.Add(time.Duration(i) * line.Step)
				c := &line.Cells[i]
				if !c.HasCounts() {
					continue
				}
				if wrong := d.wrong(c, begin, begin.Add(line.Step)); wrong != "" {
					t.Errorf("seed %d, %s of %v, cell %d at %s: %+v: %s", seed, name, line.Step, i,
						begin.Format(time.TimeOnly), *c, wrong)
					break
				}
			}
		}
	}
}
