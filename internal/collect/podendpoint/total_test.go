package podendpoint

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/plimsoll-dev/plimsoll/internal/observe"
	"github.com/plimsoll-dev/plimsoll/internal/observe/horizontal/sources"
)

// gatewayQuery selects the queue of a gateway's pods.
func gatewayQuery(pods []*observe.Pod, by sources.Aggregate) *query {
	q := gaugeQuery(pods)
	q.Spec.Pods, q.Spec.Aggregate = sources.PodSet{Service: "gateway"}, by
	return q
}

// total passes the time, with a look each second, and returns the last total.
func (f *fleet) total(q *query, d time.Duration) sources.Answer {
	_, _ = f.run(q, d)
	return f.source.Total(time.Now(), q.Key, q.Spec, q.Pods)
}

func shown(a *sources.Answer) string {
	switch {
	case a.IsPending:
		return "pending"
	case a.Err != nil:
		return a.Err.Error()
	case a.IsLeast:
		return fmt.Sprintf("at least %v (%s)", a.Series, a.Incomplete)
	}
	return fmt.Sprint(a.Series)
}

// changed returns the pod of this number after a change.
func changed(number int, change func(*corev1.Pod)) *observe.Pod {
	p := podOf(number)
	change(p)
	return observe.PodOf(p)
}

// never is a pod that started an hour ago and has never been ready.
func never(p *corev1.Pod) { p.Status.Conditions[0].Status = corev1.ConditionFalse }

// again is a pod that is ready no more.
func again(p *corev1.Pod) {
	never(p)
	p.Status.Conditions[0].LastTransitionTime = metav1.NewTime(time.Now().Add(-time.Minute))
}

func pending(p *corev1.Pod) { p.Status.Phase = corev1.PodPending }

// TestTotal: what the pods of a gateway have together, after a minute. Pods 0 and 1 have 6 and 3 in two series each.
func TestTotal(t *testing.T) {
	for name, tt := range map[string]struct {
		by   sources.Aggregate
		pods func() []*observe.Pod
		want string
	}{
		"the sum of all series":             {sources.Sum, func() []*observe.Pod { return pods(0, 2) }, "[9]"},
		"the average of each pod's average": {sources.Average, func() []*observe.Pod { return pods(0, 2) }, "[2.25]"},
		"the largest series":                {sources.Max, func() []*observe.Pod { return pods(0, 2) }, "[5]"},
		"no pod":                            {sources.Sum, func() []*observe.Pod { return nil }, "no pod of the namespace matches the selector of service gateway"},
		"none that runs": {sources.Sum, func() []*observe.Pod { return []*observe.Pod{changed(0, pending)} },
			"no pod that matches the selector of service gateway is running"},
		"one that does not run": {sources.Sum, func() []*observe.Pod { return append(pods(0, 2), changed(2, pending)) }, "[9]"},
		"one that answers, unready": {sources.Sum,
			func() []*observe.Pod { return append(pods(0, 1), changed(1, never)) }, "[9]"},
		"one that does not answer": {sources.Sum, func() []*observe.Pod { return pods(0, 3) },
			"at least [9] (1 of 3 pods has no value: pod pod-2 at 10.1.0.2:8080: connection refused)"},
		"the average counts it as 0": {sources.Average, func() []*observe.Pod { return pods(0, 3) },
			"at least [1.5] (1 of 3 pods has no value: pod pod-2 at 10.1.0.2:8080: connection refused)"},
		"none that answers": {sources.Sum, func() []*observe.Pod { return pods(2, 1) },
			"none of 1 pods that are ready has a sample: pod pod-2 at 10.1.0.2:8080: connection refused"},
		"one that has never been ready": {sources.Sum,
			func() []*observe.Pod { return append(pods(0, 2), changed(2, never)) }, "[9]"},
		"one that is no longer ready": {sources.Sum,
			func() []*observe.Pod { return append(pods(0, 2), changed(2, again)) }, "at least [9] (1 of 3 pods has no value)"},
		"the average of those that have been ready": {sources.Average,
			func() []*observe.Pod { return append(pods(0, 1), changed(1, never)) }, "[3]"},
		"only one that was never ready": {sources.Sum, func() []*observe.Pod { return []*observe.Pod{changed(2, never)} },
			"no pod that matches the selector of service gateway has a value"},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				f := begin(t, Config{})
				f.page["pod-0"] = text(func() string { return "queue_length{rank=\"0\"} 5\nqueue_length{rank=\"1\"} 1\n" })
				f.page["pod-1"] = text(func() string { return "queue_length{rank=\"0\"} 1\nqueue_length{rank=\"1\"} 2\n" })
				a := f.total(gatewayQuery(tt.pods(), tt.by), time.Minute)
				if got := shown(&a); got != tt.want {
					t.Errorf("%s, want %s", got, tt.want)
				}
				if len(a.Series) > 0 && time.Since(a.At) > 2*time.Second {
					t.Errorf("of %s ago", time.Since(a.At))
				}
			})
		})
	}
}

