package prometheushistory

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric/source"
	"github.com/plimsoll-dev/plimsoll/internal/observe"
)

// rangeServer answers range queries with a function of the time, or with a text.
type rangeServer struct {
	// usage, request and seen are the values at a time; NaN is none.
	usage, request, seen func(at time.Time) float64
	answer               string

	mu      sync.Mutex
	queries []string
	// longest is the largest number of points in one query.
	longest int
}

func (s *rangeServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	query := r.FormValue("query")
	start, _ := strconv.ParseFloat(r.FormValue("start"), 64)
	end, _ := strconv.ParseFloat(r.FormValue("end"), 64)
	step, _ := strconv.ParseFloat(r.FormValue("step"), 64)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.queries, s.longest = append(s.queries, query), max(s.longest, int((end-start)/step)+1)
	if s.answer != "" {
		_, _ = w.Write([]byte(s.answer)) // a test's
		return
	}
	at := s.usage
	if strings.Contains(query, "resource=") {
		at = s.request
	} else if strings.HasPrefix(query, "count") {
		at = s.seen
	}
	var points []string
	for second := start; second <= end; second += step {
		if v := at(time.Unix(int64(second), 0)); !math.IsNaN(v) {
			points = append(points, fmt.Sprintf(`[%f,"%g"]`, second, v))
		}
	}
	series := ""
	if len(points) > 0 {
		series = `{"metric":{},"values":[` + strings.Join(points, ",") + `]}`
	}
	_, _ = w.Write([]byte(`{"status":"success","data":{"resultType":"matrix","result":[` + series + `]}}`))
}

func always(v float64) func(time.Time) float64 { return func(time.Time) float64 { return v } }

func startRange(t *testing.T, s *rangeServer) *Client {
	t.Helper()
	listening := httptest.NewServer(s)
	t.Cleanup(listening.Close)
	cfg := DefaultConfig()
	cfg.Address = listening.URL
	c, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func webQuery() Query {
	return Query{Namespace: "shop", Kind: "Deployment", Name: "web", From: noon.Add(-10 * time.Minute), To: noon,
		UtilizationPercent: 50}
}

// TestLoad: 3 cores of use, where a pod requests half a core and shall use half of that, are 12 pods. Missing values
// are unknown, never zero.
func TestLoad(t *testing.T) {
	unknown := math.NaN()
	at := func(minute int) time.Time { return noon.Add(time.Duration(minute-10)*time.Minute + 90*time.Second) }
	s := &rangeServer{
		usage: func(now time.Time) float64 {
			if now.Equal(at(3)) {
				return unknown
			}
			return 3
		},
		request: func(now time.Time) float64 {
			switch {
			case now.Before(at(2)): // The workload's of today count.
				return unknown
			case now.Equal(at(6)): // The one before counts.
				return unknown
			case now.Before(at(7)):
				return 0.5
			}
			return 1
		},
		seen: func(now time.Time) float64 {
			switch {
			case now.Equal(at(1)): // Most pods' use is missing.
				return 0.49
			case now.Before(at(5)):
				return unknown
			}
			return 0.5
		},
	}
	q := webQuery()
	q.RequestMilli = 750
	got, err := startRange(t, s).Load(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	// The window around the middle of the last minute is not over.
	want := Series{
		Start:       noon.Add(-10 * time.Minute),
		Pods:        []float64{8, unknown, 12, unknown, 12, 12, 12, 6, 6, unknown},
		PerPodMilli: []float64{375, 375, 250, 250, 250, 250, 250, 500, 500, 500},
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateNaNs()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestSetMetric: the first CPU metric with a target counts, and the average request of the pods that have one.
func TestSetMetric(t *testing.T) {
	pod := func(milli int64) *observe.Pod {
		return observe.PodOf(&corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "app",
			Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{
				corev1.ResourceCPU: *resource.NewMilliQuantity(milli, resource.DecimalSI)}}}}}})
	}
	none := observe.PodOf(&corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "app"}}}})
	memory := source.Spec{Type: source.Resource, Name: "memory", Target: source.Target{Type: source.Utilization, Percent: 50}}
	cpu := memory
	cpu.Name, cpu.Target.Percent = "cpu", 60
	average := source.Spec{Type: source.ContainerResource, Name: "cpu", Container: "app",
		Target: source.Target{Type: source.AverageValue, Milli: 300}}
	var q Query
	if err := q.SetMetric([]source.Spec{memory, cpu, average}, []*observe.Pod{pod(400), none, pod(200)}); err != nil ||
		q.UtilizationPercent != 60 || q.AverageMilli != 0 || q.RequestMilli != 300 || q.Container != "" {
		t.Errorf("%v, %+v", err, q)
	}
	if err := q.SetMetric([]source.Spec{average}, nil); err != nil || q.UtilizationPercent != 0 || q.AverageMilli != 300 ||
		q.RequestMilli != 0 || q.Container != "app" {
		t.Errorf("%v, %+v", err, q)
	}
	cpu.Target.Percent = 0
	if err := q.SetMetric([]source.Spec{memory, cpu}, nil); !errors.Is(err, ErrNoCPU) {
		t.Errorf("%v", err)
	}
}

