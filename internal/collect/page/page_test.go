package page_test

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/plimsoll-dev/plimsoll/internal/collect/page"
)

// got is a series as it was handed out, but for its hash.
type got struct {
	Want  int
	Value float64
}

func read(format page.Format, body string, config page.Config, want ...page.Want) ([]got, []uint64, error) {
	p := page.New(config)
	var all []got
	var hashes []uint64
	err := p.Read(format, []byte(body), want, func(w int, s page.Sample) {
		all, hashes = append(all, got{w, s.Value}), append(hashes, s.Series)
	})
	return all, hashes, err
}

func named(names ...string) []page.Want {
	var all []page.Want
	for _, n := range names {
		all = append(all, page.Want{Name: n})
	}
	return all
}

const goPage = `# HELP http_requests_total Requests by code, in "quotes" and with \n.
# TYPE http_requests_total counter
http_requests_total{code="200",path="/"} 1027
http_requests_total{code="200",path="/a\"b\\c"} 3
http_requests_total{code="500",path="/"} 7
# HELP http_seconds Time.
# TYPE http_seconds histogram
http_seconds_bucket{path="/",le="0.1"} 5
http_seconds_bucket{path="/",le="+Inf"} 9
http_seconds_sum{path="/"} 12.5
http_seconds_count{path="/"} 9
http_seconds_bucket{path="/b",le="0.1"} 0
http_seconds_bucket{path="/b",le="+Inf"} 1
http_seconds_sum{path="/b"} 0.5
http_seconds_count{path="/b"} 1
# TYPE http_requests gauge
http_requests 4
`

func TestText(t *testing.T) {
	for name, tt := range map[string]struct {
		text string
		want []page.Want
		got  []got
	}{
		"every series of a name, and of no longer one": {goPage, named("http_requests_total"),
			[]got{{0, 1027}, {0, 3}, {0, 7}}},
		"a name that begins others":       {goPage, named("http_requests"), []got{{0, 4}}},
		"the count of a histogram":        {goPage, named("http_seconds_count"), []got{{0, 9}, {0, 1}}},
		"the sum of a histogram":          {goPage, named("http_seconds_sum"), []got{{0, 12.5}, {0, .5}}},
		"a name that only histograms are": {goPage, named("http_seconds"), nil},
		"several": {goPage, named("http_requests", "http_seconds_count"),
			[]got{{1, 9}, {1, 1}, {0, 4}}},
		"the same name twice, with selectors": {goPage, []page.Want{
			{Name: "http_requests_total", Selector: []page.Requirement{{Label: "code", Values: []string{"200", "204"}}}},
			{Name: "http_requests_total", Selector: []page.Requirement{{Label: "code", Operator: page.NotIn,
				Values: []string{"200"}}}},
			{Name: "http_requests_total"},
		}, []got{{0, 1027}, {2, 1027}, {0, 3}, {2, 3}, {1, 7}, {2, 7}}},
		"all requirements": {goPage, []page.Want{{Name: "http_requests_total", Selector: []page.Requirement{
			{Label: "code", Values: []string{"200"}}, {Label: "path", Values: []string{`/a"b\c`}},
		}}}, []got{{0, 3}}},
		"a bucket": {goPage, []page.Want{{Name: "http_seconds_bucket", Selector: []page.Requirement{
			{Label: "le", Values: []string{"0.1"}}}}}, []got{{0, 5}, {0, 0}}},
		"labels that are there or not": {"x{a=\"1\"} 1\nx{a=\"\"} 2\nx 3\n", []page.Want{
			{Name: "x", Selector: []page.Requirement{{Label: "a", Operator: page.Exists}}},
			{Name: "x", Selector: []page.Requirement{{Label: "a", Operator: page.DoesNotExist}}},
			{Name: "x", Selector: []page.Requirement{{Label: "a", Operator: page.NotIn, Values: []string{"1"}}}},
			{Name: "x", Selector: []page.Requirement{{Label: "a", Operator: page.In, Values: []string{""}}}},
			{Name: "x", Selector: []page.Requirement{{Label: "a", Operator: 9}}},
		}, []got{{0, 1}, {1, 2}, {2, 2}, {3, 2}, {1, 3}, {2, 3}, {3, 3}}},
		"series apart from each other": {"x 1\ny 2\n# TYPE z gauge\nz 1\nx{a=\"b\"} 3\n", named("x"),
			[]got{{0, 1}, {0, 3}}},
		"nothing": {"", named("x"), nil},
		"damage in other lines": {"y{ 1\n\"x\" 1\n{\"x\"} 1\nx\"\" 2\n# x\n1x 1\n" + strings.Repeat("y", 400) + "\nx 5\n",
			named("x"), []got{{0, 5}}},
		"values that are no numbers": {"x NaN\nx -Inf\n", named("x"), []got{{0, math.NaN()}, {0, math.Inf(-1)}}},
		"a timestamp":                {"x 1 1795172400123\n \tx{} 2 -1\n", named("x"), []got{{0, 1}, {0, 2}}},
		"blanks at the end":          {"x 1\n \t", named("x"), []got{{0, 1}}},
		"a last line without an end": {"y 1\nx 12", named("x"), []got{{0, 12}}},
		"with labels":                {"x{a=\"b\"} 12 3", named("x"), []got{{0, 12}}},
		"one that is not wanted":     {"x 12\ny" + strings.Repeat("y", 400), named("x"), []got{{0, 12}}},
		"a comment":                  {"x 12\n# TYPE", named("x", "a", "b", "c", "d", "e"), []got{{0, 12}}},
	} {
		all, _, err := read(page.Text, tt.text, page.Config{MaxLineBytes: 300}, tt.want...)
		if diff := cmp.Diff(tt.got, all, cmpopts.EquateNaNs()); diff != "" || err != nil {
			t.Errorf("%s: %v\n%s", name, err, diff)
		}
	}
}

