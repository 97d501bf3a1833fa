package page_test

import (
	"bytes"
	"errors"
	"maps"
	"math"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/plimsoll-dev/plimsoll/internal/collect/page"
)

// The Prometheus library's parser is the reference, within the limits of the package comment.

var fuzzed = named("x_total", "h_count", "h_sum", "h_bucket", "h", "x")

// wantedLine matches the lines of the wanted samples.
var wantedLine = regexp.MustCompile(`^[ \t]*(x_total|h_count|h_sum|h_bucket|h|x)([^a-zA-Z0-9_:"]|$)`)

// ended is the text with a line end after its last line, which expfmt requires and Prometheus appends.
func ended(input []byte) []byte {
	if end := bytes.LastIndexByte(input, '\n') + 1; strings.Trim(string(input[end:]), " \t") == "" {
		return input
	}
	return append(slices.Clip(input), '\n')
}

func reduced(input []byte) []byte {
	var kept []byte
	for line := range bytes.Lines(input) {
		if wantedLine.Match(line) {
			kept = append(kept, line...)
		}
	}
	return kept
}

func library(input []byte) (all map[string][]float64, err error) {
	// Version 0.70 of the library panics on "# HELP a b\n{}\n".
	defer func() {
		if recover() != nil {
			err = errors.New("expfmt panicked")
		}
	}()
	parser := expfmt.NewTextParser(model.UTF8Validation)
	parsed, err := parser.TextToMetricFamilies(bytes.NewReader(input))
	if err != nil {
		return nil, err
	}
	all = map[string][]float64{}
	for name, family := range parsed {
		for _, m := range family.GetMetric() {
			all[name] = append(all[name], m.GetUntyped().GetValue())
		}
	}
	return all, nil
}

// byName reads with the package.
func byName(format page.Format, input []byte, wanted []page.Want) (map[string][]float64, error) {
	all := map[string][]float64{}
	p := page.New(page.Config{})
	err := p.Read(format, input, wanted, func(want int, s page.Sample) {
		name := wanted[want].Name
		all[name] = append(all[name], s.Value)
	})
	return all, err
}

// sameBits distinguishes 0 from -0; every NaN is one.
var sameBits = cmp.Comparer(func(a, b float64) bool {
	return math.Float64bits(a) == math.Float64bits(b) || math.IsNaN(a) && math.IsNaN(b)
})

func checkText(t *testing.T, input []byte) {
	t.Helper()
	got, err := byName(page.Text, input, fuzzed)
	want, wantErr := library(reduced(ended(input)))
	switch {
	case err == nil && wantErr != nil:
		t.Errorf("accepted, but expfmt says of the wanted lines: %v\n%q", wantErr, input)
	case err == nil:
		if diff := cmp.Diff(want, got, sameBits); diff != "" {
			t.Errorf("other values than expfmt (-expfmt +got):\n%s\n%q", diff, input)
		}
	case wantErr == nil && !errors.Is(err, page.ErrQuotedName) && !errors.Is(err, page.ErrTooLarge):
		if _, wholeErr := library(ended(input)); wholeErr == nil {
			t.Errorf("expfmt accepts it: %v\n%q", err, input)
		}
	}
}

var textSeeds = []string{
	"", "x 1", goPage, openPage, "# HELP a b\n{}\n",
	"x_total{a=\"b\\\\c\\\"\\n\"} 1.5 1795172400123\n \tx_total { a = \"b\" , } +Inf -1\n",
	"# TYPE h histogram\nh_bucket{le=\"1\"} 1\nh_sum 2\nh_count 3\n",
	"# HELP x \\n \\\\\n# TYPE x counter\nx NaN\nx_total 0x1p-2\nx 1_0\n",
	"{\"x\",a=\"b\"} 1\nx{\"a b\"=\"c\"} 1\nx\"y\" 1\n", "x-7\nx.5e-1 +3\nx 1e22\nx 9007199254740993\n",
	"x{a=\"\xff\"} 1\n", "x 1 2 3\n", "x 1\r\n", "x 1 \nx  1\t2\n", "x{\n", "x{__name__=\"x\"} 1\n",
}

// FuzzText compares with the library's parser.
func FuzzText(f *testing.F) {
	for _, s := range textSeeds {
		f.Add([]byte(s))
	}
	for _, text := range captured(f) {
		f.Add(text)
	}
	f.Fuzz(checkText)
}

var pieces = []string{
	" ", "\t", "\n", "{", "}", "\"", "\\", ",", "=", "#", "e", ".", "-", "+", "0", "1", "_", ":", "\\n", "\\\"", "\\\\",
	"NaN", "Inf", "1e-5", "x", "x_total", "h_count", "a=\"x\"", "\xff", "é", "__name__", "\r", "\x00", "123456789", "e+308",
	"00000000000000000000", "# EOF", " # {} 1", "1520879607.789",
}

