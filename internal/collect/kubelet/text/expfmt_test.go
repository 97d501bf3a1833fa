package text_test

import (
	"bytes"
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"pgregory.net/rapid"

	"github.com/plimsoll-dev/plimsoll/internal/collect/kubelet/text"
	"github.com/plimsoll-dev/plimsoll/internal/collect/page"
)

// The Prometheus library's parser is the reference, within the strictness of the package comment.

var familyNames = []string{
	"container_cpu_usage_seconds_total", "container_memory_working_set_bytes", "container_start_time_seconds",
	"node_cpu_usage_seconds_total", "node_memory_working_set_bytes", "pod_cpu_usage_seconds_total",
	"pod_memory_working_set_bytes", "resource_scrape_error",
}

// sampleLine matches the metric name at the start of a line.
var sampleLine = regexp.MustCompile(`^[ \t]*([a-zA-Z_:][a-zA-Z0-9_:]*)`)

// reduced is the text with nothing but the sample lines of the families.
func reduced(input []byte) []byte {
	var kept []byte
	for line := range bytes.Lines(input) {
		if m := sampleLine.FindSubmatch(line); len(m) == 2 && slices.Contains(familyNames, string(m[1])) {
			kept = append(kept, line...)
		}
	}
	return kept
}

// library reads with expfmt: the samples of each family in order.
func library(input []byte) (map[string][]read, error) {
	parser := expfmt.NewTextParser(model.UTF8Validation)
	parsed, err := parser.TextToMetricFamilies(bytes.NewReader(input))
	if err != nil {
		return nil, err
	}
	all := map[string][]read{}
	for name, family := range parsed {
		for _, m := range family.GetMetric() {
			all[name] = append(all[name], fromLibrary(name, m))
		}
	}
	return all, nil
}

// fromLibrary translates a sample without a TYPE.
func fromLibrary(name string, m *dto.Metric) read {
	r := read{Family: name, Value: m.GetUntyped().GetValue(), Timestamp: m.GetTimestampMs(), Timed: m.TimestampMs != nil}
	for _, l := range m.GetLabel() {
		r.Labels = append(r.Labels, l.GetName(), l.GetValue())
	}
	return r
}

func byFamily(all []read) map[string][]read {
	families := map[string][]read{}
	for _, r := range all {
		families[r.Family] = append(families[r.Family], r)
	}
	return families
}

// sameBits distinguishes 0 from -0; every NaN is one.
var sameBits = cmp.Comparer(func(a, b float64) bool {
	return math.Float64bits(a) == math.Float64bits(b) || math.IsNaN(a) && math.IsNaN(b)
})

// guesses are ways of announcing labels, none of which may change a sample.
var guesses = map[string]func([]string) string{
	"the labels before": func(seen []string) string {
		if len(seen) == 0 {
			return ""
		}
		return seen[len(seen)-1]
	},
	"the first labels": func(seen []string) string {
		if len(seen) == 0 {
			return ""
		}
		return seen[0]
	},
}

type reporter interface {
	Helper()
	Errorf(string, ...any)
}

func check(t reporter, input []byte) {
	t.Helper()
	got, err := parse(input, text.Lines(text.All, 0), noGuess)
	ofKept, keptErr := library(reduced(input))
	switch {
	case err == nil && keptErr != nil:
		t.Errorf("accepted, but expfmt says of the wanted lines: %v\n%q", keptErr, input)
	case err == nil:
		if diff := cmp.Diff(ofKept, byFamily(got), sameBits); diff != "" {
			t.Errorf("other samples than expfmt (-expfmt +got):\n%s\n%q", diff, input)
		}
	case keptErr == nil && !errors.Is(err, page.ErrQuotedName) && !errors.Is(err, page.ErrTooLarge):
		if _, wholeErr := library(input); wholeErr == nil {
			t.Errorf("expfmt accepts it: %v\n%q", err, input)
		}
	}
	for name, guess := range guesses {
		guessed, guessedErr := parse(input, text.Lines(text.All, 0), guess)
		if diff := cmp.Diff(message(err), message(guessedErr)); diff != "" {
			t.Errorf("expecting %s changes the error:\n%s\n%q", name, diff, input)
		}
		if diff := cmp.Diff(got, guessed, sameBits); diff != "" {
			t.Errorf("expecting %s makes a difference:\n%s\n%q", name, diff, input)
		}
	}
}

