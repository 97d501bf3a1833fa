package readings_test

import (
	"context"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	externalmetricsv1beta1 "k8s.io/metrics/pkg/apis/external_metrics/v1beta1"

	controllerhorizontal "github.com/plimsoll-dev/plimsoll/internal/controller/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/controller/horizontal/horizontaltest"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/divergence"
)

// timedExternal sets the times of external values with at, from the present time.
type timedExternal struct {
	*world
	at func(now time.Time) time.Time
}

func (e timedExternal) External(
	ctx context.Context, namespace, metric, selector string,
) (*externalmetricsv1beta1.ExternalMetricValueList, error) {
	list, err := e.world.External(ctx, namespace, metric, selector)
	if err == nil {
		for i := range list.Items {
			list.Items[i].Timestamp = metav1.NewTime(e.at(time.Now()))
		}
	}
	return list, err
}

// TestExternalTimesDoNotSlowScaling: with any timestamps of an adapter, doubling to 64 replicas takes no longer than
// with upstream's rules.
func TestExternalTimesDoNotSlowScaling(t *testing.T) {
	measure := func(set divergence.Set, at func(time.Time) time.Time) (took time.Duration) {
		inWorld(t, func(t *testing.T, w *world) {
			w.ExternalValue = func(context.Context) (int64, error) { return 6400, nil }
			hpa := horizontaltest.Externally(w.Web("web", 2))
			hpa.Spec.MaxReplicas = 100
			w.AddHPA(hpa)
			began := time.Now()
			w.Start(func(c *controllerhorizontal.Config) {
				c.Options.Divergences, c.Metrics, c.Triggers = set, timedExternal{w, at}, set != divergence.None
			})
			for w.Replicas("web") < 64 && time.Since(began) < 30*time.Minute {
				w.Pass(time.Second)
			}
			took = time.Since(began)
		})
		return took
	}
	for name, at := range map[string]func(time.Time) time.Time{
		"of the answer": func(now time.Time) time.Time { return now },
		"90 s ago":      func(now time.Time) time.Time { return now.Add(-90 * time.Second) },
		"30 s ahead":    func(now time.Time) time.Time { return now.Add(30 * time.Second) },
		"none":          func(time.Time) time.Time { return time.Time{} },
	} {
		ours, theirs := measure(divergence.Default, at), measure(divergence.None, at)
		t.Logf("time %s: 64 replicas after %s, upstream %s", name, ours, theirs)
		if ours > theirs+time.Second || ours < 30*time.Second {
			t.Errorf("time %s: 64 replicas after %s, upstream %s", name, ours, theirs)
		}
	}
}

// TestOneAnswerDoublesOnce: one wrong response of an adapter, with or without a time, doubles the count once, although
// CPU samples trigger a decision every second.
func TestOneAnswerDoublesOnce(t *testing.T) {
	for name, at := range map[string]func(time.Time) time.Time{
		"of the answer": func(now time.Time) time.Time { return now },
		"none":          func(time.Time) time.Time { return time.Time{} },
		"30 s ahead":    func(now time.Time) time.Time { return now.Add(30 * time.Second) },
	} {
		inWorld(t, func(t *testing.T, w *world) {
			k := w.Kubelets("a")
			asked, value := 0, int64(100)
			w.ExternalValue = func(context.Context) (int64, error) {
				var answer int64
				w.Set(func() { asked, answer = asked+1, value })
				return answer, nil
			}
			hpa := w.Web("web", 2)
			hpa.Spec.MaxReplicas = 1000
			hpa.Spec.Metrics = append(hpa.Spec.Metrics, horizontaltest.Externally(w.Web("other", 1)).Spec.Metrics...)
			w.Onto("web", 2, "a")
			w.AddHPA(hpa)
			w.Start(k.Direct, func(c *controllerhorizontal.Config) {
				c.SyncPeriod, c.Metrics = horizontaltest.Period, timedExternal{w, at}
			})
			w.Pass(time.Minute)
			w.Set(func() { value, asked, w.Scaled = 1_000_000, 0, nil })
			calls := func() (n int) {
				w.Set(func() { n = asked })
				return n
			}
			for calls() == 0 {
				w.Pass(10 * time.Millisecond)
			}
			w.Set(func() { value = 100 })
			w.Pass(14 * time.Second)
			if writes := w.ScaleWrites(); calls() != 1 || len(writes) != 1 || writes[0] != "web 2→4" {
				t.Errorf("time %s: asked %d times, %v", name, calls(), writes)
			}
		})
	}
}
