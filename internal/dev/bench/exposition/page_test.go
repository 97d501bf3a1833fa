package exposition

import (
	"strings"
	"testing"
)

const somePage = `# TYPE requests_total counter
requests_total{verb="GET",resource="pods"} 30
requests_total{verb="PUT",resource="pods"} 3
# TYPE seconds histogram
seconds_bucket{step="total",le="1"} 2
seconds_bucket{step="total",le="+Inf"} 3
seconds_sum{step="total"} 7.5
seconds_count{step="total"} 3
seconds_bucket{step="act",le="+Inf"} 1
seconds_sum{step="act"} 2.5
seconds_count{step="act"} 1
`

func TestPage(t *testing.T) {
	p, err := Parse(strings.NewReader(somePage))
	if err != nil {
		t.Fatal(err)
	}
	if sum := p.Sum("requests_total"); sum != 33 {
		t.Errorf("sum %v", sum)
	}
	if sum := p.Sum("of nothing"); sum != 0 {
		t.Errorf("a series that is not there sums to %v", sum)
	}
	if sum, count := p.Observed("seconds", "step", "total"); sum != 7.5 || count != 3 {
		t.Errorf("%v in %v", sum, count)
	}
	p.Each("requests_total", func(labels map[string]string, value float64) {
		if labels["verb"] == "PUT" && value != 3 {
			t.Errorf("%v of %v", value, labels)
		}
	})
}
