package podendpoint

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/plimsoll-dev/plimsoll/internal/decide/arithmetic"
	"github.com/plimsoll-dev/plimsoll/internal/observe"
	"github.com/plimsoll-dev/plimsoll/internal/observe/horizontal/sources"
	"github.com/plimsoll-dev/plimsoll/internal/timing"
)

// Every pod is scraped each second, at about the same time, over one connection.
func TestRates(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := begin(t, Config{})
		f.page["pod-0"], f.page["pod-1"] = f.requests(10), f.requests(30)
		q := rateQuery(pods(0, 2))
		// Samples of less than three seconds may be a burst.
		for _, after := range []time.Duration{0, 3 * time.Second} {
			if _, err := f.run(q, after); !errors.Is(err, ErrStarting) {
				t.Errorf("%s after the look before: %v", after, err)
			}
		}
		for _, after := range []time.Duration{3 * time.Second, 14 * time.Second} {
			if got, err := f.run(q, after); got != "10000 30000" || err != nil {
				t.Errorf("%s after the look before: %s, %v", after, got, err)
			}
		}
		for _, pod := range []string{"pod-0", "pod-1"} {
			if n := len(f.times(pod)); f.connections(pod) != 1 || n < 20 || n > 22 {
				t.Errorf("%s was dialed %d times and asked %d times", pod, f.connections(pod), n)
			}
		}
		one, other := f.times("pod-0"), f.times("pod-1")
		if apart := one[len(one)-1].Sub(other[len(other)-1]).Abs(); apart > leastSpread {
			t.Errorf("the pods are scraped %s apart", apart)
		}
		if s := f.last(); s.Reporting != 2 || s.Key != q.Key || s.At.Sub(s.Before) != time.Second {
			t.Errorf("%+v", s)
		}
	})
}

// Metrics on the same page are read with one request, also of other types.
func TestMetricsOfOnePage(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := begin(t, Config{})
		f.page["pod-0"] = text(func() string {
			return fmt.Sprintf("http_requests_total %f\nqueue_length{name=\"a\"} 3\nqueue_length{name=\"b\"} 4\n",
				float64(time.Since(f.began).Milliseconds())/100)
		})
		rate, queue := rateQuery(pods(0, 1)), gaugeQuery(pods(0, 1))
		for range 5 {
			_, _ = f.run(rate, 0)
			_, _ = f.run(queue, time.Second)
		}
		if got, err := f.run(rate, 0); got != "10000" || err != nil {
			t.Errorf("the rate is %s, %v", got, err)
		}
		if got, err := f.run(queue, 0); got != "7000" || err != nil {
			t.Errorf("the queue is %s, %v", got, err)
		}
		if n := len(f.times("pod-0")); n > 7 {
			t.Errorf("%d requests in 5 s", n)
		}
		// Only the other metric is still read.
		f.set(queue.Key, []sources.Spec{{PodEndpoint: queue.Spec}})
		if got, err := f.run(queue, 0); got != "7000" || err != nil {
			t.Errorf("the queue is %s, %v", got, err)
		}
		if p := f.source.objects[queue.Key].pages; len(p) != 1 || len(p[0].metrics) != 1 {
			t.Error("a metric that was removed from the object is still read")
		}
		if err := f.latest(rate, &View{}); !errors.Is(err, ErrStarting) {
			t.Errorf("%v", err)
		}
	})
}

func TestGauge(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := begin(t, Config{})
		f.page["pod-0"] = gauge("7.5")
		q := gaugeQuery(pods(0, 1))
		_, _ = f.run(q, 0)
		<-time.After(500 * time.Millisecond)
		var v View
		if err := f.look(q, &v); err != nil || milli(&v, 1) != "7500" {
			t.Errorf("the first value counts at once: %s, %v", milli(&v, 1), err)
		}
		recent := v.Recent(0, nil, arithmetic.Saturate)
		if recent[0].Present {
			t.Error("a single value has an interval")
		}
		_, _ = f.run(q, 5*time.Second)
		_ = f.look(q, &v)
		for k, r := range v.Recent(0, nil, arithmetic.Saturate) {
			if !r.Present || r.Milli != 7500 || (r.Window-time.Second).Abs() > 600*time.Millisecond {
				t.Errorf("interval %d: %+v", k, r)
			}
		}
	})
}

