package verdict_test

import (
	"testing"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric/verdict"
)

func TestNames(t *testing.T) {
	seen := map[string]verdict.Verdict{}
	for v := verdict.Failed; v <= verdict.NothingReady; v++ {
		if other, found := seen[v.String()]; found || v.String() == "" {
			t.Errorf("verdict %d is called %q, as is %d", v, v, other)
		}
		seen[v.String()] = v
	}
}
