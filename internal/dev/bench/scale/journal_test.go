package scale

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"
)

var start = time.Unix(1_790_000_000, 0)

func at(seconds float64) time.Time { return start.Add(time.Duration(seconds * float64(time.Second))) }

// journalOf notes decisions of each object at seconds after the start, with samples half a second old.
func journalOf(objects ...[]float64) *journal {
	j := newJournal(len(objects), start)
	for object, times := range objects {
		for _, seconds := range times {
			j.note(object, decision{at: at(seconds), age: 500 * time.Millisecond, aged: true})
		}
	}
	return j
}

func TestPeriodsOfAStretch(t *testing.T) {
	for name, c := range map[string]struct {
		objects [][]float64
		want    []float64
		waiting int
	}{
		"a period counts where it ends":                        {[][]float64{{5, 15, 29}}, []float64{10, 14}, 0},
		"it begins before the stretch":                         {[][]float64{{1, 11, 45}}, []float64{10}, 0},
		"the first decision ends none, the wait at the end is": {[][]float64{{12}}, []float64{18}, 1},
		"an object that is only waited for since before":       {[][]float64{{4, 9}}, []float64{21}, 1},
		"one that was never decided waits since the start":     {[][]float64{nil}, []float64{30}, 1},
		"the ends: after the first, up to the last":            {[][]float64{{2, 10, 30}}, []float64{20}, 0},
		"objects do not mix":                                   {[][]float64{{1, 12}, {2, 23}}, []float64{11, 21}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			got := journalOf(c.objects...).between(at(10), at(30))
			if diff := cmp.Diff(c.want, got.periods, cmpopts.EquateApprox(0, 1e-9)); diff != "" {
				t.Error(diff)
			}
			if got.waiting != c.waiting {
				t.Errorf("%d wait, want %d", got.waiting, c.waiting)
			}
		})
	}
}

func TestJournalCounts(t *testing.T) {
	j := journalOf([]float64{1, 11, 21}, []float64{15}, nil)
	if j.decided() != 2 || j.total() != 4 {
		t.Errorf("%d objects decided in %d decisions", j.decided(), j.total())
	}
	for from, want := range map[float64]int{10: 1, 20.5: 1, 21: 0} {
		if got := j.repeated(at(from)); got != want {
			t.Errorf("after %v s %d objects are decided again, want %d", from, got, want)
		}
	}
}

func TestAgesOfAStretch(t *testing.T) {
	j := journalOf([]float64{5, 15})
	j.note(0, decision{at: at(16), age: time.Second, aged: true})
	j.note(0, decision{at: at(17)})
	j.note(0, decision{at: at(18), age: time.Second, aged: true, oldest: 3 * time.Second})
	got := j.between(at(10), at(30))
	if diff := cmp.Diff([]float64{0.5, 1, 1}, got.ages); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]float64{3}, got.oldest); diff != "" {
		t.Error(diff)
	}
}

// Decisions of several goroutines may be noted out of order; the periods are those of the sorted times.
func TestOrderOfNotesPlaysNoPart(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		times := rapid.SliceOfN(rapid.Float64Range(0, 40), 1, 30).Draw(t, "times")
		sorted := slices.Sorted(slices.Values(times))
		got, want := journalOf(times).between(at(10), at(30)), journalOf(sorted).between(at(10), at(30))
		if diff := cmp.Diff(want.periods, got.periods); diff != "" {
			t.Fatal(diff)
		}
	})
}
