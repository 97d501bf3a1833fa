package page_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/plimsoll-dev/plimsoll/internal/collect/page"
	"github.com/plimsoll-dev/plimsoll/internal/collect/page/syntax"
)

// The Prometheus library's parser says what is right, in the words of the package comment.

var fuzzed = named("x_total", "h_count", "h_sum", "h_bucket", "h", "x")

// wantedLine finds the lines of the wanted samples.
var wantedLine = regexp.MustCompile(`^[ \t]*(x_total|h_count|h_sum|h_bucket|h|x)([^a-zA-Z0-9_:"]|$)`)

// ended is the text with a line end behind its last line, which expfmt wants and Prometheus appends.
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
func byName(format page.Format, input []byte) (map[string][]float64, error) {
	all := map[string][]float64{}
	p := page.New(page.Config{})
	err := p.Read(format, input, fuzzed, func(want int, s page.Sample) {
		name := fuzzed[want].Name
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
	got, err := byName(page.Text, input)
	want, wantErr := library(reduced(ended(input)))
	switch {
	case err == nil && wantErr != nil:
		t.Errorf("accepted, but expfmt says of the wanted lines: %v\n%q", wantErr, input)
	case err == nil:
		if diff := cmp.Diff(want, got, sameBits); diff != "" {
			t.Errorf("other values than expfmt (-expfmt +got):\n%s\n%q", diff, input)
		}
	case wantErr == nil && !errors.Is(err, syntax.ErrQuotedName) && !errors.Is(err, page.ErrTooLarge):
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

// broken breaks lines of pages in small places, which a fuzzer that knows no grammar takes
// long to find.
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

// The library cannot read OpenMetrics. This twin has its grammar as patterns, with the
// blanks that text may have.
const (
	labelPattern    = `[ \t]*[a-zA-Z_][a-zA-Z0-9_]*[ \t]*=[ \t]*"(?:[^"\\\n]|\\["\\n])*"[ \t]*`
	labelsPattern   = `\{(?:(?:` + labelPattern + `,)*(?:` + labelPattern + `|[ \t]*))\}`
	valuePattern    = `[^ \t\n]+`
	behindPattern   = `(?:[ \t]+(` + valuePattern + `))?(?:[ \t]+#.*)?`
	openLinePattern = `^(x_total|h_count|h_sum|h_bucket|h|x)[ \t]*(?:` + labelsPattern + `)?[ \t]*(` + valuePattern + `)` +
		behindPattern + `$`
)

var openLine = regexp.MustCompile(openLinePattern)

// number is that of both formats.
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
	got, err := byName(page.OpenMetrics, input)
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

// refusedMore is what the patterns know nothing of; nor do they of labels that are there
// twice, and of UTF-8.
var refusedMore = []error{page.ErrTooLarge, syntax.ErrQuotedName}

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

// families decodes with the library; those that nothing is wanted of may be anything.
func families(input []byte, isReduced bool) ([]*dto.MetricFamily, error) {
	var all []*dto.MetricFamily
	for len(input) > 0 {
		// The library allocates whatever length a message says that it has.
		length, n := binary.Uvarint(input)
		if n <= 0 || length > uint64(len(input)-n) {
			return nil, errors.New("truncated")
		}
		message := input[:n+int(length)]
		input = input[len(message):]
		var one dto.MetricFamily
		format := expfmt.NewFormat(expfmt.TypeProtoDelim).WithEscapingScheme(model.NoEscaping)
		decoder := expfmt.NewDecoder(bytes.NewReader(message), format)
		switch err := decoder.Decode(&one); {
		case err == nil:
			all = append(all, &one)
		case !isReduced || one.GetName() == "x" || one.GetName() == "x_total" || one.GetName() == "h":
			return nil, err
		}
	}
	return all, nil
}

func add(all map[string][]float64, name string, value float64) {
	if slices.ContainsFunc(fuzzed, func(w page.Want) bool { return w.Name == name }) {
		all[name] = append(all[name], value)
	}
}

// floatOr is the float of a histogram's count if there is one.
func floatOr(float float64, count uint64) float64 {
	if float > 0 {
		return float
	}
	return float64(count)
}

// samples are a metric's as text has them.
func samples(all map[string][]float64, name string, kind dto.MetricType, m *dto.Metric) {
	switch {
	case kind == dto.MetricType_COUNTER && m.Counter != nil:
		add(all, name, m.GetCounter().GetValue())
	case kind == dto.MetricType_GAUGE && m.Gauge != nil:
		add(all, name, m.GetGauge().GetValue())
	case kind == dto.MetricType_UNTYPED && m.Untyped != nil:
		add(all, name, m.GetUntyped().GetValue())
	case kind == dto.MetricType_SUMMARY && m.Summary != nil:
		for _, q := range m.GetSummary().GetQuantile() {
			add(all, name, q.GetValue())
		}
		add(all, name+"_count", float64(m.GetSummary().GetSampleCount()))
		add(all, name+"_sum", m.GetSummary().GetSampleSum())
	case (kind == dto.MetricType_HISTOGRAM || kind == dto.MetricType_GAUGE_HISTOGRAM) && m.Histogram != nil:
		histogram(all, name, m.GetHistogram())
	}
}

func histogram(all map[string][]float64, name string, h *dto.Histogram) {
	count, isInfinite := floatOr(h.GetSampleCountFloat(), h.GetSampleCount()), false
	for _, b := range h.GetBucket() {
		add(all, name+"_bucket", floatOr(b.GetCumulativeCountFloat(), b.GetCumulativeCount()))
		isInfinite = isInfinite || math.IsInf(b.GetUpperBound(), 1)
	}
	if !isInfinite {
		add(all, name+"_bucket", count)
	}
	add(all, name+"_count", count)
	add(all, name+"_sum", h.GetSampleSum())
}

func checkProtobuf(t *testing.T, input []byte) {
	t.Helper()
	got, err := byName(page.Protobuf, input)
	if err != nil {
		if _, wholeErr := families(input, false); wholeErr == nil && !errors.Is(err, page.ErrTooLarge) {
			t.Errorf("expfmt accepts it: %v\n%q", err, input)
		}
		return
	}
	parsed, err := families(input, true)
	switch {
	case err != nil && strings.HasPrefix(err.Error(), "proto:"):
		// Damaged where nothing is read, as in an exemplar.
		return
	case err != nil:
		t.Errorf("accepted, but expfmt says of the wanted families: %v\n%q", err, input)
	}
	want := map[string][]float64{}
	for _, family := range parsed {
		for _, m := range family.GetMetric() {
			samples(want, family.GetName(), family.GetType(), m)
		}
	}
	if diff := cmp.Diff(want, got, sameBits); diff != "" {
		t.Errorf("other values than expfmt (-expfmt +got):\n%s\n%q", diff, input)
	}
}

// encoded is a page of text in protobuf.
func encoded(t testing.TB, text string) []byte {
	t.Helper()
	parser := expfmt.NewTextParser(model.UTF8Validation)
	parsed, err := parser.TextToMetricFamilies(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	var all bytes.Buffer
	encoder := expfmt.NewEncoder(&all, expfmt.NewFormat(expfmt.TypeProtoDelim))
	for _, name := range slices.Sorted(keys(parsed)) {
		if err := encoder.Encode(parsed[name]); err != nil {
			t.Fatal(err)
		}
	}
	return all.Bytes()
}

func keys(m map[string]*dto.MetricFamily) func(func(string) bool) {
	return func(yield func(string) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

const typedPage = `# TYPE x counter
x{a="b"} 1
x{a="c",d=""} 2.5
# TYPE h histogram
h_bucket{a="b",le="0.1"} 1
h_bucket{a="b",le="2"} 2
h_bucket{a="b",le="+Inf"} 3
h_sum{a="b"} 4.5
h_count{a="b"} 3
# TYPE x_total summary
x_total{quantile="0.5"} 7
x_total_sum 8
x_total_count 9
# TYPE y gauge
y 1
# TYPE z untyped
z 5
`

// FuzzProtobuf compares with the library's decoder.
func FuzzProtobuf(f *testing.F) {
	page := encoded(f, typedPage)
	f.Add(page)
	f.Add(page[:len(page)-3])
	f.Add([]byte{})
	f.Add([]byte("\x0b\x0a\x01x\x22\x06\x1a\x04\x0b\x0c\x10\x01"))
	f.Fuzz(checkProtobuf)
}

// TestLikeText: a page has the same values and series in protobuf as in text.
func TestLikeText(t *testing.T) {
	wants := named("x", "h_bucket", "h_sum", "h_count", "x_total", "x_total_sum", "x_total_count", "y", "z", "h")
	type series struct {
		want int
		hash uint64
	}
	of := func(format page.Format, body []byte) map[series]float64 {
		all := map[series]float64{}
		p := page.New(page.Config{})
		if err := p.Read(format, body, wants, func(want int, s page.Sample) {
			all[series{want, s.Series}] = s.Value
		}); err != nil {
			t.Fatal(err)
		}
		return all
	}
	text, protobuf := of(page.Text, []byte(typedPage)), of(page.Protobuf, encoded(t, typedPage))
	if diff := cmp.Diff(text, protobuf, cmp.AllowUnexported(series{})); diff != "" || len(text) != 12 {
		t.Errorf("%d series (-text +protobuf):\n%s", len(text), diff)
	}
}

// TestDamagedProtobuf changes single bytes of a page.
func TestDamagedProtobuf(t *testing.T) {
	whole := encoded(t, typedPage)
	checkProtobuf(t, whole)
	rng := rand.New(rand.NewPCG(1, 2))
	for range 20_000 {
		input := bytes.Clone(whole)
		for range 1 + rng.IntN(3) {
			input[rng.IntN(len(input))] = byte(rng.IntN(256))
		}
		if rng.IntN(4) == 0 {
			input = input[:rng.IntN(len(input))]
		}
		if checkProtobuf(t, input); t.Failed() {
			return
		}
	}
}
