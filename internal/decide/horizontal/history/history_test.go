package history_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/history"
)

var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

func at(seconds int) time.Time { return noon.Add(time.Duration(seconds) * time.Second) }

func since(seconds int) func(time.Time) bool {
	return func(t time.Time) bool { return !t.Before(at(seconds)) }
}

// TestRecommendationsAgainstList: for windows of any length and in any order, the deques return the same results as a
// full search of the list.
func TestRecommendationsAgainstList(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var r history.Recommendations
		var list []history.Recommendation
		now, expired := 0, 0
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			now += rapid.IntRange(0, 5).Draw(t, "gap")
			if rapid.IntRange(0, 9).Draw(t, "expire") == 0 {
				expired = max(expired, now-rapid.IntRange(0, 40).Draw(t, "keep"))
				r.Expire(at(expired))
			}
			entry := history.Recommendation{Time: at(now), Replicas: rapid.Int32Range(0, 9).Draw(t, "replicas")}
			r.Add(entry.Time, entry.Replicas)
			list = append(list, entry)

			inside := since(max(expired, now-rapid.IntRange(0, 60).Draw(t, "window")))
			high, low := int32(-1), int32(10)
			for _, e := range list {
				if inside(e.Time) {
					high, low = max(high, e.Replicas), min(low, e.Replicas)
				}
			}
			gotHigh, _ := r.Highest(inside)
			gotLow, _ := r.Lowest(inside)
			if gotHigh.Replicas != high || gotLow.Replicas != low {
				t.Fatalf("highest %d, want %d; lowest %d, want %d; of %v", gotHigh.Replicas, high, gotLow.Replicas, low, list)
			}
		}
	})
}

// TestRecommendationsExample shows which entries the deques keep.
func TestRecommendationsExample(t *testing.T) {
	var r history.Recommendations
	for i, n := range []int32{5, 3, 4, 4, 2} {
		r.Add(at(i), n)
	}
	want := history.Recommendations{
		Highs: []history.Recommendation{{Time: at(0), Replicas: 5}, {Time: at(3), Replicas: 4}, {Time: at(4), Replicas: 2}},
		Lows:  []history.Recommendation{{Time: at(4), Replicas: 2}},
	}
	if diff := cmp.Diff(want, r); diff != "" {
		t.Errorf("3 and the first 4 can never be the highest again (-want +got):\n%s", diff)
	}
	r.Expire(at(3))
	want.Highs = want.Highs[1:]
	if diff := cmp.Diff(want, r); diff != "" {
		t.Errorf("what is exactly as old as the cutoff stays (-want +got):\n%s", diff)
	}
	r.Expire(at(9))
	if !r.Empty() {
		t.Errorf("nothing is left, got %v", r)
	}
	if _, found := r.Highest(since(0)); found {
		t.Error("nothing has no highest")
	}
}

func TestRecommendationsClone(t *testing.T) {
	var r history.Recommendations
	r.Add(at(0), 5)
	c := r.Clone()
	r.Add(at(1), 7)
	if c.Highs[0].Replicas != 5 || len(c.Lows) != 1 {
		t.Errorf("the copy changed with the original: %v", c)
	}
}

// TestChangesWithin: Within adds up the changes that are younger than the period.
func TestChangesWithin(t *testing.T) {
	c := history.Changes{{Time: at(0), Replicas: 1}, {Time: at(10), Replicas: 2}, {Time: at(20), Replicas: 4}}
	for name, tt := range map[string]struct {
		now    int
		period time.Duration
		want   int64
	}{
		"all":                      {20, time.Minute, 7},
		"exactly as old":           {20, 20 * time.Second, 6},
		"a nanosecond longer":      {20, 20*time.Second + 1, 7},
		"none":                     {80, time.Minute, 0},
		"now belongs to every one": {20, 1, 4},
		"an empty period":          {20, 0, 0},
	} {
		if got := c.Within(at(tt.now), tt.period); got != tt.want {
			t.Errorf("%s: got %d, want %d", name, got, tt.want)
		}
	}
}

// TestChangesAdd: a new entry replaces an outdated one, the last of several first, as in upstream's list.
func TestChangesAdd(t *testing.T) {
	var c history.Changes
	c = c.Add(at(0), 1, time.Minute)
	c = c.Add(at(60), 2, time.Minute)
	c = c.Add(at(200), 3, time.Minute)
	want := history.Changes{{Time: at(0), Replicas: 1, Outdated: true}, {Time: at(200), Replicas: 3}}
	if diff := cmp.Diff(want, c); diff != "" {
		t.Errorf("exactly as old as the longest period is not outdated; of two outdated the last goes (-want +got):\n%s",
			diff)
	}
	if got := c.Within(at(200), time.Hour); got != 4 {
		t.Errorf("got %d: an outdated entry counts if a longer period comes to include it", got)
	}
	c = c.Add(at(201), 4, time.Hour)
	want = history.Changes{{Time: at(201), Replicas: 4}, {Time: at(200), Replicas: 3}}
	if diff := cmp.Diff(want, c, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("an entry once outdated stays so (-want +got):\n%s", diff)
	}
}
