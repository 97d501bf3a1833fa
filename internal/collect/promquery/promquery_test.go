package promquery

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/plimsoll-dev/plimsoll/internal/collect/clientauth"
	"github.com/plimsoll-dev/plimsoll/internal/observe"
	"github.com/plimsoll-dev/plimsoll/internal/observe/horizontal/sources"
)

const syncPeriod = 15 * time.Second

// network has servers in memory, by HOST:PORT.
type network struct {
	t *testing.T

	// mu guards the following.
	mu sync.Mutex
	// handlers serve the requests, by HOST:PORT.
	handlers map[string]http.HandlerFunc
	// requests are those that arrived, by HOST:PORT; underWay those without a response yet.
	requests           map[string][]*http.Request
	at                 map[string][]time.Time
	dialed             []string
	underWay, most     int
	mostAt, underWayAt map[string]int
	// sampled counts the calls for an object.
	sampled map[string]int
	serving sync.WaitGroup
	// isAway makes Resolve time out.
	isAway atomic.Bool
}

func newNetwork(t *testing.T) *network {
	return &network{
		t: t, handlers: map[string]http.HandlerFunc{}, requests: map[string][]*http.Request{}, at: map[string][]time.Time{},
		mostAt: map[string]int{}, underWayAt: map[string]int{}, sampled: map[string]int{},
	}
}

func (n *network) dial(ctx context.Context, namespace, host string, port uint16) (net.Conn, error) {
	address := fmt.Sprintf("%s:%d", host, port)
	n.mu.Lock()
	n.dialed = append(n.dialed, namespace+"/"+address)
	hasServer := n.handlers[address] != nil
	n.mu.Unlock()
	if !hasServer {
		return nil, errors.New("refused: " + address)
	}
	here, there := net.Pipe()
	server := &http.Server{ReadHeaderTimeout: time.Hour, Handler: http.HandlerFunc(
		func(w http.ResponseWriter, r *http.Request) {
			handler := n.begin(address, r)
			defer n.end(address)
			handler(w, r)
		})}
	listener := &listener{connection: there, closed: make(chan struct{})}
	n.serving.Go(func() { _ = server.Serve(listener) })
	return &closing{Conn: here, close: func() { _ = server.Close(); listener.end() }}, nil
}

func (n *network) resolve(
	ctx context.Context, namespace, host string, port uint16,
) (connect func(context.Context) (net.Conn, error), err error) {
	if n.isAway.Load() {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return func(ctx context.Context) (net.Conn, error) { return n.dial(ctx, namespace, host, port) }, nil
}

// serve adds a server, or replaces its handler.
func (n *network) serve(address string, handler http.HandlerFunc) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.handlers[address] = handler
}

func (n *network) begin(address string, r *http.Request) http.HandlerFunc {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.requests[address] = append(n.requests[address], r)
	n.at[address] = append(n.at[address], time.Now())
	n.underWay++
	n.underWayAt[address]++
	n.most = max(n.most, n.underWay)
	n.mostAt[address] = max(n.mostAt[address], n.underWayAt[address])
	return n.handlers[address]
}

func (n *network) end(address string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.underWay--
	n.underWayAt[address]--
}

// calls counts the calls of sampled for an object.
func (n *network) calls(object string) int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.sampled[object]
}

// times returns the times of the requests to a server, and the most that were under way at once; of all servers if the
// address is empty.
func (n *network) times(address string) (times []time.Time, most int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if address == "" {
		return nil, n.most
	}
	return slices.Clone(n.at[address]), n.mostAt[address]
}

// count is the number of requests to a server since the last count.
func (n *network) count(address string) int {
	n.mu.Lock()
	defer n.mu.Unlock()
	number := len(n.requests[address])
	n.requests[address] = nil
	return number
}

// closing calls a function when it is closed.
type closing struct {
	net.Conn
	once  sync.Once
	close func()
}

func (c *closing) Close() error {
	err := c.Conn.Close()
	c.once.Do(func() { go c.close() })
	return err
}

