package scrape_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/collect/kubelet"
	"github.com/plimsoll-dev/plimsoll/internal/collect/scrape"
)

// TestSilentGroup: where a thousand targets of one group are silent, targets of another group that fail once are
// scraped again about as soon as without the silent ones.
func TestSilentGroup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(time.Millisecond)
		f.timeout = time.Second
		r := begin(t, f, scrape.Config[kubelet.Target]{
			MaxPerSecond: 10000, MaxConcurrent: 64, SlowAfter: 50 * time.Millisecond, MaxBackoff: 10 * time.Second,
			Group: func(target kubelet.Target) string { group, _, _ := strings.Cut(target.Node, "/"); return group },
		})
		var all, other []kubelet.Target
		for i := range 1000 {
			name := fmt.Sprintf("silent/%d", i)
			f.hangs[name] = true
			all = append(all, kubelet.Target{Node: name})
		}
		for i := range 20 {
			other = append(other, kubelet.Target{Node: fmt.Sprintf("other/%d", i)})
		}
		r.Add(append(all, other...)...)
		pass(time.Minute)
		f.change(func() {
			for _, target := range other {
				f.broken[target.Node] = errors.New("connection refused")
			}
		})
		pass(time.Second)
		f.change(func() { clear(f.broken) })
		began := time.Now()
		var longest time.Duration
		for range 120 {
			pass(time.Second / 2)
			for _, target := range other {
				if s, _ := r.State(target.Node); s.IsFailing() {
					longest = time.Since(began)
				}
			}
		}
		if longest > 4*time.Second {
			t.Errorf("after %s some still fail", longest)
		}
	})
}
