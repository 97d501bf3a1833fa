package podendpoint

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/observe"
)

// Pods of another namespace that always respond just before their timeout, of the default or of the longest in a spec,
// more of them than scrapes may be under way, do not delay the values of others.
func TestNeighboursOfVerySlowPods(t *testing.T) {
	for name, tt := range map[string]struct{ takes, timeout time.Duration }{
		"the default timeout": {4500 * time.Millisecond, 0},
		"the longest timeout": {29 * time.Second, 30 * time.Second},
		"never":               {time.Hour, 30 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				const slow, neighbours = 200, 50
				f := begin(t, Config{MaxConcurrent: 16})
				for i := range slow {
					f.page[fmt.Sprintf("pod-%d", i)] = slowly(f.requests(10), tt.takes)
				}
				for i := range neighbours {
					f.page[fmt.Sprintf("pod-%d", slow+i)] = f.requests(10)
				}
				bad, good := rateQuery(pods(0, slow)), rateQuery(pods(slow, neighbours))
				spec := *bad.Spec
				spec.Timeout = tt.timeout
				bad.Spec, bad.Key = &spec, observe.WLA("team-b", "slow")
				_, _ = f.run(good, 6*time.Second)
				began := time.Now()
				for range 120 {
					_, _ = f.run(bad, 0)
					if got, err := f.run(good, time.Second); err != nil || strings.Contains(got, "-") {
						t.Errorf("%s: %s, %v", time.Since(began), got, err)
					}
				}
				if longest := f.longestGap(slow, neighbours, began.Add(45*time.Second)); longest == 0 ||
					longest > 1300*time.Millisecond {
					t.Errorf("a neighbour waited %s", longest)
				}
				t.Logf("from the start on a neighbour waited %s at most", f.longestGap(slow, neighbours, began))
				f.forget(bad.Key)
				f.forget(good.Key)
				<-time.After(2 * time.Hour)
			})
		})
	}
}