// listener accepts one connection.
type listener struct {
	connection net.Conn
	once       sync.Once
	closed     chan struct{}
}

func (l *listener) Accept() (net.Conn, error) {
	if c := l.connection; c != nil {
		l.connection = nil
		return c, nil
	}
	<-l.closed
	return nil, io.EOF
}

func (l *listener) Close() error { l.end(); return nil }

func (l *listener) end() { l.once.Do(func() { close(l.closed) }) }

func (l *listener) Addr() net.Addr { return &net.TCPAddr{} }

// run starts a source. The function that it returns ends it, and waits for its end.
func (n *network) run(config Config) (s *Source, end func()) {
	n.t.Helper()
	config.Resolve = n.resolve
	s, err := New(config)
	if err != nil {
		n.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(n.t.Context())
	var running sync.WaitGroup
	running.Go(func() {
		s.Run(ctx, func(key observe.Key) {
			n.mu.Lock()
			defer n.mu.Unlock()
			n.sampled[key.Namespace+"/"+key.Name]++
		})
	})
	return s, func() {
		cancel()
		running.Wait()
		s.close()
		n.serving.Wait()
	}
}

func answerWith(value string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		_, _ = fmt.Fprint(w, success("vector", fmt.Sprintf(`[{"metric":{},"value":[%d,%q]}]`, time.Now().Unix(), value)))
	}
}

// silent never answers.
func silent(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }

// look sets one metric of an object, and returns its latest result.
func (s *Source) look(key observe.Key, p *sources.Prometheus) sources.Answer {
	s.Set(key, []sources.Spec{{Prometheus: p}})
	return s.Latest(time.Now(), key, p)
}

func object(namespace string, n int) observe.Key {
	return observe.WLA(namespace, fmt.Sprint("shop-", n))
}

// spec is a query to a server.
func spec(host, query string) *sources.Prometheus {
	return &sources.Prometheus{
		Address: "http://" + host, Query: query, Interval: 5 * time.Second, Timeout: 3 * time.Second,
	}
}

func sleep(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

// wantValue expects the value, and nothing else, in the result.
func wantValue(t *testing.T, name string, a sources.Answer, value float64) {
	t.Helper()
	if a.IsPending || a.Err != nil || len(a.Series) != 1 || a.Series[0] != value || a.At.After(time.Now()) {
		t.Errorf("%s: %+v, want %v", name, a, value)
	}
}

// sizes returns the number of polls and servers. Without polls the source holds nothing else.
func (s *Source) sizes() (polls, servers int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if rest := s.schedule.Len() + s.queues.all.Waiting(); len(s.polls) == 0 && rest > 0 {
		return rest, len(s.servers)
	}
	return len(s.polls), len(s.servers)
}

// wantRequests checks the number of requests to a server since the last count.
func (n *network) wantRequests(name, address string, least, most int) {
	n.t.Helper()
	if got := n.count(address); got < least || got > most {
		n.t.Errorf("%s: %d requests to %s, want %d to %d", name, got, address, least, most)
	}
}

// TestOneQueryForMany: one poll serves all objects with the same query, at the shortest of their intervals.
func TestOneQueryForMany(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNetwork(t)
		// All objects subscribe before the first response; a later one has it at once, and is not called.
		var first sync.Once
		n.serve("prometheus:9090", func(w http.ResponseWriter, r *http.Request) {
			first.Do(func() { <-time.After(100 * time.Millisecond) })
			answerWith("42")(w, r)
		})
		s, end := n.run(Config{})
		defer end()
		look := func(i int, interval time.Duration) sources.Answer {
			p := spec("prometheus:9090", "up")
			p.Interval, p.Timeout, p.IsNullZero = interval, time.Duration(1+i%30)*time.Second, i%2 == 0
			return s.look(object("team-a", i), p)
		}
		began := time.Now()
		for i := range 100 {
			if a := look(i, 10*time.Second); a.Err != nil {
				t.Fatalf("%+v", a)
			}
		}
		sleep(100 * time.Millisecond)
		for i := range 100 {
			a := look(i, 10*time.Second)
			wantValue(t, fmt.Sprint(i), a, 42)
			if !a.Asked.Equal(began) {
				t.Errorf("asked at %s", a.Asked)
			}
		}
		n.wantRequests("at first", "prometheus:9090", 1, 1)
		sleep(10 * time.Second)
		n.wantRequests("10 s", "prometheus:9090", 1, 1)
		if n.calls("team-a/shop-7") != 1 {
			t.Errorf("%d calls for the same value", n.calls("team-a/shop-7"))
		}
		// One of them needs it each second from now on.
		look(7, time.Second)
		sleep(10 * time.Second)
		n.wantRequests("10 s, each second", "prometheus:9090", 10, 10)
		look(7, 10*time.Second)
		sleep(time.Second)
		n.count("prometheus:9090")
		sleep(10 * time.Second)
		n.wantRequests("10 s after the change", "prometheus:9090", 1, 1)
	})
}

