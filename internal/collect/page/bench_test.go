package page_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/plimsoll-dev/plimsoll/internal/collect/page"
)

// large is a page of some 1 MB, as servers with many routes have it: a counter with 200 series, and histograms, which
// make up most of it.
func large() string {
	var all strings.Builder
	counter := func(name string, routes int) {
		fmt.Fprintf(&all, "# HELP %s Requests by route and code.\n# TYPE %s counter\n", name, name)
		for r := range routes {
			for _, code := range []int{200, 500} {
				fmt.Fprintf(&all, "%s{code=\"%d\",method=\"GET\",route=\"/api/v1/things/%d\"} %d\n", name, code, r, 100*r+code)
			}
		}
	}
	counter("http_requests_total", 100)
	for h := 0; all.Len() < 1<<20; h++ {
		name := fmt.Sprintf("http_client_%d_duration_seconds", h)
		fmt.Fprintf(&all, "# HELP %s Time until the answer.\n# TYPE %s histogram\n", name, name)
		for r := range 20 {
			for b := range 12 {
				fmt.Fprintf(&all, "%s_bucket{route=\"/api/v1/things/%d\",le=\"%g\"} %d\n", name, r, .005*float64(int(1)<<b), b*r)
			}
			fmt.Fprintf(&all, "%s_sum{route=\"/api/v1/things/%d\"} %g\n", name, r, 1.25*float64(r))
			fmt.Fprintf(&all, "%s_count{route=\"/api/v1/things/%d\"} %d\n", name, r, 12*r)
		}
	}
	return all.String()
}

// BenchmarkRead reads a page of 1 MB: one metric with 200 series, one without any, three, and the maximum.
func BenchmarkRead(b *testing.B) {
	text := large()
	many := named("http_requests_total")
	for i := range page.MaxWants - 1 {
		many = append(many, page.Want{Name: fmt.Sprintf("http_client_%d_duration_seconds_count", i)})
	}
	formats := map[page.Format][]byte{
		page.Text: []byte(text), page.OpenMetrics: []byte(text + "# EOF\n"),
	}
	for _, format := range []page.Format{page.Text, page.OpenMetrics} {
		for _, run := range []struct {
			name string
			want []page.Want
		}{
			{"one", named("http_requests_total")},
			{"absent", named("queue_length")},
			{"three", append(named("http_requests_total", "queue_length"), many[1])},
			{"100", many},
		} {
			b.Run(fmt.Sprintf("%s/%s", format, run.name), func(b *testing.B) {
				body, p, n := formats[format], page.New(page.Config{}), 0
				b.ReportAllocs()
				b.SetBytes(int64(len(body)))
				each := func(int, page.Sample) { n++ }
				for b.Loop() {
					if err := p.Read(format, body, run.want, each); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(n)/float64(b.N), "series")
			})
		}
	}
	b.Run("text/expfmt", func(b *testing.B) {
		b.ReportAllocs()
		b.SetBytes(int64(len(text)))
		for b.Loop() {
			if _, err := library([]byte(text)); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// TestNoAllocations: a page is read without allocating, in each format.
func TestNoAllocations(t *testing.T) {
	for format, body := range map[page.Format][]byte{
		page.Text: []byte(goPage), page.OpenMetrics: []byte(openPage),
	} {
		p, n := page.New(page.Config{}), 0
		want, each := named("http_requests_total", "http_seconds_bucket", "x", "h_bucket", "h_count"),
			func(int, page.Sample) { n++ }
		if allocs := testing.AllocsPerRun(10, func() {
			if err := p.Read(format, body, want, each); err != nil {
				t.Error(err)
			}
		}); allocs != 0 || n == 0 {
			t.Errorf("%s: %v allocations, %d series", format, allocs, n)
		}
	}
}