func TestLoadQueries(t *testing.T) {
	s := &rangeServer{usage: always(3), request: always(0.5), seen: always(1)}
	q := webQuery()
	q.Container = "app"
	if _, err := startRange(t, s).Load(t.Context(), q); err != nil {
		t.Fatal(err)
	}
	const pods = `pod=~"web-[bcdfghjklmnpqrstvwxz2456789]{1,10}-[bcdfghjklmnpqrstvwxz2456789]{5}"`
	const rate = `rate(container_cpu_usage_seconds_total{namespace="shop", ` + pods +
		`, container="app", job="kubernetes-cadvisor"}[2m])`
	const requests = `kube_pod_container_resource_requests{resource="cpu", namespace="shop", ` + pods + `, container="app"}`
	const running = `kube_pod_status_phase{namespace="shop", ` + pods + `, phase="Running"}`
	want := []string{
		"sum(max by (pod, container) (" + rate + "))",
		"count(count by (pod) (" + rate + ")) / count(count by (pod) ((" + running + " == 1) and on (pod) (" + running +
			" offset 5m == 1)))",
		"sum(max by (pod, container) (" + requests + ")) / count(count by (pod) (" + requests + "))",
	}
	if diff := cmp.Diff(want, s.queries); diff != "" {
		t.Errorf("queries (-want +got):\n%s", diff)
	}
	// With an average value, requests do not matter.
	s.queries = nil
	q.UtilizationPercent, q.AverageMilli = 0, 300
	got, err := startRange(t, s).Load(t.Context(), q)
	if err != nil || got.Pods[0] != 10 || len(s.queries) != 2 {
		t.Errorf("%v, %v after %d queries", got.Pods, err, len(s.queries))
	}
}

