package backfill

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/plimsoll-dev/plimsoll/internal/collect/prometheushistory"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/forecast"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric/source"
	"github.com/plimsoll-dev/plimsoll/internal/loadhistory"
	"github.com/plimsoll-dev/plimsoll/internal/observe"
	observehorizontal "github.com/plimsoll-dev/plimsoll/internal/observe/horizontal"
)

const length = 3 * 24 * time.Hour

// loads responds with a function, and records the times and objects of its calls.
type loads struct {
	answer func(q *prometheushistory.Query) (prometheushistory.Series, error)

	mu    sync.Mutex
	asked []string
	times []time.Time
	// running is the number of concurrent calls, most its maximum.
	running, most int
}

// Load implements Source.
func (l *loads) Load(_ context.Context, q prometheushistory.Query) (prometheushistory.Series, error) {
	l.mu.Lock()
	l.asked, l.times = append(l.asked, q.Name), append(l.times, time.Now())
	l.running++
	l.most = max(l.most, l.running)
	l.mu.Unlock()
	time.Sleep(time.Second) //nolint:forbidigo // virtual time: that an answer takes
	l.mu.Lock()
	defer l.mu.Unlock()
	l.running--
	return l.answer(&q)
}

func (l *loads) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.asked)
}

// jumps has 2 pods, and 10 for an hour from noon on.
func jumps(q *prometheushistory.Query) (prometheushistory.Series, error) {
	s := prometheushistory.Series{Start: q.From.Truncate(time.Minute)}
	for at := s.Start; at.Before(q.To); at = at.Add(time.Minute) {
		pods := 2.0
		if at.UTC().Hour() == 12 {
			pods = 10
		}
		s.Pods, s.PerPodMilli = append(s.Pods, pods), append(s.PerPodMilli, 50)
	}
	return s, nil
}

func newFiller(t *testing.T, source Source) *Filler {
	t.Helper()
	f, err := New(&Config{
		Source: source, Length: length, Registerer: prometheus.NewRegistry(), Log: logr.Discard(),
	})
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// start runs a Filler until the test's end.
func start(t *testing.T, f *Filler) {
	ctx, cancel := context.WithCancel(t.Context())
	wait := f.Start(ctx)
	t.Cleanup(func() { cancel(); wait() })
}

func hpa(name string) observehorizontal.Autoscaler {
	return observehorizontal.HPA(&autoscalingv2.HorizontalPodAutoscaler{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, UID: types.UID("uid-" + name)},
		Spec: autoscalingv2.HorizontalPodAutoscalerSpec{
			ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{Kind: "Deployment", Name: name},
		},
	})
}

func cpuPolicy() *horizontal.Policy {
	p := &horizontal.Policy{MinReplicas: 1, MaxReplicas: 20, Metrics: []source.Spec{{
		Type: source.Resource, Name: "cpu", Target: source.Target{Type: source.Utilization, Percent: 50},
	}}}
	p.Forecast = forecast.Settings{Mode: forecast.Preview, Price: 10, WasteLimitPercent: 3, Identity: 7}
	return p
}

func (f *Filler) results(result string) float64 {
	return testutil.ToFloat64(f.series.WithLabelValues(result))
}

func pass(d time.Duration) {
	time.Sleep(d) //nolint:forbidigo // virtual time: this is what moves it
	synctest.Wait()
}

// TestFills: the forecast has learnt enough, about the object's metrics, and the history has no counts.
func TestFills(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFiller(t, &loads{answer: jumps})
		start(t, f)
		web, policy := hpa("web"), cpuPolicy()
		if !f.Ask(web, policy, nil, time.Minute) {
			t.Fatal("it is left out")
		}
		if _, isOver := f.Take(web.Key(), web.UID); isOver {
			t.Fatal("it is over before it is read")
		}
		pass(time.Minute)
		data, isOver := f.Take(web.Key(), web.UID)
		learnt := forecast.New()
		if err := learnt.UnmarshalBinary(data.Forecast); !isOver || err != nil || learnt.IsLearning(&policy.Forecast) {
			t.Errorf("over %v, %v", isOver, err)
		}
		if other := (forecast.Settings{Identity: 8}); !learnt.IsLearning(&other) {
			t.Error("it also applies to other metrics")
		}
		checkHistory(t, data.History)
		if data, isOver = f.Take(web.Key(), web.UID); !isOver || data.History != nil || f.results(resultFilled) != 1 {
			t.Error("it is present twice")
		}
	})
}