// A value with a timestamp counts at that time, and not at all when it is old: it is never new.
func TestTimestamps(t *testing.T) {
	const second = time.Second
	for name, tt := range map[string]struct {
		age  time.Duration
		want string
		err  error
	}{
		"now":                 {0, "7000", nil},
		"a minute ago":        {time.Minute, "7000", nil},
		"before five minutes": {5*time.Minute + second, "-", errOld},
		"a clock ahead":       {-5 * second, "7000", nil},
		"of the future":       {-time.Minute, "-", errAhead},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				f := begin(t, Config{})
				f.page["pod-0"] = text(func() string {
					return fmt.Sprintf("queue_length{name=\"a\"} 3\nqueue_length{name=\"b\"} 4 %d\n",
						time.Now().Add(-tt.age).UnixMilli())
				})
				q := gaugeQuery(pods(0, 1))
				got, err := f.run(q, 20*second)
				if got != tt.want || !errors.Is(err, tt.err) {
					t.Errorf("%s, %v; want %s, %v", got, err, tt.want, tt.err)
				}
				var v View
				_ = f.look(q, &v)
				s := v.Sample(0, nil, arithmetic.Saturate)
				if age := time.Since(s.At); s.Present && (age-tt.age).Abs() > 2*second {
					t.Errorf("the value is taken for one of %s ago, and is of %s ago", age, tt.age)
				}
				if recent := v.Recent(0, nil, arithmetic.Saturate); recent[0].Present && tt.age > 3*second {
					t.Error("single intervals of a minute ago count as those of now")
				}
			})
		})
	}
}

// A page that repeats a timestamp: its value counts until it is five minutes old; then the error has the reason. A
// value that a page no longer has counts for three seconds, as every other.
func TestRepeatedTimestamp(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := begin(t, Config{})
		taken := time.Now().Add(-time.Minute)
		page := fmt.Sprintf("queue_length 7 %d\n", taken.UnixMilli())
		f.page["pod-0"] = text(func() string { return page })
		q := gaugeQuery(pods(0, 1))
		for _, step := range []struct {
			lasts time.Duration
			want  string
			err   error
		}{{3*time.Minute + 50*time.Second, "7000", nil}, {20 * time.Second, "-", errOld}} {
			if got, err := f.run(q, step.lasts); got != step.want || !errors.Is(err, step.err) {
				t.Errorf("after %s: %s, %v; want %s, %v", time.Since(taken), got, err, step.want, step.err)
			}
		}
		f.change(func() { page = fmt.Sprintf("queue_length 8 %d\n", time.Now().Add(-time.Minute).UnixMilli()) })
		if got, err := f.run(q, 10*time.Second); got != "8000" || err != nil {
			t.Errorf("a new value: %s, %v", got, err)
		}
		f.change(func() { page = "other 1\n" })
		if got, err := f.run(q, 10*time.Second); got != "-" || !errors.Is(err, errAbsent) {
			t.Errorf("without the metric: %s, %v", got, err)
		}
	})
}

