package text_test

import (
	"bytes"
	"testing"
	"time"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/plimsoll-dev/plimsoll/internal/collect/kubelet/kubelettest"
	"github.com/plimsoll-dev/plimsoll/internal/collect/kubelet/text"
	"github.com/plimsoll-dev/plimsoll/internal/collect/page"
)

var wanted = text.Of(text.ContainerCPU, text.ContainerMemory, text.ContainerStart, text.ScrapeError)

func scrape() []byte {
	start := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	return kubelettest.Filled(110, 2, start).Text(start.Add(time.Hour))
}

// BenchmarkParse parses a node of 110 pods of 2 containers: every family, those that rates need, and these with each
// line's labels expected.
func BenchmarkParse(b *testing.B) {
	input := scrape()
	all := text.Lines(text.All, 0)
	var order []string
	p := text.Lines(wanted, 0)
	for p.Reset(page.Text, input); p.Next(""); {
		order = append(order, string(p.Line().Labels))
	}
	for name, run := range map[string]func() int{
		"all":      func() int { return count(&all, input, nil) },
		"wanted":   func() int { return count(&p, input, nil) },
		"expected": func() int { return count(&p, input, order) },
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(input)))
			for b.Loop() {
				if run() < 600 {
					b.Fatal("samples are missing")
				}
			}
		})
	}
	b.Run("expfmt", func(b *testing.B) {
		b.ReportAllocs()
		b.SetBytes(int64(len(input)))
		for b.Loop() {
			parser := expfmt.NewTextParser(model.UTF8Validation)
			if _, err := parser.TextToMetricFamilies(bytes.NewReader(input)); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func count(p *page.Lines, input []byte, order []string) int {
	p.Reset(page.Text, input)
	n, expected := 0, ""
	for {
		if n < len(order) {
			expected = order[n]
		}
		if !p.Next(expected) {
			return n
		}
		n++
	}
}

// TestNoAllocations: parsing a kubelet's text allocates nothing, with and without expected labels.
func TestNoAllocations(t *testing.T) {
	input := scrape()
	p := text.Lines(text.All, 0)
	if n := testing.AllocsPerRun(10, func() { count(&p, input, nil) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