const openPage = `# HELP http_requests Requests.
# TYPE http_requests counter
http_requests_total{code="200"} 17.0 # {trace_id="a b"} 1.0 1520879607.789
http_requests_created{code="200"} 1.5e9
http_requests_total{code="500"} 2 1520879607.5 # {} 1
# TYPE queue gauge
# UNIT queue jobs
queue 3.0 1520879607.789
queue{name="b"} NaN
# EOF
`

func TestOpenMetrics(t *testing.T) {
	all, _, err := read(page.OpenMetrics, openPage, page.Config{}, named("http_requests_total", "queue")...)
	want := []got{{0, 17}, {0, 2}, {1, 3}, {1, math.NaN()}}
	if diff := cmp.Diff(want, all, cmpopts.EquateNaNs()); diff != "" || err != nil {
		t.Errorf("%v\n%s", err, diff)
	}
	for _, whole := range []string{"# EOF", "# EOF\n", "x 1\n# EOF"} {
		if _, _, err := read(page.OpenMetrics, whole, page.Config{}, named("x")...); err != nil {
			t.Errorf("%q: %v", whole, err)
		}
	}
	for name, text := range map[string]string{
		"no end":                     "x 1\n",
		"lines behind the end":       "# EOF\nx 1\n",
		"the end behind a sample":    "x 1 # EOF\n",
		"two line ends":              "x 1\n# EOF\n\n",
		"words behind the value":     "x 1 y\n# EOF\n",
		"words behind the timestamp": "x 1 2 y\n# EOF\n",
		"a blank behind the value":   "x 1 \n# EOF\n",
	} {
		if all, _, err := read(page.OpenMetrics, text, page.Config{}, named("x")...); err == nil {
			t.Errorf("%s: accepted, %v", name, all)
		}
	}
}