// Half of the pods are silent: they have no samples, and the others have theirs.
func TestHalfOfThePodsAreSilent(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := begin(t, Config{})
		for i := range 4 {
			f.page[fmt.Sprintf("pod-%d", i)] = f.requests(10)
		}
		q := rateQuery(pods(0, 4))
		if got, err := f.run(q, 5*time.Second); got != "10000 10000 10000 10000" || err != nil {
			t.Fatalf("%s, %v", got, err)
		}
		f.change(func() { f.page["pod-1"], f.page["pod-3"] = hostile["silence"].page, nil })
		if got, err := f.run(q, 2*time.Second); got != "10000 10000 10000 10000" || err != nil {
			t.Errorf("for a short time the last samples count: %s, %v", got, err)
		}
		if got, err := f.run(q, 2*time.Second); got != "10000 10000 10000 -" || err != nil {
			t.Errorf("one refuses, and one may still answer: %s, %v", got, err)
		}
		if got, err := f.run(q, 3*time.Second); got != "10000 - 10000 -" || err != nil {
			t.Errorf("then they are missing: %s, %v", got, err)
		}
		if sampled := f.last(); sampled.Reporting != 2 {
			t.Errorf("%d pods report", sampled.Reporting)
		}
		f.change(func() { f.page["pod-1"], f.page["pod-3"] = f.requests(10), f.requests(10) })
		if got, err := f.run(q, 14*time.Second); got != "10000 10000 10000 10000" || err != nil {
			t.Errorf("in the end: %s, %v", got, err)
		}
	})
}

// Counters that restart give no rate until there are two pages of them.
func TestCountersBeginAnew(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := begin(t, Config{})
		f.page["pod-0"], f.page["pod-1"] = f.requests(10), f.requests(10)
		q := rateQuery(pods(0, 2))
		_, _ = f.run(q, 5*time.Second)
		restart := time.Now()
		f.change(func() {
			f.page["pod-1"] = text(func() string {
				return fmt.Sprintf("http_requests_total{code=\"200\"} %f\n", time.Since(restart).Seconds()*5)
			})
		})
		<-time.After(time.Second)
		if got, err := f.run(q, 0); got != "10000 -" || err != nil {
			t.Errorf("at once: %s, %v", got, err)
		}
		if got, err := f.run(q, 3*time.Second); got != "10000 5000" || err != nil {
			t.Errorf("then: %s, %v", got, err)
		}
	})
}

// A gauge that is read as a counter, or a page that several processes serve in turn, never has a rate. The error has
// the reason.
func TestCounterThatFallsOnEveryPage(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := begin(t, Config{})
		value := 1e9
		f.page["pod-0"] = text(func() string {
			value--
			return fmt.Sprintf("http_requests_total %f\n", value)
		})
		if _, err := f.run(rateQuery(pods(0, 1)), 10*time.Second); !errors.Is(err, errRestarts) {
			t.Errorf("%v", err)
		}
	})
}

// Deleted pods are no longer scraped, and new ones are at once.
func TestPodsComeAndGo(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := begin(t, Config{})
		for i := range 3 {
			f.page[fmt.Sprintf("pod-%d", i)] = f.requests(10)
		}
		_, _ = f.run(rateQuery(pods(0, 2)), 6*time.Second)
		asked := len(f.times("pod-0"))
		if got, err := f.run(rateQuery(pods(1, 2)), 6*time.Second); got != "10000 10000" || err != nil {
			t.Errorf("%s, %v", got, err)
		}
		if n := len(f.times("pod-0")); n > asked {
			t.Errorf("a pod that is gone was scraped %d times", n-asked)
		}
		if open := f.source.client.Open(); open != 2 {
			t.Errorf("%d connections for 2 pods", open)
		}
		// A pod with the same name is another pod, and so is one at another address.
		again := podOf(1)
		again.UID, again.Status.PodIP = "other", "10.1.0.7"
		f.change(func() { f.page["pod-7"] = f.requests(20) })
		q := rateQuery([]*observe.Pod{observe.PodOf(again)})
		if got, err := f.run(q, 6*time.Second); got != "20000" || err != nil {
			t.Errorf("%s, %v", got, err)
		}
		again.Status.PodIP = "10.1.0.1"
		q = rateQuery([]*observe.Pod{observe.PodOf(again)})
		if got, err := f.run(q, 6*time.Second); got != "10000" || err != nil || f.followed() != 1 {
			t.Errorf("%s, %v", got, err)
		}
		f.forget(q.Key)
		synctest.Wait()
		if open := f.source.client.Open(); open != 0 || f.followed() != 0 {
			t.Errorf("%d connections for no pods", open)
		}
	})
}

