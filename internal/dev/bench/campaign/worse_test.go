package campaign

import (
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plimsoll-dev/plimsoll/internal/dev/bench/report"
)

// results are of cases with these seconds short of capacity for upstream and for Plimsoll, seed by seed.
func results(short map[string][2][]float64, names ...string) *Results {
	r := &Results{Sides: []string{upstream.Name, plimsoll.Name}, Kubelets: kubelets[0].Name, Cases: len(names)}
	for range short[names[0]][0] {
		r.Seeds = append(r.Seeds, uint64(len(r.Seeds)+1))
	}
	for _, name := range names {
		family, _, _ := strings.Cut(name, "/")
		for k, seed := range r.Seeds {
			for i, side := range r.Sides {
				r.Plays = append(r.Plays, Play{Case: name, Family: family, Side: side, Seed: seed, Figures: Figures{
					ShortSeconds: short[name][i][k], PodHours: 1, FirstUpSeconds: report.Figure(math.NaN()),
				}})
			}
		}
	}
	return r
}

// TestDifference: 3 and 5 more are 4 on average; each is 1 off, so that s² = 2/(2-1) and the error sqrt(2/2) = 1.
func TestDifference(t *testing.T) {
	mean, standardError := difference([]float64{13, 25}, []float64{10, 20})
	if mean != 4 || standardError != 1 {
		t.Errorf("got %v ± %v", mean, standardError)
	}
	if mean, standardError := difference([]float64{3}, []float64{1}); mean != 2 || !math.IsNaN(standardError) {
		t.Errorf("one pair: got %v ± %v", mean, standardError)
	}
}

func TestWorse(t *testing.T) {
	r := results(map[string][2][]float64{
		"a/00": {{10, 10, 10}, {30, 31, 32}},       // by 21 ± 0.6
		"a/01": {{10, 10, 10}, {14, 14, 14}},       // by 4 alone
		"b/00": {{200, 200, 200}, {215, 215, 215}}, // by 7.5 %
		"b/01": {{10, 10, 10}, {0, 20, 60}},        // by 17 ± 17.6
		"b/02": {{40, 40, 40}, {1, 2, 3}},          // better
		"b/03": {{10, 10, 10}, {90, 91, 92}},       // by 81
	}, "a/00", "a/01", "b/00", "b/01", "b/02", "b/03")
	worse, better := r.worse(&limits[0])
	var names []string
	for _, w := range worse {
		names = append(names, w.Case)
	}
	if diff := cmp.Diff([]string{"b/03", "a/00"}, names); diff != "" || better != 1 {
		t.Errorf("better: %d, worse (-want +got):\n%s", better, diff)
	}
	if w := worse[1]; w.Upstream != 10 || w.Added != 21 || math.Abs(float64(w.Error)-1/math.Sqrt(3)) > 1e-12 {
		t.Errorf("got %+v", w)
	}
	var out strings.Builder
	if err := r.WriteTables(&out, false); err != nil {
		t.Fatal(err)
	}
	const want = "go run -C internal/dev ./cmd/bench campaign --cases='^b/03$' --seeds=1,2,3 --trace\n"
	if !strings.Contains(out.String(), want) {
		t.Errorf("no %q in\n%s", want, &out)
	}
}

// TestRatio: sums of 40 and 30. The d = o - 0.75*u of the seeds are 2.5 and -2.5, so that s² = 12.5; 2*s² is 25, and 5
// is an eighth of 40.
func TestRatio(t *testing.T) {
	r := results(map[string][2][]float64{"a/00": {{10, 30}, {10, 20}}}, "a/00")
	if got := r.Ratio(shortColumn); got.Ratio != 0.75 || math.Abs(got.Error-0.125) > 1e-12 {
		t.Errorf("got %+v", got)
	}
}

func TestSums(t *testing.T) {
	r := results(map[string][2][]float64{"a/00": {{10, 30}, {10, 20}}, "b/00": {{1, 2}, {3, 4}}}, "a/00", "b/00")
	var short []string
	for _, row := range r.familyTable().Rows {
		short = append(short, row[0]+": "+row[2])
	}
	if diff := cmp.Diff([]string{"a: 40 / 30  0.75", "b: 3 / 7  2.33", "all: 43 / 37  0.86"}, short); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"short, s", "43", "37", "0.86"}, r.sumTable().Rows[0]); diff != "" {
		t.Error(diff)
	}
}
