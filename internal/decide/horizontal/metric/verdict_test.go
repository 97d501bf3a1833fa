package metric_test

import (
	"testing"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric"
)

func TestNames(t *testing.T) {
	seen := map[string]metric.Verdict{}
	for v := metric.Failed; v <= metric.NothingReady; v++ {
		if other, found := seen[v.String()]; found || v.String() == "" {
			t.Errorf("verdict %d is called %q, as is %d", v, v, other)
		}
		seen[v.String()] = v
	}
}