// TestNotShared: metrics of another namespace, credentials, tenant, query or server are polled separately.
func TestNotShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNetwork(t)
		n.serve("prometheus:9090", answerWith("1"))
		n.serve("other:9090", answerWith("2"))
		s, end := n.run(Config{Credential: func(
			context.Context, string, sources.SecretKey, clientauth.Peer,
		) ([]byte, error) {
			return []byte("x"), nil
		}})
		defer end()
		change := func(f func(*sources.Prometheus)) *sources.Prometheus {
			p := spec("prometheus:9090", "up")
			f(p)
			return p
		}
		var all []sources.Spec
		for i, p := range []*sources.Prometheus{
			change(func(*sources.Prometheus) {}),
			change(func(p *sources.Prometheus) { p.Query = "down" }),
			change(func(p *sources.Prometheus) { p.Tenant, p.TenantHeader = "a", "X-Scope-OrgID" }),
			change(func(p *sources.Prometheus) { p.Tenant, p.TenantHeader = "b", "X-Scope-OrgID" }),
			change(func(p *sources.Prometheus) { p.Namespace = "team-a" }),
			change(func(p *sources.Prometheus) { p.Credentials.Token = sources.SecretKey{Name: "a", Key: "b"} }),
			change(func(p *sources.Prometheus) { p.Address = "http://other:9090" }),
		} {
			s.look(object("team-a", i+1), p)
			all = append(all, sources.Spec{Prometheus: p})
		}
		s.Set(object("team-a", 0), all)
		s.look(object("team-b", 0), spec("prometheus:9090", "up"))
		synctest.Wait()
		if a, b := n.count("prometheus:9090"), n.count("other:9090"); a != 7 || b != 1 {
			t.Errorf("%d and %d requests", a, b)
		}
		if polls, servers := s.sizes(); polls != 8 || servers != 4 {
			t.Errorf("%d polls, %d servers", polls, servers)
		}
		for i := range 8 {
			s.Set(object("team-a", i), nil)
		}
		s.Set(object("team-b", 0), nil)
		sleep(time.Minute)
		n.wantRequests("all are forgotten", "prometheus:9090", 0, 0)
		if polls, servers := s.sizes(); polls+servers > 0 {
			t.Errorf("%d polls, %d servers", polls, servers)
		}
	})
}