// A pod that fails until it is ready is scraped as soon as it is.
func TestPodsBecomeReady(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := begin(t, Config{})
		f.page["pod-0"] = f.requests(10)
		starting := podOf(1)
		starting.Status.Conditions[0].Status = corev1.ConditionFalse
		q := rateQuery(append(pods(0, 1), observe.PodOf(starting)))
		if got, err := f.run(q, 20*time.Second); got != "10000 -" || err != nil {
			t.Errorf("%s, %v", got, err)
		}
		f.change(func() { f.page["pod-1"] = f.requests(10) })
		starting.Status.Conditions[0].Status = corev1.ConditionTrue
		starting.Status.Conditions[0].LastTransitionTime = metav1.NewTime(time.Now())
		q = rateQuery(append(pods(0, 1), observe.PodOf(starting)))
		if got, err := f.run(q, 2*time.Second); got != "10000 10000" || err != nil {
			t.Errorf("2 s after it is ready: %s, %v", got, err)
		}
	})
}

// Not every pod has a page.
func TestPodsWithoutPages(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := begin(t, Config{})
		f.page["pod-0"] = f.requests(10)
		odd := []*corev1.Pod{podOf(1), podOf(2), podOf(3), podOf(4)}
		odd[0].Spec.Containers[0].Ports[0].Name = "other"
		odd[1].Status.PodIP = ""
		odd[2].Status.Phase = corev1.PodPending
		odd[3].Spec.HostNetwork = true
		q := rateQuery(append(pods(0, 1), observe.PodsOf(odd)...))
		if got, err := f.run(q, 5*time.Second); got != "10000 - - - -" || err != nil {
			t.Errorf("%s, %v", got, err)
		}
		q = rateQuery(observe.PodsOf(odd[:1]))
		if _, err := f.run(q, 5*time.Second); err == nil || !strings.Contains(err.Error(), `no container port named "http"`) {
			t.Error(err)
		}
		q = rateQuery(observe.PodsOf(odd[2:3]))
		var v View
		if err := f.look(q, &v); err != nil || !v.IsEmpty() {
			t.Errorf("pods that are not ready: %v", err)
		}
	})
}

// An urgent pod is scraped once more, 200 ms after its last scrape.
func TestUrgent(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := begin(t, Config{})
		f.page["pod-0"] = f.requests(10)
		q := rateQuery(pods(0, 1))
		_, _ = f.run(q, 5*time.Second)
		count := func() int { return len(f.times("pod-0")) }
		for before := count(); count() == before; {
			<-time.After(time.Millisecond)
		}
		before := count()
		f.source.Urgent(q.Pods)
		<-time.After(210 * time.Millisecond)
		if n := count() - before; n != 1 {
			t.Errorf("%d early scrapes", n)
		}
		<-time.After(190 * time.Millisecond)
		if n := count() - before; n != 1 {
			t.Errorf("%d early scrapes", n)
		}
	})
}

