package metricsapi_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr/funcr"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/plimsoll-dev/plimsoll/internal/collect/metricsapi"
)

const syncPeriod = 15 * time.Second

// adapter answers to an external metric after a while, which it may never.
type adapter func(metric string) time.Duration

// RoundTrip implements http.RoundTripper.
func (a adapter) RoundTrip(r *http.Request) (*http.Response, error) {
	metric := r.URL.Path[strings.LastIndex(r.URL.Path, "/")+1:]
	select {
	case <-time.After(a(metric)):
	case <-r.Context().Done():
		return nil, r.Context().Err()
	}
	body, err := json.Marshal(map[string]any{
		"kind": "ExternalMetricValueList", "apiVersion": "external.metrics.k8s.io/v1beta1", "metadata": map[string]any{},
		"items": []map[string]any{{"metricName": metric, "timestamp": "2026-11-22T00:00:00Z", "value": "1"}},
	})
	return &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}},
		Body: io.NopCloser(strings.NewReader(string(body))), Request: r,
	}, err
}

// asker requests the metrics of one object, all at a time, each sync period.
type asker struct {
	object  types.NamespacedName
	metrics []string
}

// askers returns n objects with one metric each, of its name.
func askers(namespace, kind string, n int) []asker {
	all := make([]asker, n)
	for i := range all {
		name := fmt.Sprintf("%s-%d", kind, i)
		all[i] = asker{types.NamespacedName{Namespace: namespace, Name: name}, []string{name}}
	}
	return all
}

// results are the calls for metrics whose names share a prefix.
type results struct {
	answered, failed int
	waited, longest  time.Duration
}

func (r results) mean() time.Duration { return r.waited / time.Duration(max(1, r.answered+r.failed)) }

// play runs the askers, and returns the results of the calls after the first part, by the prefix of the metrics' names
// up to the dash. Like the controller, none makes a request while its last is under way.
func play(
	t *testing.T, a adapter, all []asker, first, then time.Duration,
) (byKind map[string]results, logged []string) {
	t.Helper()
	byKind = map[string]results{}
	synctest.Test(t, func(t *testing.T) {
		log := funcr.New(func(_, args string) { logged = append(logged, args) }, funcr.Options{})
		c, err := metricsapi.New(metricsapi.Config{
			Rest: &rest.Config{Host: "https://api", Transport: a, QPS: -1}, Mapper: meta.NewDefaultRESTMapper(nil),
			Period: syncPeriod, Log: log,
		})
		if err != nil {
			t.Fatal(err)
		}
		var mu sync.Mutex
		began := time.Now()
		ctx, cancel := context.WithCancel(t.Context())
		var asking sync.WaitGroup
		ask := func(o asker, metric string) {
			start := time.Now()
			_, err := c.External(metricsapi.WithCall(ctx, &metricsapi.Call{Object: o.object}), o.object.Namespace, metric, "")
			if start.Sub(began) < first || ctx.Err() != nil {
				return
			}
			kind, _, _ := strings.Cut(metric, "-")
			mu.Lock()
			defer mu.Unlock()
			r := byKind[kind]
			if took := time.Since(start); err == nil {
				r.answered, r.waited, r.longest = r.answered+1, r.waited+took, max(r.longest, took)
			} else {
				r.failed++
			}
			byKind[kind] = r
		}
		phases := rand.New(rand.NewPCG(1, 1))
		for _, o := range all {
			phase := time.Duration(phases.Int64N(int64(syncPeriod)))
			for _, metric := range o.metrics {
				asking.Go(func() {
					for due := began.Add(phase); ctx.Err() == nil; due = due.Add(syncPeriod) {
						time.Sleep(time.Until(due)) //nolint:forbidigo // virtual time: this is what moves it
						ask(o, metric)
					}
				})
			}
		}
		time.Sleep(first + then) //nolint:forbidigo // virtual time: this is what moves it
		cancel()
		asking.Wait()
	})
	return byKind, logged
}

