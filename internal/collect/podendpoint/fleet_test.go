package podendpoint

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/plimsoll-dev/plimsoll/internal/decide/arithmetic"
	"github.com/plimsoll-dev/plimsoll/internal/observe"
	"github.com/plimsoll-dev/plimsoll/internal/observe/horizontal/sources"
)

// fleet is pods on a network of pipes, in a bubble of virtual time.
type fleet struct {
	t      *testing.T
	source *Source
	began  time.Time

	// mu guards the following.
	mu sync.Mutex
	// page is a pod's page, by its name; nil is a connection that is refused.
	page map[string]func(w net.Conn, r *http.Request)
	// asked holds the times of a pod's requests, dialed counts its connections.
	asked   map[string][]time.Time
	dialed  map[string]int
	sampled []Sampled
	// specs holds the metrics of each object that look has set.
	specs map[observe.Key][]sources.Spec
}

// text serves a page of text.
func text(body func() string) func(net.Conn, *http.Request) {
	return func(w net.Conn, _ *http.Request) {
		page := body()
		fmt.Fprintf(w, "HTTP/1.1 200 OK\r\nContent-Type: text/plain; version=0.0.4\r\nContent-Length: %d\r\n\r\n%s",
			len(page), page)
	}
}

// requests is a page with a counter that grows by so many each second.
func (f *fleet) requests(perSecond float64) func(net.Conn, *http.Request) {
	return text(func() string {
		return fmt.Sprintf("# TYPE http_requests_total counter\nhttp_requests_total{code=\"200\"} %f\n",
			float64(time.Since(f.began).Milliseconds())*perSecond/1000)
	})
}

func gauge(value string) func(net.Conn, *http.Request) {
	return text(func() string { return "queue_length " + value + "\n" })
}

// begin runs a source until the test ends.
func begin(t *testing.T, config Config) *fleet {
	t.Helper()
	f := &fleet{
		t: t, began: time.Now(), page: map[string]func(net.Conn, *http.Request){},
		asked: map[string][]time.Time{}, dialed: map[string]int{}, specs: map[observe.Key][]sources.Spec{},
	}
	config.DialPod, config.Registerer, config.Log = f.dial, prometheus.NewRegistry(), logr.Discard()
	var err error
	if f.source, err = New(config); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		f.source.Run(ctx, func(s Sampled) { f.change(func() { f.sampled = append(f.sampled, s) }) })
	}()
	t.Cleanup(func() {
		cancel()
		<-done
		// Each kept connection has a goroutine of the fleet.
		for key := range f.specs {
			f.forget(key)
		}
	})
	return f
}

func (f *fleet) change(how func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	how()
}

// times returns the times of a pod's requests.
func (f *fleet) times(name string) (asked []time.Time) {
	f.change(func() { asked = slices.Clone(f.asked[name]) })
	return asked
}

// connections returns the number of connections to a pod.
func (f *fleet) connections(name string) (dialed int) {
	f.change(func() { dialed = f.dialed[name] })
	return dialed
}

// followed returns the number of scraped pods.
func (f *fleet) followed() int {
	f.source.mu.Lock()
	defer f.source.mu.Unlock()
	return len(f.source.byPod)
}

// last returns the last call of Sampled.
func (f *fleet) last() (sampled Sampled) {
	f.change(func() { sampled = f.sampled[len(f.sampled)-1] })
	return sampled
}

func nameAt(address netip.Addr) string {
	bytes := address.As4()
	return fmt.Sprintf("pod-%d", int(bytes[2])<<8|int(bytes[3]))
}

func (f *fleet) dial(_ context.Context, address netip.AddrPort, isHostNetwork bool) (net.Conn, error) {
	name := nameAt(address.Addr())
	f.mu.Lock()
	defer f.mu.Unlock()
	f.dialed[name]++
	if f.page[name] == nil || isHostNetwork || address.Port() != 8080 {
		return nil, errors.New("connection refused")
	}
	here, there := net.Pipe()
	go f.serve(there, name)
	return here, nil
}