// broken breaks lines of pages in small places, which a fuzzer without a grammar takes long to find.
func broken(times int, f func(input []byte)) {
	lines := bytes.SplitAfter([]byte(strings.ReplaceAll(strings.ReplaceAll(goPage+openPage+strings.Join(textSeeds[5:], ""),
		"http_requests", "x"), "http_seconds", "h")), []byte("\n"))
	rng := rand.New(rand.NewPCG(1, 2))
	for range times {
		var input []byte
		for range 1 + rng.IntN(3) {
			input = append(input, lines[rng.IntN(len(lines))]...)
		}
		for range rng.IntN(4) {
			at, cut := rng.IntN(len(input)+1), rng.IntN(3)
			input = slices.Concat(input[:at], []byte(pieces[rng.IntN(len(pieces))]), input[min(at+cut, len(input)):])
		}
		f(input)
	}
}

func TestLikeLibrary(t *testing.T) {
	broken(20_000, func(input []byte) {
		if !t.Failed() {
			checkText(t, input)
		}
	})
}

// The library cannot read OpenMetrics. This twin has its grammar as patterns, with the blanks that text may have.
const (
	labelPattern    = `[ \t]*[a-zA-Z_][a-zA-Z0-9_]*[ \t]*=[ \t]*"(?:[^"\\\n]|\\["\\n])*"[ \t]*`
	labelsPattern   = `\{(?:(?:` + labelPattern + `,)*(?:` + labelPattern + `|[ \t]*))\}`
	valuePattern    = `[^ \t\n]+`
	behindPattern   = `(?:[ \t]+(` + valuePattern + `))?(?:[ \t]+#.*)?`
	openLinePattern = `^(x_total|h_count|h_sum|h_bucket|h|x)[ \t]*(?:` + labelsPattern + `)?[ \t]*(` + valuePattern + `)` +
		behindPattern + `$`
)

var openLine = regexp.MustCompile(openLinePattern)

// number parses a number of both formats.
func number(s string) (float64, bool) {
	value, err := strconv.ParseFloat(s, 64)
	return value, err == nil && !strings.ContainsAny(s, "pP_")
}

func twin(input []byte) (map[string][]float64, bool) {
	text, ok := strings.CutSuffix(strings.TrimSuffix(string(input), "\n"), "# EOF")
	if !ok || text != "" && !strings.HasSuffix(text, "\n") {
		return nil, false
	}
	all := map[string][]float64{}
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		if !wantedLine.MatchString(line) {
			continue
		}
		m := openLine.FindStringSubmatch(strings.TrimLeft(line, " \t"))
		if m == nil {
			return nil, false
		}
		value, ok := number(m[2])
		if m[3] != "" && !strings.HasPrefix(m[3], "#") {
			_, isTime := number(m[3])
			ok = ok && isTime
		}
		if !ok {
			return nil, false
		}
		all[m[1]] = append(all[m[1]], value)
	}
	return all, true
}

func checkOpen(t *testing.T, input []byte) {
	t.Helper()
	got, err := byName(page.OpenMetrics, input, fuzzed)
	want, ok := twin(input)
	switch {
	case err == nil && !ok:
		t.Errorf("accepted, but not by the patterns:\n%q", input)
	case err == nil:
		if diff := cmp.Diff(want, got, sameBits); diff != "" {
			t.Errorf("other values than by the patterns (-patterns +got):\n%s\n%q", diff, input)
		}
	case ok && !slices.ContainsFunc(refusedMore, func(why error) bool { return errors.Is(err, why) }) &&
		!bytes.Contains(input, []byte("__name__")) && !strings.Contains(err.Error(), "twice") && validLines(input):
		t.Errorf("the patterns accept it: %v\n%q", err, input)
	}
}

// refusedMore are the errors for pages that the patterns accept; they also accept duplicate labels and invalid UTF-8.
var refusedMore = []error{page.ErrTooLarge, page.ErrQuotedName}

func validLines(input []byte) bool { return strings.ToValidUTF8(string(input), "") == string(input) }

// FuzzOpenMetrics compares with the patterns.
func FuzzOpenMetrics(f *testing.F) {
	for _, s := range textSeeds {
		f.Add([]byte(s))
		f.Add([]byte(s + "# EOF\n"))
	}
	for _, text := range captured(f) {
		f.Add(text)
	}
	f.Fuzz(checkOpen)
}

func TestLikePatterns(t *testing.T) {
	broken(20_000, func(input []byte) {
		if !t.Failed() {
			checkOpen(t, input)
			checkOpen(t, append(input, "\n# EOF\n"...))
		}
	})
}

// TestFewNames: one name is looked for in another way than a few, and these than many. They find the same.
func TestFewNames(t *testing.T) {
	check := func(format page.Format, input []byte) {
		want, err := byName(format, input, fuzzed)
		got, isRefused := map[string][]float64{}, false
		for _, wanted := range [][]page.Want{fuzzed[:1], fuzzed[1:2], fuzzed[2:5], fuzzed[5:]} {
			some, err := byName(format, input, wanted)
			isRefused = isRefused || err != nil
			maps.Copy(got, some)
		}
		if isRefused != (err != nil) || !isRefused && !cmp.Equal(want, got, sameBits) {
			t.Errorf("of many names %v, %v; of few %v, refused: %t\n%q", want, err, got, isRefused, input)
		}
	}
	broken(10_000, func(input []byte) {
		if !t.Failed() {
			check(page.Text, input)
			check(page.OpenMetrics, append(input, "\n# EOF\n"...))
		}
	})
}