// TestTotalOfSilentPod: an overloaded pod counts with its last value on the way up, and nothing is known downwards.
func TestTotalOfSilentPod(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := begin(t, Config{})
		f.page["pod-0"], f.page["pod-1"] = gauge("4"), gauge("7")
		q := gatewayQuery(pods(0, 2), sources.Sum)
		if a := f.total(q, 30*time.Second); shown(&a) != "[11]" {
			t.Error(shown(&a))
		}
		f.change(func() { f.page["pod-1"] = nil })
		a := f.total(q, time.Minute)
		if got := shown(&a); !strings.HasPrefix(got, "at least [11] (1 of 2 pods has no value: pod pod-1") {
			t.Error(got)
		}
		if time.Since(a.At) < 50*time.Second {
			t.Errorf("a value of a minute ago passes as one of %s ago", time.Since(a.At))
		}
		if a = f.total(q, 6*time.Minute); !strings.HasPrefix(shown(&a), "at least [4] (1 of 2 pods") {
			t.Error(shown(&a))
		}
	})
}

// TestFirstRequestCounts: a gateway's counter grows once after a while. Over which time it grew is not known, but that
// it did wakes a target, and lowers nothing.
func TestFirstRequestCounts(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := begin(t, Config{})
		requests := 7
		f.page["pod-0"] = text(func() string { return fmt.Sprintf("http_requests_total %d\n", requests) })
		q := rateQuery(pods(0, 1))
		q.Spec.Pods = sources.PodSet{Labels: "app=gateway"}
		if a := f.total(q, time.Minute); shown(&a) != "[0]" {
			t.Error(shown(&a))
		}
		f.change(func() { requests++ })
		a := f.total(q, 2*time.Second)
		if len(a.Series) != 1 || a.Series[0] <= 0 || a.Series[0] > 1 || !a.IsLeast {
			t.Error(shown(&a))
		}
		if a = f.total(q, 2*time.Minute); shown(&a) != "[0]" {
			t.Error(shown(&a))
		}
	})
}

// TestTotalOfNewPod: a pod whose scraping has just begun makes no failure.
func TestTotalOfNewPod(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := begin(t, Config{})
		f.page["pod-0"], f.page["pod-1"] = f.requests(10), f.requests(5)
		q := rateQuery(pods(0, 1))
		q.Spec.Pods = sources.PodSet{Labels: "app=gateway"}
		if a := f.total(q, 0); shown(&a) != "pending" {
			t.Error(shown(&a))
		}
		_ = f.total(q, 30*time.Second)
		q.Pods = pods(0, 2)
		if a := f.total(q, 2*time.Second); !a.IsLeast || a.Incomplete != "" || a.Err != nil {
			t.Error(shown(&a))
		}
		if a := f.total(q, 10*time.Second); a.IsLeast || a.Series[0] < 14.9 || a.Series[0] > 15.1 {
			t.Error(shown(&a))
		}
	})
}

// TestTotalOfSample: the pods of a sample stand for all.
func TestTotalOfSample(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := begin(t, Config{MaxPerSecond: 20})
		for i := range 60 {
			f.page[fmt.Sprint("pod-", i)] = gauge("2")
		}
		q := gatewayQuery(pods(0, 60), sources.Sum)
		a := f.total(q, time.Minute)
		if got := shown(&a); got != "[120]" {
			t.Error(got)
		}
		if got, _ := f.run(q, 0); !strings.Contains(got, "?") {
			t.Errorf("all pods are scraped: %s", got)
		}
	})
}

// TestPodsOfBothSets: an object has metrics of its target's pods and of others, and each has its own pods.
func TestPodsOfBothSets(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := begin(t, Config{})
		for i := range 3 {
			f.page[fmt.Sprint("pod-", i)] = gauge(fmt.Sprint(i + 1))
		}
		of, others := gaugeQuery(pods(0, 1)), gatewayQuery(pods(1, 2), sources.Sum)
		for range 20 {
			_, _ = f.run(of, 0)
			_, _ = f.run(others, time.Second)
			synctest.Wait()
		}
		if got, err := f.run(of, 0); got != "1000" || err != nil {
			t.Errorf("%s, %v", got, err)
		}
		if a := f.total(others, 0); shown(&a) != "[5]" {
			t.Error(shown(&a))
		}
		if s := f.last(); s.Reporting != 3 {
			t.Errorf("%+v", s)
		}
	})
}
