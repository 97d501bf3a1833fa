package podendpoint

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/decide/arithmetic"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/behavior"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/divergence"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric/source"
	"github.com/plimsoll-dev/plimsoll/internal/observe"
)

// Pods that get three times their load answer late. Their values are there all the while, and the count follows them.
func TestOverloadedPodsAnswerLate(t *testing.T) {
	for _, late := range []time.Duration{1200 * time.Millisecond, 4 * time.Second} {
		bubble(t, func(t *testing.T) {
			f := begin(t, Config{})
			for i := range 4 {
				f.page[fmt.Sprintf("pod-%d", i)] = f.requests(10)
			}
			q := rateQuery(pods(0, 4))
			if got, err := f.run(q, 20*time.Second); got != "10000 10000 10000 10000" || err != nil {
				t.Fatalf("%s, %v", got, err)
			}
			jump := time.Now()
			tripled := text(func() string {
				return fmt.Sprintf("http_requests_total{code=\"200\"} %f\n",
					10*jump.Sub(f.began).Seconds()+30*time.Since(jump).Seconds())
			})
			f.change(func() {
				for i := range 4 {
					f.page[fmt.Sprintf("pod-%d", i)] = slowly(tripled, late)
				}
			})
			var state horizontal.State
			var most int32
			for range 20 {
				if got, err := f.run(q, time.Second); strings.Contains(got, "-") || err != nil {
					t.Errorf("they answer after %s: %s, %v", late, got, err)
				}
				most = max(most, f.decide(q, &state, 10_000))
			}
			// Three times four, within the tolerance: the rate is of the last 15 s.
			if most < 11 || most > 13 {
				t.Errorf("they answer after %s: scaled from 4 to %d", late, most)
			}
			f.forget(q.Key)
			<-time.After(late + time.Second)
		})
	}
}

// decide returns the replica count of a WorkloadAutoscaler whose only metric is the query, with that target for each
// pod.
func (f *fleet) decide(q *query, state *horizontal.State, target int64) (desired int32) {
	f.t.Helper()
	var v View
	if err := f.latest(q, &v); err != nil {
		f.t.Error(err)
	}
	n := int32(len(q.Pods))
	o := horizontal.Observation{
		Target: horizontal.Target{SpecReplicas: n, StatusReplicas: n}, Pods: observe.AppendPods(nil, q.Pods),
		Readings: []metric.Reading{{}},
	}
	for i := range q.Pods {
		o.Readings[0].Samples = append(o.Readings[0].Samples, v.Sample(i, nil, arithmetic.Saturate))
	}
	p := horizontal.Policy{
		MinReplicas: 1, MaxReplicas: 100, Tolerance: metric.Tolerance{Up: 0.1, Down: 0.1},
		Divergences: divergence.Default, WorkloadAutoscaler: &horizontal.WorkloadAutoscaler{},
		Behavior: &behavior.Behavior{Up: behavior.Rules{
			Policies: []behavior.RatePolicy{{Type: behavior.RatePods, Value: 100, Period: time.Minute}}}},
		Metrics: []source.Spec{{Type: source.PodEndpoint, Name: "requests", IsRate: true,
			Target: source.Target{Type: source.AverageValue, Milli: target}}},
	}
	d, next := horizontal.Decide(time.Now(), &p, *state, &o)
	*state = horizontal.Settle(next, horizontal.Outcome{At: time.Now()})
	return d.Desired
}

// A spec may have another timeout than the default, and two metrics of an object each their own.
func TestTimeoutOfTheSpec(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := begin(t, Config{})
		f.page["pod-0"] = slowly(f.requests(10), 7*time.Second)
		patient, spec := rateQuery(pods(0, 1)), *rateQuery(nil).Spec
		spec.Timeout = 10 * time.Second
		patient.Spec = &spec
		hasty := *rateQuery(pods(0, 1))
		var err error
		for range 60 {
			_, _ = f.run(patient, 0)
			_, err = f.run(&hasty, time.Second)
		}
		if got, err := f.run(patient, 0); got != "10000" || err != nil {
			t.Errorf("10 s: %s, %v", got, err)
		}
		if err == nil || !strings.Contains(err.Error(), "no whole response within 5s") {
			t.Errorf("5 s: %v", err)
		}
		f.forget(patient.Key)
		<-time.After(11 * time.Second)
	})
}

