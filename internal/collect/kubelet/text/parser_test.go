package text_test

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/plimsoll-dev/plimsoll/internal/collect/kubelet/text"
	"github.com/plimsoll-dev/plimsoll/internal/collect/page"
)

// read is a sample in values of its own.
type read struct {
	Family    string
	Labels    []string // name, value, name, value
	Value     float64
	Timestamp int64
	Timed     bool
}

// parse parses a whole text. Expect returns the labels to expect before each sample; it gets those of the samples
// before.
func parse(input []byte, lines page.Lines, expect func(seen []string) string) ([]read, error) {
	lines.Reset(page.Text, input)
	var all []read
	var seen []string
	for lines.Next(expect(seen)) {
		s := lines.Line()
		r := read{Family: text.FamilyOf(s).String(), Value: s.Value, Timestamp: s.Time.Millis, Timed: s.Time.IsKnown}
		for rest := s.Labels; ; {
			label, more, ok := rest.Cut()
			if !ok {
				break
			}
			r.Labels = append(r.Labels, string(label.Name), string(label.AppendValue(nil)))
			rest = more
		}
		all = append(all, r)
		seen = append(seen, string(s.Labels))
	}
	return all, lines.Err()
}

func noGuess([]string) string { return "" }

var sameNaN = cmpopts.EquateNaNs()

