package recommender

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/collect/prometheushistory"
)

// days is a Prometheus with a week of a deleted pod of web, and of one without known labels.
type days struct {
	mu         sync.Mutex
	fails      int
	namespaces []string
}

func (d *days) History(_ context.Context, namespaces []string, now time.Time) ([]*prometheushistory.Pod, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.namespaces = namespaces
	if d.fails > 0 {
		d.fails--
		return nil, errors.New("no answer")
	}
	use := func(milli, bytes float64) map[string]*prometheushistory.Use {
		u := &prometheushistory.Use{}
		for at := now.Add(-7 * 24 * time.Hour); at.Before(now); at = at.Add(time.Hour) {
			u.CPU = append(u.CPU, prometheushistory.Sample{At: at, Value: milli})
			u.Memory = append(u.Memory, prometheushistory.Sample{At: at, Value: bytes})
		}
		return map[string]*prometheushistory.Use{"app": u}
	}
	return []*prometheushistory.Pod{
		{Namespace: "shop", Name: "web-gone", Labels: map[string]string{"app": "web"}, Containers: use(800, 2<<30)},
		{Namespace: "shop", Name: "stranger", Containers: use(9000, 9<<30)},
		{Namespace: "shop", Name: "other", Labels: map[string]string{"app": "other"}, Containers: use(9000, 9<<30)},
	}, nil
}

// TestPrometheusKnowsThePast: the first recommendation uses a week of samples, not the minute since the start; and no
// checkpoints are written.
func TestPrometheusKnowsThePast(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		past := &days{fails: 1}
		w.deployment("web", 2)
		w.autoscaler("web")
		w.start(func(cfg *Config) { cfg.History = past })
		w.pass(2 * time.Minute)
		cpu, memory := w.target("web")
		isNear(t, "CPU", cpu, 920)
		isNear(t, "memory", memory, 2<<30*115/100)
		w.pass(time.Hour)
		w.stop()
		if len(past.namespaces) != 1 || past.namespaces[0] != "shop" {
			t.Errorf("it was asked for %v, want shop", past.namespaces)
		}
		if len(w.checkpoints) != 0 {
			t.Errorf("%d checkpoints were written", len(w.checkpoints))
		}
	})
}

// TestWithoutThePast: a Prometheus that does not respond is logged, and does not prevent recommendations.
func TestWithoutThePast(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.deployment("web", 2)
		w.autoscaler("web")
		w.start(func(cfg *Config) { cfg.History = &days{fails: 100} })
		w.pass(3 * time.Minute)
		cpu, _ := w.target("web")
		isNear(t, "CPU", cpu, 115)
		if !strings.Contains(strings.Join(w.logs, "\n"), "no history from Prometheus") {
			t.Errorf("nothing says so: %q", w.logs)
		}
	})
}