// An API with more requests than its slots can serve is read less often for each object. No call fails for that. Nor
// does one upstream: its workers have no deadline for their turn. With five of them each object would have its turn
// each 60 s where 600 calls take half a second.
func TestOverloadFailsNobody(t *testing.T) {
	for _, c := range []struct {
		objects int
		took    time.Duration
		load    float64
	}{
		{470, 500 * time.Millisecond, 0.98}, {500, 500 * time.Millisecond, 1.04}, {600, 500 * time.Millisecond, 1.25},
		{1000, 500 * time.Millisecond, 2.08},
		{1300, 200 * time.Millisecond, 1.08}, {300, time.Second, 1.25}, {100, 5 * time.Second, 2.08},
	} {
		t.Run(fmt.Sprintf("%d calls of %s", c.objects, c.took), func(t *testing.T) {
			const first, then = time.Minute, 4 * time.Minute
			all, logged := play(t, func(string) time.Duration { return c.took }, askers("shop", "m", c.objects), first, then)
			got := all["m"]
			// The calls that the slots can serve, less those that were under way at the end.
			turns := float64(then/syncPeriod) / max(1, c.load)
			if want := int(float64(c.objects) * (turns - 2)); got.failed > 0 || got.answered < want {
				t.Errorf("%d answers, %d failures; want %d answers at least and no failure", got.answered, got.failed, want)
			}
			// An API that is slower than that is read less often for all objects alike, and the log says so.
			if most := time.Duration(max(1, c.load) * 1.2 * float64(syncPeriod)); got.longest > most {
				t.Errorf("the longest call took %s, want %s at most", got.longest, most)
			}
			if isLate := len(logged) > 0 &&
				strings.Contains(logged[0], "requested less often"); isLate != (got.longest > syncPeriod+c.took) ||
				len(logged) > 1 {
				t.Errorf("calls took up to %s, and the log says %q", got.longest, logged)
			}
		})
	}
}

// Calls that hang cost the other calls of the same API next to nothing, neither when they begin to hang nor later.
func TestHungMetricsLeaveSlots(t *testing.T) {
	for _, hung := range []int{10, 24, 100, 1000} {
		for _, namespace := range []string{"shop", "other"} {
			t.Run(fmt.Sprintf("%d in namespace %s", hung, namespace), func(t *testing.T) {
				begin := sync.OnceValue(func() time.Time { return time.Now().Add(time.Minute) })
				a := func(metric string) time.Duration {
					if time.Now().After(begin()) && strings.HasPrefix(metric, "hung") {
						return time.Hour
					}
					return 50 * time.Millisecond
				}
				all, _ := play(t, a, append(askers(namespace, "hung", hung), askers("shop", "fine", 50)...), time.Minute,
					5*time.Minute)
				fine, hung := all["fine"], all["hung"]
				t.Logf("fine: %d answers, %s on average, %s at most; hung: %d answers, %d failures", fine.answered, fine.mean(),
					fine.longest, hung.answered, hung.failed)
				if fine.failed > 0 || fine.answered < 900 || fine.mean() > 500*time.Millisecond || fine.longest > 20*time.Second {
					t.Errorf("of 50 that do not hang: %+v", fine)
				}
				if hung.answered > 1 || hung.failed < 80 {
					t.Errorf("of those that hang: %+v", hung)
				}
			})
		}
	}
}

// An object with very many metrics waits for itself.
func TestManyMetricsOfOneObject(t *testing.T) {
	for _, metrics := range []int{500, 1500} {
		t.Run(fmt.Sprint(metrics), func(t *testing.T) {
			greedy := asker{object: types.NamespacedName{Namespace: "shop", Name: "greedy"}}
			for i := range metrics {
				greedy.metrics = append(greedy.metrics, fmt.Sprintf("greedy-%d", i))
			}
			all, _ := play(t, func(string) time.Duration { return 100 * time.Millisecond },
				append(askers("shop", "fine", 50), greedy), 0, 3*time.Minute)
			fine := all["fine"]
			t.Logf("fine: %d answers, %s on average, %s at most; greedy: %+v", fine.answered, fine.mean(), fine.longest,
				all["greedy"])
			if fine.failed > 0 || fine.answered < 550 || fine.mean() > 250*time.Millisecond ||
				fine.longest > 500*time.Millisecond {
				t.Errorf("of 50 others: %+v", fine)
			}
			if all["greedy"].failed > 0 {
				t.Errorf("of the object: %+v", all["greedy"])
			}
		})
	}
}