func TestAccepted(t *testing.T) {
	const cpu = "container_cpu_usage_seconds_total"
	labels := []string{"container", "a", "namespace", "b", "pod", "c"}
	set := `{container="a",namespace="b",pod="c"}`
	for name, tt := range map[string]struct {
		text string
		want []read
	}{
		"nothing":                {"", nil},
		"empty lines and blanks": {"\n \t\n  ", nil},
		"as the kubelet writes":  {cpu + set + " 1.25 1795172400123\n", []read{{cpu, labels, 1.25, 1795172400123, true}}},
		"no timestamp":           {cpu + set + " 1.25\n", []read{{cpu, labels, 1.25, 0, false}}},
		"blanks everywhere": {"\t " + cpu + " { container = \"a\" ,\tnamespace=\"b\" , pod=\"c\" , } \t1  -5\n",
			[]read{{cpu, labels, 1, -5, true}}},
		"no blanks at all": {cpu + set + "7\n", []read{{cpu, labels, 7, 0, false}}},
		"a value right behind the name": {"node_cpu_usage_seconds_total-7\n",
			[]read{{"node_cpu_usage_seconds_total", nil, -7, 0, false}}},
		"empty labels": {cpu + "{} 1\n", []read{{cpu, nil, 1, 0, false}}},
		"escapes": {cpu + `{pod="a\\b\"c\nd}",namespace="\\"} 1` + "\n",
			[]read{{cpu, []string{"pod", "a\\b\"c\nd}", "namespace", `\`}, 1, 0, false}}},
		"values that are no numbers": {cpu + " NaN\n" + cpu + " +Inf 1\n" + cpu + " -inf\n" + cpu + " infinity\n", []read{
			{cpu, nil, math.NaN(), 0, false}, {cpu, nil, math.Inf(1), 1, true}, {cpu, nil, math.Inf(-1), 0, false},
			{cpu, nil, math.Inf(1), 0, false}}},
		"forms of numbers": {cpu + " 1e3\n" + cpu + " .5\n" + cpu + " 5.\n" + cpu + " 1.7951724001234567e+09\n" + cpu +
			" 1E-2\n" + cpu + " -0\n", []read{
			{cpu, nil, 1000, 0, false}, {cpu, nil, .5, 0, false}, {cpu, nil, 5, 0, false},
			{cpu, nil, 1.7951724001234567e+09, 0, false},
			{cpu, nil, .01, 0, false}, {cpu, nil, math.Copysign(0, -1), 0, false}}},
		"comments and TYPE have no say": {"# TYPE " + cpu + " histogram\n#\n# bla\n" + cpu + " 1\n",
			[]read{{cpu, nil, 1, 0, false}}},
		"other families, whatever is in them": {"container_swap_usage_bytes{ 1\nup 1 2 3\n" + cpu + "s 1\n" + cpu +
			" 1\nscrape_error x\n",
			[]read{{cpu, nil, 1, 0, false}}},
		"the same twice": {cpu + set + " 1\n" + cpu + set + " 2\n",
			[]read{{cpu, labels, 1, 0, false}, {cpu, labels, 2, 0, false}}},
	} {
		got, err := parse([]byte(tt.text), text.Lines(text.All, 0), noGuess)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if diff := cmp.Diff(tt.want, got, sameNaN); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestRefused(t *testing.T) {
	const cpu = "container_cpu_usage_seconds_total"
	for name, tt := range map[string]struct {
		text string
		line int   // 0: none
		why  error // nil: any
	}{
		"a number cut short":           {"\n\n" + cpu + " 123", 3, page.ErrTruncated},
		"a comment cut short":          {"# TYPE", 1, page.ErrTruncated},
		"a page of another server":     {"<html>\n", 1, nil},
		"JSON":                         {"{\"kind\":\"Status\"}\n", 1, page.ErrQuotedName},
		"a name in braces":             {"\n{\"" + cpu + "\"} 1\n", 2, page.ErrQuotedName},
		"a name in quotes":             {"\"" + cpu + "\" 1\n", 1, page.ErrQuotedName},
		"a name that ends in quotes":   {"container_cpu\"_usage_seconds_total\" 1\n", 1, page.ErrQuotedName},
		"quotes behind a known name":   {cpu + " 1\n" + cpu + "\"x\" 1\n", 2, page.ErrQuotedName},
		"a label name in quotes":       {cpu + "{\"pod\"=\"x\"} 1\n", 1, page.ErrQuotedName},
		"a name that begins wrong":     {"1" + cpu + " 1\n", 1, nil},
		"carriage return":              {cpu + " 1\r\n", 1, nil},
		"no value":                     {cpu + "{}\n", 1, nil},
		"a value that is none":         {cpu + " 1x\n", 1, nil},
		"hexadecimal":                  {cpu + " 0x1p-2\n", 1, nil},
		"underscores":                  {cpu + " 1_000\n", 1, nil},
		"beyond float64":               {cpu + " 1e999\n", 1, nil},
		"a blank and no timestamp":     {cpu + " 1 \n", 1, nil},
		"a timestamp with a fraction":  {cpu + " 1 1.5\n", 1, nil},
		"a timestamp beyond 64 bits":   {cpu + " 1 9999999999999999999\n", 1, nil},
		"a blank behind the timestamp": {cpu + " 1 2 \n", 1, nil},
		"a third number":               {cpu + " 1 2 3\n", 1, nil},
		"an exemplar":                  {cpu + " 1 # {} 2\n", 1, nil},
		"labels left open":             {cpu + "{pod=\"a\"\n", 1, nil},
		"a value left open":            {cpu + "{pod=\"a\n\"} 1\n", 1, nil},
		"a value left open by \\":      {cpu + "{pod=\"a\\\n\"} 1\n", 1, nil},
		"an unknown escape":            {cpu + "{pod=\"\\t\"} 1\n", 1, nil},
		"no quotes":                    {cpu + "{pod=a} 1\n", 1, nil},
		"no equals sign":               {cpu + "{pod\"a\"} 1\n", 1, nil},
		"no label name":                {cpu + "{=\"a\"} 1\n", 1, nil},
		"a label name with a digit":    {cpu + "{1=\"a\"} 1\n", 1, nil},
		"two commas":                   {cpu + "{pod=\"a\",,} 1\n", 1, nil},
		"no comma":                     {cpu + "{pod=\"a\" namespace=\"b\"} 1\n", 1, nil},
		"the same label twice":         {cpu + "{pod=\"a\",pod=\"a\"} 1\n", 1, nil},
		"the reserved label":           {cpu + "{__name__=\"a\"} 1\n", 1, nil},
		"no UTF-8":                     {cpu + "{pod=\"\xff\"} 1\n", 1, nil},
		"a long line":                  {"\n# " + strings.Repeat("x", 300) + "\n", 2, page.ErrTooLarge},
		"a long text":                  {strings.Repeat("\n", 2000), 0, page.ErrTooLarge},
		"many labels":                  {cpu + "{" + manyLabels(33) + "} 1\n", 1, page.ErrTooLarge},
	} {
		_, err := parse([]byte(tt.text), bounded(1000, 290), noGuess)
		var at *page.Error
		if errors.As(err, &at) != (tt.line > 0) || err == nil {
			t.Errorf("%s: accepted, or an error without a line: %v", name, err)
			continue
		}
		if at != nil && at.Line != tt.line || tt.why != nil && !errors.Is(err, tt.why) {
			t.Errorf("%s: %v; want line %d, %v", name, err, tt.line, tt.why)
		}
	}
}

// bounded reads all families with other bounds than the default.
func bounded(maxBytes, maxLineBytes int) page.Lines {
	var names []string
	for f := text.NodeCPU; text.All.Has(f); f++ {
		names = append(names, f.String())
	}
	return page.NewLines(page.LinesConfig{Names: names, IsStrict: true, MaxBytes: maxBytes, MaxLineBytes: maxLineBytes})
}

func manyLabels(n int) string {
	var all strings.Builder
	for i := range n {
		fmt.Fprintf(&all, `a%d="",`, i)
	}
	return all.String()
}

func TestBoundsAreInclusive(t *testing.T) {
	line := "node_cpu_usage_seconds_total 1 2"
	if got, err := parse([]byte(line+"\n"), bounded(len(line)+1, len(line)), noGuess); err != nil || len(got) != 1 {
		t.Errorf("a line of exactly the bound: %v, %v", got, err)
	}
	if _, err := parse([]byte(line+"\n"), bounded(len(line)+1, len(line)-1), noGuess); !errors.Is(err, page.ErrTooLarge) {
		t.Errorf("one byte more: %v", err)
	}
}

func TestOnlyWantedFamilies(t *testing.T) {
	input := "container_cpu_usage_seconds_total 1\nnode_cpu_usage_seconds_total broken\nresource_scrape_error 1\n"
	got, err := parse([]byte(input), text.Lines(text.Of(text.ContainerCPU, text.ScrapeError), 0), noGuess)
	want := []read{{Family: "container_cpu_usage_seconds_total", Value: 1}, {Family: "resource_scrape_error", Value: 1}}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

// TestExpected: a right guess is reported as right, a wrong one changes nothing, and neither does a prefix.
func TestExpected(t *testing.T) {
	p := text.Lines(text.All, 0)
	p.Reset(page.Text, []byte(`pod_cpu_usage_seconds_total{namespace="a",pod="b"} 1`+"\n"))
	for guess, want := range map[string]bool{
		`namespace="a",pod="b"`:  true,
		`namespace="a",pod="b",`: false,
		`namespace="a"`:          false,
		`namespace="a",pod="c"`:  false,
		``:                       false,
	} {
		p.Reset(page.Text, []byte(`pod_cpu_usage_seconds_total{namespace="a",pod="b"} 1`+"\n"))
		if !p.Next(guess) {
			t.Fatal(p.Err())
		}
		s := p.Line()
		if s.AsExpected != want || string(s.Labels) != `namespace="a",pod="b"` || s.Value != 1 {
			t.Errorf("expected %q: %+v", guess, s)
		}
	}
}
