package histogram

import (
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical"
)

const day = 24 * time.Hour

var (
	cpu    = ShapeOf(vertical.CPU, day)
	memory = ShapeOf(vertical.Memory, day)
	began  = time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC) // a multiple of a day
)

func TestStart(t *testing.T) {
	for bucket, want := range map[uint64]float64{
		0: 0, 1: 0.01, 2: 0.0205, 10: 0.12577892535548821, 50: 2.0934799571507351, 100: 26.1002515692607,
		174: 972.4756275284379, 175: 1021.1094089048601,
	} {
		// Saved starts have six decimals or all: no start is a power of two.
		if got := cpu.Start(bucket); math.Abs(got-want) > 1e-9*want {
			t.Errorf("bucket %d begins at %v cores, want %v", bucket, got, want)
		}
		if got := memory.Start(bucket); math.Abs(got-want*1e9) > 1e-9*want*1e9 {
			t.Errorf("bucket %d begins at %v bytes, want %v", bucket, got, want*1e9)
		}
	}
	if got := cpu.Max(); got != cpu.Start(175) {
		t.Errorf("no percentile is above %v cores", got)
	}
}

func TestFind(t *testing.T) {
	for value, want := range map[float64]uint64{
		-1: 0, 0: 0, 0.005: 0, 0.01: 1, 0.0205: 1, 0.1: 8, 0.5: 25, 1: 36, 4: 62, 1000: 174, 5000: 175, 1e300: 175,
	} {
		if got := cpu.Find(value); got != want {
			t.Errorf("%v cores are in bucket %d, want %d", value, got, want)
		}
	}
}

// hundredths has a thousand samples of up to a core, one a minute.
func hundredths() *Histogram {
	h := &Histogram{}
	for i := range 1000 {
		h.Add(cpu, 0.01*float64(i%100), 0.1, began.Add(time.Duration(i)*time.Minute))
	}
	return h
}

func TestGoldenPercentiles(t *testing.T) {
	h := hundredths()
	for percentile, want := range map[float64]float64{0.5: 0.5111345375888706,
		0.9: 0.9032030735184495, 0.95: 0.9583632271943717} {
		if got := h.Percentile(cpu, percentile); got != want {
			t.Errorf("percentile %v is %v, want %v", percentile, got, want)
		}
	}
	c := h.Save()
	if c.Total != 128.41165996210145 || c.Weights[35] != 10000 || c.Weights[0] != 1912 || c.Weights[36] != 8017 {
		t.Errorf("saved as %+v", c)
	}
}

func TestEmpty(t *testing.T) {
	var h Histogram
	if !h.IsEmpty() || h.Percentile(cpu, 0.9) != 0 || h.Filled() != 0 {
		t.Error("nothing is not empty")
	}
	h.Add(cpu, 1, 0.1, began)
	if h.IsEmpty() {
		t.Error("a sample is nothing")
	}
	h.Subtract(cpu, 1, 0.1, began)
	if !h.IsEmpty() || h.Percentile(cpu, 0.9) != 0 || h.total != 0 {
		t.Errorf("without its only sample there is still %+v", h)
	}
}

// The last bucket has no end; its start is returned.
func TestLastBucket(t *testing.T) {
	var h Histogram
	h.Add(cpu, 1e6, 0.1, began)
	if got := h.Percentile(cpu, 0.5); got != cpu.Max() {
		t.Errorf("a million cores are %v", got)
	}
}

// The weight doubles with each half-life, so that one later sample weighs as much as all before.
func TestDecay(t *testing.T) {
	var h Histogram
	for range 15 {
		h.Add(cpu, 1, 0.1, began)
	}
	h.Add(cpu, 4, 0.1, began.Add(4*day)) // as much as 16
	if got := h.Percentile(cpu, 0.5); got != cpu.Start(63) {
		t.Errorf("half of it is at %v cores, want those of the later sample", got)
	}
}