// checkHistory checks that of jumps.
func checkHistory(t *testing.T, encoded []byte) {
	t.Helper()
	var past loadhistory.History
	if err := past.UnmarshalBinary(encoded); err != nil {
		t.Fatal(err)
	}
	since, _ := past.First()
	if ago := time.Since(since); ago < length-10*time.Minute || ago > length+10*time.Minute {
		t.Errorf("recorded for %s", ago)
	}
	past.Points(since, time.Now(), func(p loadhistory.Point) bool {
		if p.Limit != loadhistory.NotRecorded || p.Every < time.Minute || p.Load < 1.9 {
			t.Errorf("%+v", p)
		}
		return !t.Failed()
	})
}

// TestSpread: the Filler reads one load at a time, and no more in a minute than permitted. It reads none of deleted
// objects, and does not confuse objects of the same name.
func TestSpread(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := &loads{answer: jumps}
		f := newFiller(t, source)
		start(t, f)
		for i := range 100 {
			f.Ask(hpa("web-"+strconv.Itoa(i)), cpuPolicy(), nil, 0)
		}
		gone := hpa("web-99")
		f.Forget(gone.Key())
		pass(time.Minute)
		if n := source.count(); n < maxPerMinute-1 || n > maxPerMinute+1 {
			t.Errorf("%d are read in a minute", n)
		}
		again := hpa("web-98")
		again.UID = "another"
		f.Ask(again, cpuPolicy(), nil, 0)
		pass(10 * time.Minute)
		if source.most != 1 || source.count() != 99 || f.results(resultFilled) != 99 {
			t.Errorf("%d at a time, %d in all", source.most, source.count())
		}
		if data, isOver := f.Take(again.Key(), "uid-web-98"); data.History != nil || !isOver {
			t.Error("another object has it")
		}
		if data, _ := f.Take(again.Key(), "another"); data.History == nil {
			t.Error("the object has none")
		}
	})
}

// TestFailures: the Filler retries after failures, with growing pauses, and not for ever. An unknown load is final.
func TestFailures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		err := errors.New("refused")
		source := &loads{answer: func(*prometheushistory.Query) (prometheushistory.Series, error) {
			return prometheushistory.Series{}, err
		}}
		f := newFiller(t, source)
		start(t, f)
		web := hpa("web")
		f.Ask(web, cpuPolicy(), nil, 0)
		pass(time.Hour)
		first := source.count()
		if first < 8 || first > 20 {
			t.Errorf("asked %d times in an hour", first)
		}
		pass(worthFor + time.Hour)
		last := source.count()
		pass(10 * time.Hour)
		if _, isOver := f.Take(web.Key(), web.UID); !isOver || source.count() != last || f.results(resultGivenUp) != 1 {
			t.Errorf("asked %d times, at last %d, over %v", last, source.count(), isOver)
		}
		source.mu.Lock()
		err = fmt.Errorf("load of web: %w", prometheushistory.ErrNoLoad)
		source.mu.Unlock()
		f.Ask(web, cpuPolicy(), nil, 0)
		pass(time.Hour)
		if data, isOver := f.Take(web.Key(), web.UID); !isOver || data.Forecast != nil || f.results(resultUnknown) != 1 {
			t.Errorf("over %v, %d bytes", isOver, len(data.Forecast))
		}
	})
}

// TestLeftOut: the Filler does not request loads that Prometheus cannot have. A part of the metrics would count as all
// of them.
func TestLeftOut(t *testing.T) {
	f := newFiller(t, &loads{answer: jumps})
	memory := source.Spec{Type: source.Resource, Name: "memory", Target: source.Target{Type: source.Utilization, Percent: 50}}
	two, none, other := cpuPolicy(), cpuPolicy(), hpa("web")
	two.Metrics = append(two.Metrics, memory)
	none.Metrics = []source.Spec{memory}
	other.HPA.Spec.ScaleTargetRef.Kind = "Job"
	if f.Ask(hpa("web"), two, nil, 0) || f.Ask(hpa("web"), none, nil, 0) || f.Ask(other, cpuPolicy(), nil, 0) ||
		f.results(resultLeftOut) != 3 || len(f.queue) != 0 {
		t.Errorf("%v are left out, want 3", f.results(resultLeftOut))
	}
}