func TestRefused(t *testing.T) {
	for name, tt := range map[string]struct {
		text string
		line int // 0: none
		why  error
	}{
		"a damaged last line":                    {"x 1\ny 2\nx 1 2 3", 3, nil},
		"a last line without value":              {"x", 1, nil},
		"a last line left open":                  {"x{a=\"", 1, nil},
		"a long last line":                       {"x{a=\"" + strings.Repeat("b", 300) + "\"} 1", 1, nil},
		"a last line that is long by its blanks": {"x " + strings.Repeat(" ", 300) + "1", 1, nil},
		"no value":                               {"\n\nx{a=\"b\"}\n", 3, nil},
		"a damaged value":                        {"x 1x\n", 1, nil},
		"labels left open":                       {"x{a=\"b\" 1\n", 1, nil},
		"an exemplar":                            {"x 1 # {} 2\n", 1, nil},
		"a carriage return":                      {"x 1\r\n", 1, nil},
		"a label twice":                          {"x{a=\"b\",a=\"c\"} 1\n", 1, nil},
		"a label name in quotes":                 {"x{\"a.b\"=\"c\"} 1\n", 1, nil},
		"a long line":                            {"y 1\nx{a=\"" + strings.Repeat("b", 300) + "\"} 1\n", 2, page.ErrTooLarge},
		"many labels":                            {"x{" + strings.Repeat("a=\"\",", 33) + "} 1\n", 1, nil},
		"many series":                            {strings.Repeat("x 1\n", 21), 21, page.ErrTooLarge},
		"a long page":                            {strings.Repeat("\n", 1001), 0, page.ErrTooLarge},
		"a page of another server":               {"x</html>", 1, nil},
	} {
		_, _, err := read(page.Text, tt.text, page.Config{MaxBytes: 1000, MaxLineBytes: 250, MaxSeries: 20}, named("x")...)
		var at *page.Error
		switch isAt := errors.As(err, &at); {
		case err == nil:
			t.Errorf("%s: accepted", name)
		case tt.why != nil && !errors.Is(err, tt.why):
			t.Errorf("%s: %v, want %v", name, err, tt.why)
		case isAt != (tt.line > 0) || isAt && at.Line != tt.line:
			t.Errorf("%s: %v, want line %d", name, err, tt.line)
		}
	}
}