// TestNoMoreSet: a metric that the object no longer has is not polled again. A metric that another object has too
// continues.
func TestNoMoreSet(t *testing.T) {
	one, other := spec("prometheus:9090", "one"), spec("other:9090", "other")
	both := []sources.Spec{{Prometheus: one}, {Prometheus: other}}
	for name, c := range map[string]struct {
		specs []sources.Spec
		// isShared gives both metrics to another object.
		isShared bool
		// one and other are the requests for each in a minute.
		one, other int
	}{
		"both kept":                     {both, false, 12, 12},
		"the other way round":           {[]sources.Spec{both[1], both[0]}, false, 12, 12},
		"one taken out":                 {both[1:], false, 0, 12},
		"one edited":                    {[]sources.Spec{{Prometheus: spec("other:9090", "edited")}, both[1]}, false, 0, 25},
		"another source's":              {[]sources.Spec{{PodEndpoint: &sources.PodEndpoint{}}}, false, 0, 0},
		"the object is gone":            {nil, false, 0, 0},
		"the object is gone, one stays": {nil, true, 12, 12},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := newNetwork(t)
				n.serve("prometheus:9090", answerWith("1"))
				n.serve("other:9090", answerWith("1"))
				s, end := n.run(Config{})
				defer end()
				s.Set(object("team-a", 0), both)
				if c.isShared {
					s.Set(object("team-a", 1), both)
				}
				sleep(14 * time.Second)
				n.count("prometheus:9090")
				n.count("other:9090")
				s.Set(object("team-a", 0), c.specs)
				sleep(time.Minute)
				n.wantRequests("one", "prometheus:9090", c.one, c.one)
				n.wantRequests("other", "other:9090", c.other, c.other)
			})
		})
	}
}

// TestEditedDuringRequest: the response to a query that the object no longer has is dropped, and leads to no decision.
func TestEditedDuringRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNetwork(t)
		n.serve("prometheus:9090", func(w http.ResponseWriter, r *http.Request) {
			wait(r, time.Second)
			answerWith("1")(w, r)
		})
		s, end := n.run(Config{})
		defer end()
		before, after := spec("prometheus:9090", "before"), spec("prometheus:9090", "after")
		s.look(object("team-a", 0), before)
		sleep(500 * time.Millisecond)
		s.look(object("team-a", 0), after)
		sleep(600 * time.Millisecond)
		if got := n.calls("team-a/shop-0"); got != 0 {
			t.Errorf("%d calls for the answer to what the object had before", got)
		}
		for name, p := range map[string]*sources.Prometheus{"before": before, "after": after} {
			if a := s.Latest(time.Now(), object("team-a", 0), p); !a.IsPending {
				t.Errorf("%s: %+v", name, a)
			}
		}
		sleep(time.Minute)
		n.wantRequests("one of the first query, and those of the second", "prometheus:9090", 14, 14)
		if polls, servers := s.sizes(); polls != 1 || servers != 1 || n.calls("team-a/shop-0") != 1 {
			t.Errorf("%d polls, %d servers, %d calls", polls, servers, n.calls("team-a/shop-0"))
		}
	})
}

// TestReadIsNoSubscription: a read makes no request.
func TestReadIsNoSubscription(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNetwork(t)
		n.serve("prometheus:9090", answerWith("1"))
		s, end := n.run(Config{})
		defer end()
		if a := s.Latest(time.Now(), object("team-a", 0), spec("prometheus:9090", "up")); !a.IsPending {
			t.Errorf("%+v", a)
		}
		sleep(time.Minute)
		n.wantRequests("only read", "prometheus:9090", 0, 0)
	})
}

// TestSlowServer: a server that does not respond is polled less and less often, and delays no other's objects.
func TestSlowServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNetwork(t)
		n.serve("slow:9090", silent)
		n.serve("prometheus:9090", answerWith("1"))
		s, end := n.run(Config{})
		defer end()
		look := func() {
			for i := range 30 {
				s.look(object("team-a", i), spec("slow:9090", fmt.Sprint("query-", i)))
			}
		}
		look()
		synctest.Wait()
		s.look(object("team-a", 100), spec("prometheus:9090", "up"))
		s.look(object("team-b", 100), spec("prometheus:9090", "up"))
		synctest.Wait()
		for _, namespace := range []string{"team-a", "team-b"} {
			wantValue(t, namespace, s.look(object(namespace, 100), spec("prometheus:9090", "up")), 1)
		}
		if _, most := n.times("slow:9090"); most != maxPerServer {
			t.Errorf("%d requests at once", most)
		}
		for range 20 {
			sleep(syncPeriod)
			look()
		}
		a := s.look(object("team-a", 29), spec("slow:9090", "query-29"))
		if a.Err == nil || !strings.Contains(a.Err.Error(), "serverAddress http://slow:9090") || a.Series != nil {
			t.Errorf("%+v", a)
		}
		n.count("slow:9090")
		for range 20 {
			sleep(syncPeriod)
			look()
		}
		n.wantRequests("5 minutes", "slow:9090", 4, 6)
		// Once it responds, all are polled at once.
		n.serve("slow:9090", answerWith("3"))
		for range 5 {
			sleep(syncPeriod)
			look()
		}
		for i := range 30 {
			wantValue(t, fmt.Sprint(i), s.look(object("team-a", i), spec("slow:9090", fmt.Sprint("query-", i))), 3)
		}
	})
}