// TestImpossibleLoads: impossible values count as unknown, and are learnt as little as missing ones.
func TestImpossibleLoads(t *testing.T) {
	now := time.Date(2026, 3, 9, 0, 0, 0, 0, time.UTC)
	j, err := newJob(hpa("web"), cpuPolicy(), nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, bad := range []float64{math.NaN(), math.Inf(1), 1e300, -1} {
		s, _ := jumps(&prometheushistory.Query{From: now.Add(-length), To: now})
		for i := range s.Pods {
			if i%3 > 0 || i < 60 {
				s.Pods[i], s.PerPodMilli[i] = bad, bad
			}
		}
		data, err := j.learn(&s)
		learnt, past := forecast.New(), loadhistory.History{}
		if err := errors.Join(err, learnt.UnmarshalBinary(data.Forecast), past.UnmarshalBinary(data.History)); err != nil {
			t.Fatalf("%v: %v", bad, err)
		}
		if !learnt.IsLearning(&j.replay.Settings) {
			t.Errorf("%v: a day of known minutes is taken for three", bad)
		}
		past.Points(now.Add(-length), now, func(p loadhistory.Point) bool {
			if p.Load < 1.9 || p.Load > 10.2 || p.At.Before(now.Add(55*time.Minute-length)) {
				t.Errorf("%v: %+v", bad, p)
			}
			return !t.Failed()
		})
		for i := range s.Pods {
			s.Pods[i] = bad
		}
		if _, err := j.learn(&s); !errors.Is(err, prometheushistory.ErrNoLoad) {
			t.Errorf("%v alone: %v", bad, err)
		}
	}
}

// TestPrometheus: the Filler reads from a server whose responses are as large as permitted.
func TestPrometheus(t *testing.T) {
	for name, c := range map[string]struct {
		value  string
		shift  float64
		result string
	}{
		"fine":                {"0.5", 0, resultFilled},
		"a year ahead":        {"0.5", 365 * 86400, resultUnknown},
		"not a number":        {"NaN", 0, resultUnknown},
		"more than there are": {"1e300", 0, resultUnknown},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				start, _ := strconv.ParseFloat(r.FormValue("start"), 64)
				end, _ := strconv.ParseFloat(r.FormValue("end"), 64)
				var points []string
				for at := start; at <= end; at += 60 {
					points = append(points, fmt.Sprintf(`[%f,%q]`, at+c.shift, c.value))
				}
				fmt.Fprintf(w, `{"status":"success","data":{"resultType":"matrix","result":[{"metric":{},"values":[%s]}]}}`,
					strings.Join(points, ","))
			}))
			defer server.Close()
			cfg := prometheushistory.DefaultConfig()
			cfg.Address = server.URL
			client, err := prometheushistory.New(cfg)
			if err != nil {
				t.Fatal(err)
			}
			f := newFiller(t, client)
			j, err := newJob(hpa("web"), cpuPolicy(), []*observe.Pod{}, 0)
			if err != nil {
				t.Fatal(err)
			}
			data, err := f.read(t.Context(), j)
			if got := resultOf(err); got != c.result || (got == resultFilled) != (len(data.Forecast) > 0) {
				t.Errorf("%s, %v", got, err)
			}
		})
	}
}

func BenchmarkLearn(b *testing.B) {
	now := time.Date(2026, 3, 9, 0, 0, 0, 0, time.UTC)
	s, _ := jumps(&prometheushistory.Query{From: now.Add(-14 * 24 * time.Hour), To: now})
	j, err := newJob(hpa("web"), cpuPolicy(), nil, 0)
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := j.learn(&s); err != nil {
			b.Fatal(err)
		}
	}
}