// A ready pod that stops responding keeps its last value for some minutes. One that is not ready, or whose page lacks
// the metric, has none.
func TestSilentPods(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := begin(t, Config{})
		for i := range 4 {
			f.page[fmt.Sprintf("pod-%d", i)] = f.requests(10)
		}
		q := rateQuery(pods(0, 4))
		_, _ = f.run(q, 20*time.Second)
		f.change(func() {
			f.page["pod-1"], f.page["pod-2"], f.page["pod-3"] = hostile["silence"].page, nil, hostile["nothing"].page
		})
		var v View
		silent := func(after time.Duration) string {
			_, _ = f.run(q, after)
			_ = f.look(q, &v)
			var all []string
			for i := range q.Pods {
				s := v.Sample(i, nil, arithmetic.Saturate)
				all = append(all, fmt.Sprint(s.Silent, !s.Present || s.Milli/100 == 100))
			}
			return strings.Join(all, ", ")
		}
		if got := silent(time.Minute); got != "false true, true true, true true, false true" {
			t.Errorf("after a minute: %s", got)
		}
		if got := silent(5 * time.Minute); got != "false true, false true, false true, false true" {
			t.Errorf("after six minutes: %s", got)
		}
	})
}

// Large pages of one namespace do not delay those of others.
func TestLargePagesOfANeighbour(t *testing.T) {
	bubble(t, func(t *testing.T) {
		const hostilePods, neighbours = 40, 10
		f := begin(t, Config{})
		page := "http_requests_total 5\n# " + strings.Repeat("x", 2200<<10)
		for i := range hostilePods {
			f.page[fmt.Sprintf("pod-%d", i)] = trickle(page)
		}
		pad := strings.Repeat("# HELP jvm_memory_used_bytes The amount of used memory in the JVM\n", 1600)
		for i := range neighbours {
			f.page[fmt.Sprintf("pod-%d", 100+i)] = text(func() string {
				return fmt.Sprintf("%shttp_requests_total %f\n", pad, float64(time.Since(f.began).Milliseconds())/100)
			})
		}
		good := rateQuery(pods(100, neighbours))
		_, _ = f.run(good, 10*time.Second)
		missing := 0
		for range 30 {
			for i := range 8 {
				q := rateQuery(pods(5*i, 5))
				q.Key = observe.WLA("hostile", fmt.Sprint(i))
				_, _ = f.run(q, 0)
			}
			got, _ := f.run(good, time.Second)
			missing += strings.Count(got, "-")
		}
		if missing > 0 {
			t.Errorf("%d of %d values are missing", missing, 30*neighbours)
		}
		for i := range 8 {
			f.forget(observe.WLA("hostile", fmt.Sprint(i)))
		}
		f.forget(good.Key)
		<-time.After(6 * time.Second)
	})
}

// trickle serves a page whose end arrives just before the timeout.
func trickle(page string) func(net.Conn, *http.Request) {
	return func(w net.Conn, _ *http.Request) {
		fmt.Fprintf(w, "%sContent-Length: %d\r\n\r\n%s", okHead, len(page)+1, page)
		<-time.After(4900 * time.Millisecond)
		_, _ = io.WriteString(w, "\n")
	}
}

// A bucket is found in all spellings of its bound on the page and in the selector.
func TestSpellings(t *testing.T) {
	for label, of := range map[string]map[string]string{
		"le": {"1.0": "1 1.0", "1": "1 1.0", "0.5": "0.5", "1e+06": "1000000 1000000.0 1e+06", "+Inf": "+Inf", "x": "x"},
		"n":  {"1.0": "1.0"},
	} {
		for value, want := range of {
			if got := strings.Join(spellings(label, []string{value}), " "); got != want {
				t.Errorf("%s=%s: %s, want %s", label, value, got, want)
			}
		}
	}
}