// TestPauses: the pauses of a server that responds too late double from 2 s to a minute. Between them it gets one
// request.
func TestPauses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNetwork(t)
		n.serve("slow:9090", silent)
		s, end := n.run(Config{})
		defer end()
		for range 25 {
			s.look(object("team-a", 0), spec("slow:9090", "up"))
			sleep(syncPeriod)
		}
		var pauses []time.Duration
		at, _ := n.times("slow:9090")
		for i := 1; i < len(at); i++ {
			pauses = append(pauses, at[i].Sub(at[i-1]))
		}
		// The first follows after the interval, as no pause is needed yet; the others after the timeout of 3 s.
		want := "[5s 5s 7s 11s 19s 35s 1m3s 1m3s 1m3s 1m3s]"
		if got := fmt.Sprint(pauses); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	})
}

// TestUnresolved: a server is not backed off because the API server, which has its address or credentials, does not
// respond.
func TestUnresolved(t *testing.T) {
	for name, needsSecret := range map[string]bool{"address": false, "credentials": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := newNetwork(t)
				n.serve("prometheus:9090", answerWith("1"))
				query := spec("prometheus:9090", "up")
				config := Config{}
				n.isAway.Store(true)
				if needsSecret {
					query.Credentials.Token = sources.SecretKey{Name: "a", Key: "b"}
					config.Credential = func(ctx context.Context, _ string, _ sources.SecretKey, _ clientauth.Peer) ([]byte, error) {
						for n.isAway.Load() && ctx.Err() == nil {
							<-time.After(query.Timeout - 1)
						}
						return []byte("abc"), ctx.Err()
					}
				}
				s, end := n.run(config)
				defer end()
				for range 40 {
					s.look(object("team-a", 0), query)
					sleep(syncPeriod / 5)
				}
				if a := s.look(object("team-a", 0), query); a.Err == nil || strings.Contains(a.Err.Error(), "no answer") {
					t.Errorf("%+v", a)
				}
				n.isAway.Store(false)
				sleep(query.Interval + secretsTimeout + time.Second)
				wantValue(t, name, s.look(object("team-a", 0), query), 1)
			})
		})
	}
}

// TestBounds: there are bounds for a server, for a namespace and for all together.
func TestBounds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNetwork(t)
		s, end := n.run(Config{})
		defer end()
		for namespace := range 6 {
			for server := range 4 {
				host := fmt.Sprintf("slow-%d-%d:80", namespace, server)
				n.serve(host, silent)
				for i := range 10 {
					s.look(object(fmt.Sprint("team-", namespace), 10*server+i), spec(host, fmt.Sprint(i)))
				}
			}
		}
		sleep(time.Second)
		// Each namespace has at least 8, half of the 16 that there is room for then.
		if _, most := n.times(""); most < 6*8 || most > maxQuick {
			t.Errorf("%d requests at once", most)
		}
		for namespace := range 6 {
			sum := 0
			for server := range 4 {
				_, most := n.times(fmt.Sprintf("slow-%d-%d:80", namespace, server))
				sum += most
			}
			// There were no responses yet, so the most at once is also the number under way.
			if sum > maxPerNamespace {
				t.Errorf("%d requests for namespace %d", sum, namespace)
			}
		}
		// The namespaces without a turn so far are next.
		sleep(3 * time.Second)
		for namespace := range 6 {
			asked := 0
			for server := range 4 {
				times, _ := n.times(fmt.Sprintf("slow-%d-%d:80", namespace, server))
				asked += len(times)
			}
			if asked == 0 {
				t.Errorf("namespace %d had no turn", namespace)
			}
		}
	})
}