func message(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

var seeds = []string{
	"",
	"container_cpu_usage_seconds_total{container=\"a\",namespace=\"b\",pod=\"c\"} 1.5 1795172400123\n",
	" \tcontainer_cpu_usage_seconds_total { container = \"a\" , } +Inf -1\n",
	"container_start_time_seconds{pod=\"a\\\\b\\\"c\\n\"} 1.7951724001234567e+09\n",
	"# TYPE container_cpu_usage_seconds_total histogram\ncontainer_cpu_usage_seconds_total{le=\"1\"} 1\n",
	"# HELP node_cpu_usage_seconds_total \\n \\\\\n# TYPE node_cpu_usage_seconds_total " +
		"counter\nnode_cpu_usage_seconds_total NaN\n",
	"{\"node_cpu_usage_seconds_total\",a=\"b\"} 1\n",
	"node_cpu_usage_seconds_total 1\n{a=\"b\"} 2\n",
	"node_cpu_usage_seconds_total-7\nnode_cpu_usage_seconds_total.5e-1 +3\n",
	"node_memory_working_set_bytes 0x1p-2\nnode_memory_working_set_bytes 1_0\n",
	"pod_cpu_usage_seconds_total{\"a b\"=\"c\"} 1\n",
	"pod_memory_working_set_bytes{a=\"\xff\"} 1\n",
	"resource_scrape_error 1e22\nresource_scrape_error 9007199254740993\nresource_scrape_error 123456789012345678e-5\n",
	"resource_scrape_error 1 2 3\n",
	"other{\nnode_cpu_usage_seconds_total 1",
	"node_cpu_usage_seconds_total 1\r\n",
	"node_cpu_usage_seconds_total 1 \nnode_cpu_usage_seconds_total  1\t2\n",
}

// FuzzParse holds the parser against the library's.
func FuzzParse(f *testing.F) {
	for _, s := range seeds {
		f.Add([]byte(s))
	}
	golden, err := os.ReadFile("../kubelettest/testdata/node.txt")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(golden)
	f.Fuzz(func(t *testing.T, input []byte) { check(t, input) })
}

// TestLikeLibrary breaks a kubelet's text in small places, which a fuzzer
// without a grammar takes long to find.
func TestLikeLibrary(t *testing.T) {
	golden, err := os.ReadFile("../kubelettest/testdata/node.txt")
	if err != nil {
		t.Fatal(err)
	}
	if got, err := parse(golden, text.Lines(text.All, 0), noGuess); err != nil || len(got) != 19 {
		t.Fatalf("%d samples of the golden text: %v", len(got), err)
	}
	check(t, golden)
	lines := bytes.SplitAfter(golden, []byte("\n"))
	pieces := []string{
		" ", "\t", "\n", "{", "}", "\"", "\\", ",", "=", "#", "e", ".", "-", "+", "0", "1", "_", ":", "\\n", "\\\"", "\\\\",
		"NaN", "Inf",
		"1e-5", "pod", "pod=\"x\"", "\xff", "é", "__name__", "\r", "\x00", "123456789", "e+308", "00000000000000000000",
	}
	rng := rand.New(rand.NewPCG(1, 2))
	for range 20_000 {
		input := bytes.Clone(lines[rng.IntN(len(lines))])
		if rng.IntN(2) == 0 {
			input = append(input, lines[rng.IntN(len(lines))]...)
		}
		for range rng.IntN(4) {
			at, cut := rng.IntN(len(input)+1), rng.IntN(3)
			input = slices.Concat(input[:at], []byte(pieces[rng.IntN(len(pieces))]), input[min(at+cut, len(input)):])
		}
		check(t, input)
		if t.Failed() {
			return
		}
	}
}

// TestNumbersLikeStrconv: the fast parser of numbers and the standard library agree to the last bit.
func TestNumbersLikeStrconv(t *testing.T) {
	decimal := rapid.StringMatching(`[0-9]{0,20}(\.[0-9]{0,20})?([eE][+-]?[0-9]{1,4})?`)
	short := rapid.StringMatching(`[0-9]{1,10}(\.[0-9]{1,6})?(e[+-][0-9]{2})?`)
	rapid.Check(t, func(t *rapid.T) {
		number := rapid.OneOf(decimal, short).Draw(t, "number")
		want, wantErr := strconv.ParseFloat(number, 64)
		got, err := parse([]byte("resource_scrape_error "+number+"\n"), text.Lines(text.All, 0), noGuess)
		switch {
		case (err == nil) != (wantErr == nil):
			t.Errorf("%q: %v, strconv: %v", number, err, wantErr)
		case err == nil && math.Float64bits(got[0].Value) != math.Float64bits(want):
			t.Errorf("%q: %v, strconv: %v", number, got[0].Value, want)
		}
	})
}
