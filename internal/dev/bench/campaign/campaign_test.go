package campaign

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/divergence"
	"github.com/plimsoll-dev/plimsoll/internal/dev/bench/report"
)

var update = flag.Bool("update", false, "write the list of cases")

// TestCases: the cases are those of testdata/cases.txt. A change of how they are made shows which cases have changed,
// so that they cannot be compared with earlier results.
func TestCases(t *testing.T) {
	if diff := cmp.Diff(Cases(), Cases()); diff != "" {
		t.Errorf("made twice, they differ: %s", diff)
	}
	var text strings.Builder
	seen := map[string]bool{}
	for _, c := range Cases() {
		if seen[c.Name] {
			t.Errorf("%s is there twice", c.Name)
		}
		seen[c.Name] = true
		sum := 0.0
		for _, load := range c.Load {
			sum += load
		}
		fmt.Fprintf(&text, "%s  %d s, %.4g pod-seconds  %s\n", c.Name, len(c.Load), sum, c.Note)
	}
	path := filepath.Join("testdata", "cases.txt")
	if *update {
		if err := os.WriteFile(path, []byte(text.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(text.String(), "\n")); diff != "" {
		t.Error(diff)
	}
}

func TestFamilies(t *testing.T) {
	for i := range families {
		f := &families[i]
		for _, c := range f.all() {
			if len(c.Load) < 60 || slices.ContainsFunc(c.Load, func(v float64) bool { return !(v >= 0 && v < 1000) }) {
				t.Errorf("%s: a load of %d s that is not within 0 to 1000", c.Name, len(c.Load))
			}
			if _, err := c.scene(&kubelets[0], 1); err != nil {
				t.Errorf("%s: %v", c.Name, err)
			}
		}
	}
}

// some are a few short cases of several kinds.
func some(t *testing.T) Config {
	t.Helper()
	return Config{Cases: regexp.MustCompile("^(start|cron|workload)/0[12]$"), Seeds: []uint64{1, 2}, Kubelets: kubelets[0]}
}

// equal has figures that are missing equal.
var equal = cmp.Comparer(func(a, b report.Figure) bool { return same(float64(a), float64(b)) })

// TestSameSeedsSameResults: nothing but the seeds decides what comes of a case, and other seeds lead to something else.
func TestSameSeedsSameResults(t *testing.T) {
	measure := func(c Config) *Results {
		r, err := Measure(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	c := some(t)
	a, b := measure(c), measure(c)
	if diff := cmp.Diff(a.Plays, b.Plays, equal); diff != "" {
		t.Error(diff)
	}
	if len(a.Plays) != 6*2*2 {
		t.Errorf("%d plays", len(a.Plays))
	}
	c.Seeds = []uint64{3, 4}
	if cmp.Equal(a.of(plimsoll.Name, "workload"), measure(c).of(plimsoll.Name, "workload"), equal,
		cmpopts.IgnoreFields(Play{}, "Seed")) {
		t.Error("other seeds, the same figures")
	}
	if err := report.WriteJSON(filepath.Join(t.TempDir(), "campaign.json"), a); err != nil {
		t.Error(err)
	}
}

// TestAblation: without any divergence Plimsoll is not upstream, as it has newer samples; without nothing it is itself.
func TestAblation(t *testing.T) {
	c := some(t)
	c.Cases, c.Seeds = regexp.MustCompile("^one/00$"), []uint64{1}
	c.Ablations = append(Ablations(), Side{Name: "without nothing", Of: plimsoll.Of})
	r, err := Measure(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	if err := r.WriteTables(&out, true); err != nil {
		t.Fatal(err)
	}
	table := r.ablationTable()
	for _, row := range table.Rows {
		differs := row[len(row)-2] != "0"
		if row[0] == upstream.Name && !differs || row[0] == "without nothing" && differs {
			t.Errorf("%q", row)
		}
		if !strings.Contains(out.String(), "| "+row[0]) {
			t.Errorf("no row of %s in\n%s", row[0], &out)
		}
	}
}

// TestAblationsAreFollowing: each divergence is off alone in one of the sides, unless it does not concern following the
// load.
func TestAblationsAreFollowing(t *testing.T) {
	var off divergence.Set
	for _, s := range Ablations() {
		if s.Without != divergence.Default {
			off |= s.Without
		}
	}
	if off|otherwise != divergence.Default || off&otherwise != 0 {
		t.Errorf("switched off are %s, left out %s", off, otherwise)
	}
	if _, err := ParseAblation("recently-ready,one-doubling"); err != nil {
		t.Error(err)
	}
	if _, err := ParseAblation("no-such-thing"); err == nil {
		t.Error("an unknown divergence can be switched off")
	}
}

func TestKubelets(t *testing.T) {
	for _, name := range KubeletNames() {
		if k, err := ParseKubelets(name); err != nil || k.Name != name || k.Housekeeping <= 0 {
			t.Errorf("%s: %+v, %v", name, k, err)
		}
	}
	if _, err := ParseKubelets("fresh"); err == nil {
		t.Error("unknown kubelets are accepted")
	}
}

// TestIdleSidecarDelaysNothing: with an idle sidecar in each pod, the first scale-up after a step comes as soon as without,
// give or take a second in the median.
func TestIdleSidecarDelaysNothing(t *testing.T) {
	first := func(name string) float64 {
		k, err := ParseKubelets(name)
		if err != nil {
			t.Fatal(err)
		}
		r, err := Measure(t.Context(), Config{Cases: regexp.MustCompile("^step/[01]"), Seeds: []uint64{1}, Kubelets: k})
		if err != nil {
			t.Fatal(err)
		}
		return columnOf("firstUp").over(r.of(plimsoll.Name, ""))
	}
	if without, with := first(kubelets[0].Name), first("sidecar"); !(math.Abs(with-without) <= 1) {
		t.Errorf("%.1f s with a sidecar, %.1f s without", with, without)
	}
}

// TestTrace: each change of the scale is a line with what led to it.
func TestTrace(t *testing.T) {
	c := some(t)
	c.Cases, c.Seeds = regexp.MustCompile("^one/00$"), []uint64{1}
	var out strings.Builder
	if err := Trace(t.Context(), c, &out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`one/00, seed 1, upstream: .*\n +1\d\d\.\d s  1 -> 2  \(load \d\.\d\d, needs 2, ready 1\) on periodic; ` +
			`metric asks for 2: \d+ %, ratio 1\.\d+, 1 pods count, samples \d+\.\d to \d+\.\d s old; proposed 2, stabilized 2\n`,
		`one/00, seed 1, Plimsoll: .*\n +1\d\d\.\d s  1 -> 2 `,
		`  short, s: \d+; .*; first up, s: [\d.]+\n`,
	} {
		if !regexp.MustCompile(want).MatchString(out.String()) {
			t.Errorf("no %s in\n%s", want, &out)
		}
	}
}

func TestMeasureStops(t *testing.T) {
	for name, c := range map[string]Config{
		"no seeds": {Kubelets: kubelets[0]},
		"no cases": {Kubelets: kubelets[0], Seeds: []uint64{1}, Cases: regexp.MustCompile("^nothing/")},
	} {
		if _, err := Measure(t.Context(), c); err == nil {
			t.Errorf("%s: measured", name)
		}
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if _, err := Measure(ctx, some(t)); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestProgress(t *testing.T) {
	said := 0
	p := newProgress(3, func(string, ...any) { said++ })
	p.played("a/00")
	p.said = p.said.Add(-time.Minute)
	p.played("a/01")
	p.played("a/02")
	if said != 1 {
		t.Errorf("said something %d times", said)
	}
}

func TestTextOfFigures(t *testing.T) {
	for value, want := range map[float64]string{3: "3", 3.14: "3.1", 314.1: "314", 0: "0", math.NaN(): "-"} {
		if got := amount(value); got != want {
			t.Errorf("%v: %q, want %q", value, got, want)
		}
	}
	if got := ratioText(0, 3); got != "-" {
		t.Errorf("of nothing: %q", got)
	}
}