func (f *fleet) serve(conn net.Conn, name string) {
	defer func() { _ = conn.Close() }()
	from := bufio.NewReader(conn)
	for {
		r, err := http.ReadRequest(from)
		if err != nil {
			return
		}
		var page func(net.Conn, *http.Request)
		f.change(func() {
			f.asked[name] = append(f.asked[name], time.Now())
			page = f.page[name]
		})
		if page == nil {
			return
		}
		page(conn, r)
	}
}

// pods have been running and ready for long; the first has this number.
func pods(first, n int) []*observe.Pod {
	all := make([]*observe.Pod, n)
	for i := range all {
		all[i] = observe.PodOf(podOf(first + i))
	}
	return all
}

func podOf(number int) *corev1.Pod {
	long := metav1.NewTime(time.Now().Add(-time.Hour))
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "team-a", Name: fmt.Sprintf("pod-%d", number), UID: types.UID(fmt.Sprintf("uid-%d", number)),
		},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{
			Ports: []corev1.ContainerPort{{Name: "http", ContainerPort: 8080}}}}},
		Status: corev1.PodStatus{
			Phase: corev1.PodRunning, PodIP: fmt.Sprintf("10.1.%d.%d", number>>8, number&255), StartTime: &long,
			Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: long}},
		},
	}
}

// query selects a metric of an object's pods.
type query struct {
	Key  observe.Key
	Spec *sources.PodEndpoint
	Pods []*observe.Pod
}

func rateQuery(pods []*observe.Pod) *query {
	return &query{Key: observe.WLA("team-a", "web"), Pods: pods, Spec: &sources.PodEndpoint{
		PortName: "http", Path: "/metrics", Metric: "http_requests_total", IsRate: true}}
}

func gaugeQuery(pods []*observe.Pod) *query {
	return &query{Key: observe.WLA("team-a", "web"), Pods: pods, Spec: &sources.PodEndpoint{
		PortName: "http", Path: "/metrics", Metric: "queue_length"}}
}

// milli formats the values of a view, - for a pod without one and ? for one outside the sample.
func milli(v *View, pods int) string {
	var all []string
	for i := range pods {
		switch s := v.Sample(i, nil, arithmetic.Saturate); {
		case s.Unsampled:
			all = append(all, "?")
		case !s.Present:
			all = append(all, "-")
		default:
			all = append(all, fmt.Sprint((s.Milli+50)/100*100)) // times have milliseconds
		}
	}
	return strings.Join(all, " ")
}

// look adds a metric of these pods to those of the object, and reads its latest values.
func (f *fleet) look(q *query, v *View) error {
	f.t.Helper()
	specs := f.specs[q.Key]
	if !slices.ContainsFunc(specs, func(s sources.Spec) bool { return *s.PodEndpoint == *q.Spec }) {
		specs = append(specs, sources.Spec{PodEndpoint: q.Spec})
	}
	f.set(q.Key, specs)
	f.source.Follow(q.Key, q.Spec.Pods, q.Pods)
	return f.latest(q, v)
}

func (f *fleet) latest(q *query, v *View) error {
	_, err := f.source.Latest(time.Now(), q.Key, q.Spec, q.Pods, v)
	return err
}

func (f *fleet) set(key observe.Key, specs []sources.Spec) {
	f.specs[key] = specs
	f.source.Set(key, specs)
}

func (f *fleet) forget(key observe.Key) { f.set(key, nil) }

// run passes the time, with a look each second, and returns the last one's values and error.
func (f *fleet) run(q *query, d time.Duration) (string, error) {
	var v View
	err := f.look(q, &v)
	for end := time.Now().Add(d); time.Now().Before(end); {
		<-time.After(time.Second)
		synctest.Wait()
		err = f.look(q, &v)
	}
	return milli(&v, len(q.Pods)), err
}

func bubble(t *testing.T, test func(t *testing.T)) {
	t.Helper()
	synctest.Test(t, test)
}