// The pods of a deleted object are no longer scraped, and those of another one still are.
func TestForgotten(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := begin(t, Config{})
		f.page["pod-0"] = f.requests(10)
		gone, stays := rateQuery(pods(0, 1)), rateQuery(pods(0, 1))
		stays.Key.Name = "stays"
		_, _ = f.run(stays, 0)
		_, _ = f.run(gone, 5*time.Second)
		before, sampled := len(f.times("pod-0")), len(f.sampled)
		f.forget(gone.Key)
		<-time.After(5 * time.Second)
		if n := len(f.times("pod-0")) - before; n < 4 || n > 5 || f.followed() != 1 || f.source.client.Open() != 1 {
			t.Errorf("%d requests, %d pods, %d connections", n, f.followed(), f.source.client.Open())
		}
		f.change(func() {
			for _, s := range f.sampled[sampled:] {
				if s.Key == gone.Key {
					t.Errorf("%+v", s)
				}
			}
		})
		before = len(f.times("pod-0"))
		f.forget(stays.Key)
		<-time.After(5 * time.Second)
		if n := len(f.times("pod-0")); n != before || f.followed() != 0 || f.source.client.Open() != 0 {
			t.Errorf("%d requests, %d pods, %d connections", n-before, f.followed(), f.source.client.Open())
		}
	})
}

// A page that arrives after the object's metric has been edited is dropped, and leads to no decision.
func TestEditedDuringScrape(t *testing.T) {
	for name, c := range map[string]struct {
		edit     func(*sources.PodEndpoint)
		decision bool
	}{
		"no edit":                    {func(*sources.PodEndpoint) {}, true},
		"another page":               {func(spec *sources.PodEndpoint) { spec.Path = "/edited" }, false},
		"another metric of the page": {func(spec *sources.PodEndpoint) { spec.Metric = "other" }, false},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				f := begin(t, Config{})
				f.page["pod-0"] = slowly(gauge("7"), time.Second)
				q := gaugeQuery(pods(0, 1))
				_, _ = f.run(q, 0)
				for len(f.times("pod-0")) < 2 {
					<-time.After(time.Millisecond)
				}
				spec := *q.Spec
				c.edit(&spec)
				f.set(q.Key, []sources.Spec{{PodEndpoint: &spec}})
				var sampled int
				f.change(func() { sampled = len(f.sampled) })
				<-time.After(3 * time.Second)
				f.change(func() {
					if (len(f.sampled) > sampled) != c.decision {
						t.Errorf("%+v", f.sampled[sampled:])
					}
				})
				f.forget(q.Key)
				<-time.After(2 * time.Second)
			})
		})
	}
}

// A read causes no scrape.
func TestReadIsNoSubscription(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := begin(t, Config{})
		f.page["pod-0"] = f.requests(10)
		q := rateQuery(pods(0, 1))
		if err := f.latest(q, &View{}); !errors.Is(err, ErrStarting) {
			t.Error(err)
		}
		f.source.Follow(q.Key, sources.PodSet{}, q.Pods)
		<-time.After(5 * time.Second)
		if n := len(f.times("pod-0")); n > 0 {
			t.Errorf("%d requests", n)
		}
	})
}

// The samples of a metric from before its spec was edited are dropped.
func TestEditedPath(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := begin(t, Config{})
		var paths []string
		f.page["pod-0"] = func(w net.Conn, r *http.Request) {
			f.change(func() { paths = append(paths, r.URL.Path) })
			f.requests(10)(w, r)
		}
		before := rateQuery(pods(0, 1))
		_, _ = f.run(before, 5*time.Second)
		after, spec := *before, *before.Spec
		spec.Path = "/edited"
		after.Spec = &spec
		f.set(before.Key, []sources.Spec{{PodEndpoint: &spec}})
		f.change(func() { paths = nil })
		_, _ = f.run(&after, 5*time.Second)
		f.change(func() {
			if len(paths) == 0 || slices.Contains(paths, "/metrics") {
				t.Errorf("read: %q", paths)
			}
		})
		// Back to the first path: the samples of the old page are gone.
		if _, err := f.run(before, 0); !errors.Is(err, ErrStarting) {
			t.Errorf("%v", err)
		}
	})
}