// TestPatience: the first response is pending for three seconds, and an old value is an error.
func TestPatience(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNetwork(t)
		release := make(chan struct{})
		n.serve("prometheus:9090", func(w http.ResponseWriter, r *http.Request) {
			select {
			case <-release:
				answerWith("1")(w, r)
			case <-r.Context().Done():
			}
		})
		s, end := n.run(Config{})
		defer end()
		p := spec("prometheus:9090", "up")
		p.Timeout = 30 * time.Second
		look := func() sources.Answer { return s.look(object("team-a", 0), p) }
		look()
		sleep(patience - 1)
		if a := look(); !a.IsPending || a.Err != nil {
			t.Errorf("%+v", a)
		}
		sleep(1)
		if a := look(); a.IsPending || a.Err == nil {
			t.Errorf("%+v", a)
		}
		close(release)
		synctest.Wait()
		if a := look(); a.Err != nil || a.Series[0] != 1 {
			t.Errorf("%+v", a)
		}
		n.serve("prometheus:9090", silent)
		asked := look().Asked
		sleep(time.Until(asked.Add(3*p.Interval + p.Timeout)))
		if a := look(); a.Series != nil && a.Asked.Equal(asked) {
			t.Errorf("%+v", a)
		}
	})
}

// TestRequest: the headers and parameters that a server gets, and those that it does not.
func TestRequest(t *testing.T) {
	t.Setenv("HTTP_PROXY", "http://proxy:3128")
	synctest.Test(t, func(t *testing.T) {
		n := newNetwork(t)
		n.serve("prometheus:9090", func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Set-Cookie", "a=b")
			answerWith("1")(w, r)
		})
		s, end := n.run(Config{Credential: func(
			_ context.Context, namespace string, key sources.SecretKey, to clientauth.Peer,
		) ([]byte, error) {
			if namespace != "team-a" || to != (clientauth.Peer{Host: "prometheus:9090"}) {
				return nil, errors.New("refused")
			}
			return []byte(key.Name + key.Key), nil
		}})
		defer end()
		p := spec("prometheus:9090", `sum(rate(http_requests_total{namespace="shop"}[1m])) & x=y`)
		p.Address += "/prefix"
		p.Tenant, p.TenantHeader, p.Namespace, p.Parameters = "team", "THANOS-TENANT", "shop", "dedup=false"
		p.Credentials.Token = sources.SecretKey{Name: "secret", Key: "token"}
		s.look(object("team-a", 0), p)
		sleep(6 * time.Second)
		if a := s.look(object("team-a", 0), p); a.Err != nil {
			t.Fatal(a.Err)
		}
		n.mu.Lock()
		defer n.mu.Unlock()
		if len(n.requests["prometheus:9090"]) != 2 || len(n.dialed) != 1 {
			t.Fatalf("%d requests over %q", len(n.requests["prometheus:9090"]), n.dialed)
		}
		for _, r := range n.requests["prometheus:9090"] {
			query := url.Values{
				"query": {p.Query}, "namespace": {"shop"}, "timeout": {"3s"}, "partial_response": {"false"},
				"deny_partial_response": {"1"}, "dedup": {"false"},
			}
			if r.Method != http.MethodGet || r.Host != "prometheus:9090" || r.URL.Path != "/prefix/api/v1/query" {
				t.Errorf("%s %s %s", r.Method, r.Host, r.URL)
			}
			if diff := cmp.Diff(query, r.URL.Query()); diff != "" {
				t.Error(diff)
			}
			header := http.Header{
				"Authorization": {"Bearer secrettoken"}, "Thanos-Tenant": {"team"}, "Accept-Encoding": {"identity"},
				"Accept": {"application/json"}, "User-Agent": {"plimsoll"},
			}
			if diff := cmp.Diff(header, r.Header); diff != "" {
				t.Error(diff)
			}
		}
	})
}

func TestConfig(t *testing.T) {
	if _, err := New(Config{}); err == nil {
		t.Error("no Resolve")
	}
}