func TestReferenceMovesAfterAHundredHalfLives(t *testing.T) {
	var h Histogram
	h.Add(cpu, 1, 0.1, began.Add(time.Hour))
	if got := h.Reference(); !got.Equal(began) {
		t.Fatalf("the reference of the first sample is %s, want the nearest midnight", got)
	}
	h.Add(cpu, 2, 0.1, began.Add(100*day))
	if got := h.Reference(); !got.Equal(began) {
		t.Errorf("after a hundred days the reference is %s", got)
	}
	h.Add(cpu, 4, 0.1, began.Add(100*day+time.Hour))
	if got := h.Reference(); !got.Equal(began.Add(100 * day)) {
		t.Errorf("an hour later the reference is %s", got)
	}
	if h.Filled() != 2 {
		t.Errorf("%d buckets have a weight; of that of a hundred days ago nothing is left", h.Filled())
	}
	if got := h.Percentile(cpu, 0.4); got != cpu.Start(cpu.Find(2)+1) {
		t.Errorf("the sample of an hour ago is lost: %v", got)
	}
}

// Upstream's Merge changes its argument.
func TestMergeLeavesItsArgumentAlone(t *testing.T) {
	older, younger := hundredths(), &Histogram{}
	younger.Add(cpu, 2, 0.1, began.Add(30*day))
	before := older.Clone()
	younger.Merge(cpu, older)
	if diff := cmp.Diff(&before, older, cmp.AllowUnexported(Histogram{})); diff != "" {
		t.Errorf("the older one was changed:\n%s", diff)
	}
	if !younger.Reference().Equal(began.Add(30 * day)) {
		t.Errorf("the reference of both is %s", younger.Reference())
	}
	if got := younger.Percentile(cpu, 0.9999); got != cpu.Start(cpu.Find(2)+1) {
		t.Errorf("the younger sample does not outweigh the older: %v", got)
	}
	copied := Histogram{}
	copied.Merge(cpu, older)
	if diff := cmp.Diff(older, &copied, cmp.AllowUnexported(Histogram{})); diff != "" {
		t.Errorf("merged into nothing it is another:\n%s", diff)
	}
}

func TestCheckpoint(t *testing.T) {
	h := hundredths()
	saved := h.Save()
	loaded, err := Load(saved)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(saved.Weights, loaded.Save().Weights); diff != "" {
		t.Errorf("saved once more it is another:\n%s", diff)
	}
	for _, percentile := range []float64{0.5, 0.9, 0.95} {
		if got, want := loaded.Percentile(cpu, percentile), h.Percentile(cpu, percentile); got != want {
			t.Errorf("percentile %v is %v after loading, want %v", percentile, got, want)
		}
	}
	if c := (&Histogram{}).Save(); len(c.Weights) != 0 || c.Total != 0 || !c.Reference.IsZero() {
		t.Errorf("nothing is saved as %+v", c)
	}
}

// A weight that is just large enough when saved may be too small when loaded (upstream: #7726).
func TestLoadedBelowEpsilon(t *testing.T) {
	var h Histogram
	h.Add(cpu, 0.5, 1, began)
	h.Add(cpu, 0.005, epsilon, began)
	loaded, err := Load(h.Save())
	if err != nil {
		t.Fatal(err)
	}
	if got := loaded.Percentile(cpu, 0.9); got != cpu.Start(26) {
		t.Errorf("after loading the percentile is %v", got)
	}
}

func TestCorruptedCheckpoints(t *testing.T) {
	some := map[int]uint32{3: 1}
	for why, c := range map[string]Checkpoint{
		"a bucket that does not exist": {Reference: began, Weights: map[int]uint32{Buckets: 1}, Total: 1},
		"a bucket below the first":     {Reference: began, Weights: map[int]uint32{-1: 1}, Total: 1},
		"negative weight":              {Reference: began, Weights: some, Total: -1},
		"no number":                    {Reference: began, Weights: some, Total: math.NaN()},
		"no end":                       {Reference: began, Weights: some, Total: math.Inf(1)},
		"no time":                      {Weights: some, Total: 1},
	} {
		if h, err := Load(c); err == nil || !h.IsEmpty() {
			t.Errorf("%s is loaded as %+v, %v", why, h, err)
		}
	}
}

func TestCells(t *testing.T) {
	for n := range 200 {
		if got := make(cells, words(n)).len(); got != n {
			t.Errorf("%d words have %d buckets, want %d", words(n), got, n)
		}
	}
}