// A sample of many pods stands for all: it moves on, and a pod that counts has a history.
func TestSampling(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := begin(t, Config{MaxPerSecond: 30})
		for i := range 210 {
			f.page[fmt.Sprintf("pod-%d", i)] = f.requests(10)
		}
		small := rateQuery(pods(200, 10))
		small.Key.Name = "small"
		q := rateQuery(pods(0, 200))
		_, _ = f.run(small, 0)
		_, _ = f.run(q, 10*time.Second)
		for second := range 120 {
			got, err := f.run(q, time.Second)
			samples, unsampled, missing := strings.Count(got, "10000"), strings.Count(got, "?"), strings.Count(got, "-")
			if err != nil || missing > 0 || samples < 13 || samples > 18 || samples+unsampled != 200 {
				t.Fatalf("after %d s %d samples, %d missing, %d unsampled: %v", second, samples, missing, unsampled, err)
			}
			if got, err := f.run(small, 0); strings.Count(got, "10000") < 7 || strings.Count(got, "-") > 0 || err != nil {
				t.Fatalf("the small one after %d s: %s, %v", second, got, err)
			}
		}
		pods, requests := 0, 0
		f.change(func() {
			for _, times := range f.asked {
				pods++
				requests += len(times)
			}
		})
		if pods < 60 {
			t.Errorf("only %d pods were asked in 2 min", pods)
		}
		if perSecond := float64(requests) / time.Since(f.began).Seconds(); perSecond > 31 {
			t.Errorf("%.1f requests a second, at most 30", perSecond)
		}
	})
}

// A pod may close a connection whenever it waits.
func TestClosedConnections(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := begin(t, Config{})
		page := f.requests(10)
		f.page["pod-0"] = func(w net.Conn, r *http.Request) { page(w, r); _ = w.Close() }
		f.page["pod-1"] = func(w net.Conn, _ *http.Request) {
			fmt.Fprintf(w, "HTTP/1.0 200 OK\r\n\r\nhttp_requests_total %d\n", 20*time.Since(f.began).Milliseconds()/1000)
			_ = w.Close()
		}
		if got, err := f.run(rateQuery(pods(0, 2)), 10*time.Second); !strings.HasPrefix(got, "10000 ") ||
			strings.Contains(got, "-") || err != nil {
			t.Errorf("%s, %v", got, err)
		}
	})
}

// The pods of an object are scraped at nearly the same time, and many pods of many objects at the same.
func TestPhases(t *testing.T) {
	const period, objects = time.Second, 500
	moments := map[time.Duration]int{}
	for o := range objects {
		p := &podPage{object: &object{key: observe.WLA("team-a", strconv.Itoa(o)), name: strconv.Itoa(o)}}
		first, last := period, time.Duration(0)
		for i := range 10 {
			phase := (&target{page: p, key: strconv.Itoa(o*10 + i)}).Phase(period)
			first, last = min(first, phase), max(last, phase)
			moments[phase]++
			if phase < 0 || phase >= period {
				t.Fatalf("a phase of %s", phase)
			}
		}
		if took := last - first; took > leastSpread && period-took > leastSpread {
			t.Errorf("a round of %s", took)
		}
	}
	most := 0
	for _, n := range moments {
		most = max(most, n)
	}
	if even := int(period / tick); len(moments) > even || len(moments) < even*9/10 || most > 4*objects*10/even {
		t.Errorf("%d moments, %d pods at one", len(moments), most)
	}
}

// Parsing small pages is measured sometimes, that of large ones always.
func TestMeasure(t *testing.T) {
	for _, bytes := range []int{measuredBytes - 1, measuredBytes} {
		var target target
		var spent, counted time.Duration
		reads := 0
		for range 2000 {
			counted += target.measure(bytes, func() {
				reads++
				if reads%2 == 0 {
					return // no page costs as much as the one before
				}
				spent += timing.CPUOf(func() {
					for end := time.Now().Add(50 * time.Microsecond); time.Now().Before(end); {
						continue
					}
				})
			})
		}
		if reads != 2000 || counted < spent/2 || counted > 2*spent {
			t.Errorf("%d bytes: %d pages cost %s, %s were counted", bytes, reads, spent, counted)
		}
	}
}
