package load

import (
	"bytes"
	"compress/gzip"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/workloadmodel"
)

func TestTrace(t *testing.T) {
	// Rows of a minute, of which two are missing.
	text := "timestamp,value\n1000,5\n1060,7\n1240,2\n1300,1\n"
	l, err := ReadTrace("t.csv", strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	if l.Length != 6*time.Minute || l.Peak != 7 {
		t.Errorf("%v long with a peak of %v", l.Length, l.Peak)
	}
	for at, want := range map[time.Duration]float64{
		0: 5, 59 * time.Second: 5, 60 * time.Second: 7, 120 * time.Second: 0, 240 * time.Second: 2, 330 * time.Second: 1,
	} {
		if got := l.Rate(at); got != want {
			t.Errorf("at %v: %v, want %v", at, got, want)
		}
	}
	if got := l.Mean(30*time.Second, 90*time.Second); got != 6 {
		t.Errorf("mean %v, want 6", got)
	}
	if got := l.SpedUp(2).Rate(31 * time.Second); got != 7 {
		t.Errorf("twice as fast: %v, want 7", got)
	}
}

// TestTimes: a trace with times as in RFC 3339 is the one with the same Unix seconds, its first row included.
func TestTimes(t *testing.T) {
	for _, heading := range []string{"", "time,requests\n"} {
		text := heading + "2026-11-28T03:20:30Z,5\n2026-11-28T04:21:30+01:00,7\n2026-11-28T03:22:30.5Z,2\n"
		l, err := ReadTrace("t.csv", strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		if start := time.Date(2026, 11, 28, 3, 20, 30, 0, time.UTC); !l.Start.Equal(start) {
			t.Errorf("it starts at %s, want %s", l.Start, start)
		}
		if a, b := l.Rate(59*time.Second), l.Rate(60*time.Second); a != 5 || b != 7 {
			t.Errorf("%v and %v, want 5 and 7", a, b)
		}
	}
}

func TestTraceErrors(t *testing.T) {
	tests := map[string]struct{ text, want string }{
		"no rows":      {"timestamp,value\n", "t.csv:1: 0 rows"},
		"one field":    {"1,2\n3\n", `t.csv:2: "3" is not of the form timestamp,value`},
		"not a time":   {"1,2\nx,3\n", `t.csv:2: timestamp "x"`},
		"not a value":  {"1,2\n2,NaN\n", `t.csv:2: value "NaN"`},
		"negative":     {"1,2\n2,-3\n", `t.csv:2: value "-3"`},
		"out of order": {"2,2\n1,3\n", "t.csv:2: timestamp 1 is not after"},
		"a long line":  {"1,2\n2,3\n" + strings.Repeat("9", 5000), "t.csv:3: "},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := ReadTrace("t.csv", strings.NewReader(test.text))
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
	if _, err := ReadTrace("t.csv.gz", strings.NewReader("no gzip")); err == nil {
		t.Error("a file that is no gzip is read")
	}
}

func TestParse(t *testing.T) {
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	_, _ = w.Write([]byte("1,2\n61,4\n"))
	_ = w.Close()
	file := filepath.Join(t.TempDir(), "trace.csv.gz")
	if err := os.WriteFile(file, packed.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	peaks := map[string]float64{
		file: 4, "step:10@0s,100@30s": 100, "ramp:10@0s,90@5m": 90, "sine:mean=100,amplitude=50,period=10m": 150,
		"poisson:7": 7, "poisson:mean=7,burstiness=3": 7,
	}
	for text, want := range peaks {
		l, err := Parse(text)
		if err != nil || math.Abs(l.Peak-want) > 0.01 {
			t.Errorf("%s: peak %v, %v, want %v", text, l, err, want)
		}
	}
	if l, err := Parse("poisson:mean=7,burstiness=3"); err != nil || l.Burstiness != 3 {
		t.Errorf("%+v, %v", l, err)
	}
	for text, want := range map[string]string{
		"nowhere.csv": "no such file", "poisson:x": "no number", "poisson:burstiness=2": "say how much",
		"generated:x": "known are batch", "step:1": "RATE@TIME", "poisson:rate=3": "unknown field",
	} {
		if _, err := Parse(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

func TestGenerated(t *testing.T) {
	for _, name := range GeneratedNames() {
		l, err := Generated(name)
		if err != nil || l.Length != day || l.Peak < 40 || l.Peak > 130 {
			t.Errorf("%s: %+v, %v", name, l, err)
		}
		again, err := Generated(name)
		if err != nil || again.Peak != l.Peak {
			t.Errorf("%s is not the same twice", name)
		}
	}
}

// TestArrivals: the number of requests is that of the load, its variance what the
// burstiness says, and all of it comes from the seed.
func TestArrivals(t *testing.T) {
	for _, test := range []struct{ mean, burstiness float64 }{{5, 1}, {5, 0}, {50, 4}, {2000, 1}, {2000, 10}} {
		draw := func(seed uint64) (mean, variance float64) {
			a, err := NewArrivals(ArrivalsConfig{
				Load: FromShape("", workloadmodel.Constant(test.mean/2)), PerUnit: 2, Burstiness: test.burstiness, Seed: seed,
			})
			if err != nil {
				t.Fatal(err)
			}
			const n = 20000
			before, squares := 0.0, 0.0
			for s := 1; s <= n; s++ {
				total := a.Requests(time.Duration(s) * time.Second)
				squares += (total - before - test.mean) * (total - before - test.mean)
				before = total
			}
			return before / n, squares / n
		}
		mean, variance := draw(1)
		if math.Abs(mean/test.mean-1) > 0.02 {
			t.Errorf("%+v: a mean of %v", test, mean)
		}
		if want := test.burstiness * test.mean; math.Abs(variance-want) > 0.06*want {
			t.Errorf("%+v: a variance of %v, want %v", test, variance, want)
		}
		if again, _ := draw(1); again != mean {
			t.Errorf("%+v: %v, then %v", test, mean, again)
		}
		if other, _ := draw(2); other == mean && test.burstiness > 0 {
			t.Errorf("%+v: two seeds, one load", test)
		}
	}
	if _, err := NewArrivals(ArrivalsConfig{Burstiness: math.NaN()}); err == nil {
		t.Error("a burstiness of NaN is taken")
	}
}

// TestArrivalsBackwards: the model asks for the end of a step before its beginning.
func TestArrivalsBackwards(t *testing.T) {
	a, err := NewArrivals(ArrivalsConfig{Load: FromShape("", workloadmodel.Constant(10)), PerUnit: 1, Before: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	for _, at := range []time.Duration{time.Second, 500 * time.Millisecond, 2500 * time.Millisecond,
		1500 * time.Millisecond} {
		if got, want := a.Requests(at), 10*at.Seconds(); math.Abs(got-want) > 1e-9 {
			t.Errorf("at %v: %v, want %v", at, got, want)
		}
	}
}

func FuzzTrace(f *testing.F) {
	f.Add("timestamp,value\n1000,5\n1060,7\n")
	f.Add("1,2\n2,1e300\n9,3\n")
	f.Fuzz(func(t *testing.T, text string) {
		l, err := ReadTrace("t.csv", strings.NewReader(text))
		if err != nil {
			return
		}
		if m := l.Mean(0, max(l.Length, time.Second)); !(m >= 0) && !math.IsInf(m, 0) {
			t.Errorf("a mean of %v", m)
		}
	})
}

// TestMissingRows: where rows of a trace are missing its value is not known, however fast it goes.
func TestMissingRows(t *testing.T) {
	l, err := ReadTrace("trace.csv", strings.NewReader("1763884800.5,1\n1763884860.5,1\n1763885160.5,1\n1763885220.5,1\n"))
	if err != nil {
		t.Fatal(err)
	}
	if want := time.Date(2025, 11, 23, 8, 0, 0, 0, time.UTC); !l.Start.Equal(want) {
		t.Errorf("begins at %v, want %v", l.Start, want)
	}
	for at, want := range map[time.Duration]bool{
		0: false, 119 * time.Second: false, 2 * time.Minute: true, 6*time.Minute - 1: true, 6 * time.Minute: false,
		time.Hour: false,
	} {
		if got := l.IsMissing(at); got != want {
			t.Errorf("at %v missing: %v", at, got)
		}
		if got := l.SpedUp(4).IsMissing(at / 4); got != want {
			t.Errorf("at %v missing: %v, four times as fast", at, got)
		}
	}
}
