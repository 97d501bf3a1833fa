package report

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestQuantile(t *testing.T) {
	hundred := make([]float64, 100)
	for i := range hundred {
		hundred[i] = float64(100 - i)
	}
	for name, c := range map[string]struct {
		values []float64
		q      float64
		want   float64
	}{
		"p99 of hundred is the second greatest":     {hundred, 0.99, 99},
		"p50 of hundred is the lower of the middle": {hundred, 0.5, 50},
		"p0 is the least":                           {hundred, 0, 1},
		"p100 is the greatest":                      {hundred, 1, 100},
		"p99 of few is the greatest":                {[]float64{3, 1, 2}, 0.99, 3},
		"one value is every quantile":               {[]float64{7}, 0.01, 7},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Quantile(c.values, c.q); got != c.want {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
	if !math.IsNaN(Quantile(nil, 0.5)) || !math.IsNaN(Median(nil)) {
		t.Error("nothing has a quantile")
	}
}

// A quantile is one of the values, with at least its share of them not above it and fewer below it.
func TestQuantileSplits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(rapid.Float64Range(-5, 5), 1, 50).Draw(t, "values")
		q := rapid.Float64Range(0.001, 1).Draw(t, "q")
		got := Quantile(values, q)
		below, notAbove := 0, 0
		for _, v := range values {
			if v < got {
				below++
			}
			if v <= got {
				notAbove++
			}
		}
		if notAbove == below {
			t.Fatalf("%v is none of %v", got, values)
		}
		if share := q * float64(len(values)); float64(notAbove) < share || float64(below) >= share {
			t.Fatalf("%v of %v: %d below, %d not above, want %v between", got, values, below, notAbove, share)
		}
	})
}

func TestMedian(t *testing.T) {
	values := []float64{9, 1, 5}
	if got := Median(values); got != 5 {
		t.Errorf("odd: %v", got)
	}
	if got := Median([]float64{4, 1, 3, 2}); got != 2.5 {
		t.Errorf("even: %v", got)
	}
	if diff := cmp.Diff([]float64{9, 1, 5}, values); diff != "" {
		t.Errorf("the values were changed: %s", diff)
	}
}

func TestSpreadPrints(t *testing.T) {
	for want, s := range map[string]Spread{
		"-":                         Of(math.NaN(), math.Inf(1)),
		"15.0":                      Of(15),
		"15.0 (14.9 to 15.2)":       Of(15.2, 14.9, 15.01),
		"1234 (1000 to 2000)":       Of(2000, 1000, 1234.2),
		"0.012 (0.010 to 0.020)":    Of(0.02, 0.012, 0.01),
		"0":                         Of(0, 0),
		"1.50 (1.00 to 2.00)":       Of(1, 2),
		"99.0":                      Of(99.01, 99.02, 98.99),
		"-12.0 (-100.0 to 3.0)":     Of(-12, 3, -100),
		"0.500 (0.250 to 1234.000)": Of(0.5, 0.25, 1234),
	} {
		if got := s.String(); got != want {
			t.Errorf("%v prints %q, want %q", s.Runs, got, want)
		}
	}
}

func TestSpreadAsJSON(t *testing.T) {
	got, err := json.Marshal(map[string]Spread{
		"some": Of(3, math.NaN(), 1.23456789), "none": Of(math.NaN()), "large": Of(41443328),
	})
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"large":{"median":41443300,"min":41443300,"max":41443300,"runs":[41443300]},` +
		`"none":null,"some":{"median":2.11728,"min":1.23457,"max":3,"runs":[3,1.23457]}}`
	if string(got) != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestTableStandsInLine(t *testing.T) {
	table := Table{Title: "Decisions", Head: []string{"", "upstream", "Plimsoll"}}
	table.Add("period p99, s", Of(15.2, 14.9, 15.01), 1.0)
	table.Add("µs each", 1234.5, math.NaN())
	table.Add("objects", 300, "none")
	var out strings.Builder
	if n, err := table.WriteTo(&out); err != nil || n != int64(out.Len()) {
		t.Fatalf("%d bytes of %d, %v", n, out.Len(), err)
	}
	want := strings.Join([]string{
		"Decisions",
		"",
		"                          upstream  Plimsoll",
		"-------------  -------------------  --------",
		"period p99, s  15.0 (14.9 to 15.2)      1.00",
		"µs each                       1234         -",
		"objects                        300      none",
		"",
	}, "\n")
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Error(diff)
	}
}

func TestWriteJSONReplacesTheFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "new", "out.json")
	for _, value := range []string{"first and longer", "second"} {
		if err := WriteJSON(path, map[string]string{"value": value}); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if want := "{\n  \"value\": \"second\"\n}\n"; string(text) != want {
		t.Errorf("got %q, want %q", text, want)
	}
	if err := WriteJSON(path, math.NaN()); err == nil {
		t.Error("NaN is no JSON")
	}
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(entries) != 1 {
		t.Errorf("left behind: %v %v", entries, err)
	}
}

func TestWriteJSONSaysWhere(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	err := WriteJSON(filepath.Join(file, "out.json"), 1)
	if err == nil || !strings.Contains(err.Error(), file) {
		t.Errorf("got %v, want an error that names %s", err, file)
	}
}

func TestProgressTellsTheTime(t *testing.T) {
	var out strings.Builder
	NewProgress(&out, time.Now().Add(-125*time.Second)).Say("%d of %d pods", 3, 9)
	if want := regexp.MustCompile(`^  2:0[56]  3 of 9 pods\n$`); !want.MatchString(out.String()) {
		t.Errorf("got %q", out.String())
	}
}

func TestCPUModel(t *testing.T) {
	if got := cpuModel("processor\t: 0\nmodel name\t: Some CPU @ 2.5: GHz\nflags: a\n"); got != "Some CPU @ 2.5: GHz" {
		t.Errorf("got %q", got)
	}
	if got := cpuModel("processor: 0\n"); got != "" {
		t.Errorf("got %q", got)
	}
	if m := ThisMachine(time.Now()); m.CPUs < 1 || m.GoVersion == "" {
		t.Errorf("got %+v", m)
	}
}