// TestLoadInDays: weeks are read a day at a time, and each minute lands where it belongs.
func TestLoadInDays(t *testing.T) {
	from := noon.Add(-21*24*time.Hour + 20*time.Second)
	s := &rangeServer{request: always(1), seen: always(1),
		usage: func(at time.Time) float64 {
			return at.Add(-90 * time.Second).Sub(noon.Add(-21 * 24 * time.Hour)).Minutes()
		}}
	q := webQuery()
	q.From, q.UtilizationPercent = from, 100
	got, err := startRange(t, s).Load(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	if s.longest != 1440 || len(s.queries) != 3*21 || len(got.Pods) != 21*1440-1 {
		t.Fatalf("%d queries of %d points at most, %d minutes", len(s.queries), s.longest, len(got.Pods))
	}
	for i, v := range got.Pods[:len(got.Pods)-1] {
		if v != float64(i+1) {
			t.Fatalf("minute %d is %v, want %d", i, v, i+1)
		}
	}
	if want := noon.Add(-21*24*time.Hour + time.Minute); !got.Start.Equal(want) {
		t.Errorf("it begins at %s, want the first whole minute %s", got.Start, want)
	}
}

func TestLoadFails(t *testing.T) {
	matrix := func(result string) string {
		return `{"status":"success","data":{"resultType":"matrix","result":[` + result + `]}}`
	}
	series := `{"metric":{},"values":[[1795176090,"1"]]}`
	for name, c := range map[string]struct {
		answer string
		change func(*Query)
		want   string
	}{
		"names that fit nothing": {answer: matrix(""), want: ErrNoLoad.Error()},
		"numbers that cannot be": {answer: matrix(`{"metric":{},"values":[[1795175490,"NaN"],[1795175550,"-1"],[1795175610,"+Inf"]]}`),
			want: ErrNoLoad.Error()},
		"times not asked for": {answer: matrix(`{"metric":{},"values":[[1,"1"],[1895175490,"1"]]}`), want: ErrNoLoad.Error()},
		"several series":      {answer: matrix(series + "," + series), want: "answered with 2 series, want one"},
		"no matrix":           {answer: `{"status":"success","data":{"resultType":"vector","result":[]}}`, want: "want a matrix"},
		"too long": {answer: matrix(strings.Repeat(" ", maxResponseBytes) + series),
			want: "the response has more than 4 MiB"},
		"a query that fails": {answer: `{"status":"error","errorType":"execution","error":"too many samples"}`,
			want: "CPU use: from 2026-11-20T11:51:30Z to 2026-11-20T12:00:00Z: execution: too many samples"},
		"a kind whose pods have any name": {change: func(q *Query) { q.Kind = "Rollout" }, want: "pods of a Rollout are not known"},
		"too long a time":                 {change: func(q *Query) { q.From = q.To.Add(-93 * 24 * time.Hour) }, want: "92 days at most"},
		"no target":                       {change: func(q *Query) { q.UtilizationPercent = 0 }, want: "want a target"},
		"nobody knows requests":           {want: ErrNoRequest.Error()},
	} {
		t.Run(name, func(t *testing.T) {
			s := &rangeServer{answer: c.answer, usage: always(3), request: always(0), seen: always(1)}
			q := webQuery()
			if c.change != nil {
				c.change(&q)
			}
			_, err := startRange(t, s).Load(t.Context(), q)
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "shop/web") {
				t.Errorf("%v, want %q and whose load it is", err, c.want)
			}
		})
	}
}

// TestLoadTakesOneTimeout: all queries together, not each.
func TestLoadTakesOneTimeout(t *testing.T) {
	hung := make(chan struct{})
	listening := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-hung }))
	t.Cleanup(listening.Close)
	t.Cleanup(func() { close(hung) })
	cfg := DefaultConfig()
	cfg.Address, cfg.QueryTimeout = listening.URL, 10*time.Millisecond
	c, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Load(t.Context(), webQuery()); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v", err)
	}
}

func TestPodNames(t *testing.T) {
	long := strings.Repeat("a", 50)
	for _, c := range []struct {
		kind, name, pod string
		want            bool
	}{
		{"Deployment", "web", "web-7d4b9c6f5d-x2x7z", true},
		{"Deployment", "web", "web-7d4b9c6f5d-x2x7", false},
		{"Deployment", "web", "web-api-7d4b9c6f5d-x2x7z", false},
		{"Deployment", "web", "my-web-7d4b9c6f5d-x2x7z", false},
		{"Deployment", "w.b", "wxb-7d4b9c6f5d-x2x7z", false},
		{"Deployment", long, long + "-7d4b9c6x2x7z", true},
		{"Deployment", long, long + "-x-y-7d4b9c6f5d-x2x7z", false},
		{"ReplicaSet", "web", "web-x2x7z", true},
		{"StatefulSet", "db", "db-0", true},
		{"StatefulSet", "db", "db-a", false},
	} {
		pattern, err := podNames(c.kind, c.name)
		if err != nil {
			t.Fatal(err)
		}
		if got := regexp.MustCompile("^(?:" + pattern + ")$").MatchString(c.pod); got != c.want {
			t.Errorf("%s %s has a pod %s: %t, want %t", c.kind, c.name, c.pod, got, c.want)
		}
	}
}