// TestErrorsDoNotQuote: no text from a page appears in a condition or log.
func TestErrorsDoNotQuote(t *testing.T) {
	for _, text := range []string{"x secret\n", "x{secret} 1\n", "x{a=secret} 1\n", "x{a=\"\\secret\"} 1\n",
		"x 1 secret\n", "x{secret=\"\",secret=\"\"} 1\n"} {
		if _, _, err := read(page.Text, text, page.Config{}, named("x")...); err == nil ||
			strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestInvalidWants(t *testing.T) {
	for _, name := range []string{"", "1x", "a.b", "a b", "é"} {
		if _, _, err := read(page.Text, "x 1\n", page.Config{}, named(name)...); err == nil {
			t.Errorf("%q is no name", name)
		}
	}
	many := make([]page.Want, page.MaxWants+1)
	if _, _, err := read(page.Text, "x 1\n", page.Config{}, many...); !errors.Is(err, page.ErrTooLarge) {
		t.Error(err)
	}
	if _, _, err := read(page.Unknown, "x 1\n", page.Config{}, named("x")...); err == nil {
		t.Error("a page of no format was read")
	}
}

// TestSeries: the hash is that of the labels in any order and any spelling.
func TestSeries(t *testing.T) {
	same := []string{`x{a="1",b="2\n"} 1`, `x{ b = "2\n" , a="1", } 2`, `x{b="2\n",c="",a="1"} 3`}
	other := []string{`x{a="2\n",b="1"} 1`, `x{a="1"} 1`, `x{b="2\n"} 1`, `x 1`, `x{a="1",b="2"} 1`, `x{a="1",b="2\\n"} 1`,
		`x{a="1b",b="2\n"} 1`, `x{ab="2\n",a="1"} 1`}
	_, hashes, err := read(page.Text, strings.Join(append(same, other...), "\n")+"\n", page.Config{}, named("x")...)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[uint64]bool{}
	for i, h := range hashes {
		if i < len(same) && h != hashes[0] {
			t.Errorf("%s is another series than %s", same[i], same[0])
		}
		if i >= len(same) && (seen[h] || h == hashes[0]) {
			t.Errorf("%s is the series of another line", other[i-len(same)])
		}
		seen[h] = true
	}
}

func TestFormatOf(t *testing.T) {
	for contentType, want := range map[string]page.Format{
		"":                          page.Text,
		"text/plain":                page.Text,
		"text/plain; charset=utf-8": page.Text,
		"text/plain; version=0.0.4; charset=utf-8":                       page.Text,
		"text/plain; version=0.0.4; charset=utf-8; escaping=underscores": page.Text,
		"TEXT/PLAIN;version=1.0.0":                                       page.Text,
		"text/plain; version=0.0.40":                                     page.Unknown,
		"text/plain; version=2":                                          page.Unknown,
		"text/html":                                                      page.Unknown,
		"application/json":                                               page.Unknown,
		"application/openmetrics-text; version=1.0.0; charset=utf-8":     page.OpenMetrics,
		"application/openmetrics-text; version=2.0.0":                    page.Unknown,
		"; x": page.Unknown,
		"application/vnd.google.protobuf; proto=io.prometheus.client.MetricFamily; encoding=delimited": page.Unknown,
	} {
		if got, err := page.FormatOf(contentType); got != want || (err == nil) != (want != page.Unknown) {
			t.Errorf("%q: %v, %v; want %v", contentType, got, err, want)
		}
	}
}

// TestTimestamps: each sample has the timestamp on the page, in each format, and none without one.
func TestTimestamps(t *testing.T) {
	at := func(millis int64) page.Time { return page.Time{IsKnown: true, Millis: millis} }
	for name, tt := range map[string]struct {
		format page.Format
		body   []byte
		want   []page.Time
	}{
		"text": {page.Text, []byte("x 1 0\nx{a=\"1\"} 2 1700000000500\nx{a=\"2\"} 3\n"),
			[]page.Time{at(0), at(1700000000500), {}}},
		"OpenMetrics": {page.OpenMetrics, []byte("x 1 1700000000.5\nx{a=\"1\"} 2\nx{a=\"2\"} 3 # {b=\"c\"} 4 5\n" +
			"x{a=\"3\"} 4 NaN\nx{a=\"4\"} 4 +Inf\n# EOF\n"),
			[]page.Time{at(1700000000500), {}, {}, at(math.MinInt64), at(math.MaxInt64)}},
	} {
		p := page.New(page.Config{})
		var got []page.Time
		err := p.Read(tt.format, tt.body, named("x", "h_count"), func(_ int, s page.Sample) { got = append(got, s.Time) })
		if diff := cmp.Diff(tt.want, got); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", name, err, diff)
		}
	}
}

// TestTooManyLabels: the error names the bound and the series. Series that are not wanted may have any number.
func TestTooManyLabels(t *testing.T) {
	labels := func(n int) string {
		var all []string
		for i := range n {
			all = append(all, fmt.Sprintf("l%d=\"v\"", i))
		}
		return "{" + strings.Join(all, ",") + "}"
	}
	for _, format := range []page.Format{page.Text, page.OpenMetrics} {
		write := func(text string) string {
			if format == page.OpenMetrics {
				return text + "# EOF\n"
			}
			return text
		}
		body := write("other" + labels(33) + " 1\nx" + labels(32) + " 2\n")
		if all, _, err := read(format, body, page.Config{}, named("x")...); err != nil || len(all) != 1 {
			t.Errorf("%s: 32 labels: %v, %v", format, all, err)
		}
		_, _, err := read(format, write("x 1\nx"+labels(33)+" 2\n"), page.Config{}, named("x")...)
		if !errors.Is(err, page.ErrTooLarge) || !strings.Contains(err.Error(), "x has more than 32 labels") {
			t.Errorf("%s: %v", format, err)
		}
	}
}
