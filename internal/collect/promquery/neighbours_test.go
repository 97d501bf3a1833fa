package promquery

import (
	"fmt"
	"io"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/fairqueue"
)

// wait is a server's time to compute.
func wait(r *http.Request, d time.Duration) {
	select {
	case <-time.After(d):
	case <-r.Context().Done():
	}
}

// slow is the response time of a server just within its timeout.
const slow = 29 * time.Second

// serveSlowly starts three slow servers, and one that responds after 50 ms.
func (n *network) serveSlowly() {
	after := func(d time.Duration) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			wait(r, d)
			answerWith("1")(w, r)
		}
	}
	for i := range 3 {
		n.serve(fmt.Sprintf("slow-%d:9090", i), after(slow))
	}
	n.serve("prometheus:9090", after(50*time.Millisecond))
}

// TestSlowNamespaces: servers that respond just in time are never backed off. Although six namespaces have some, the
// queries of another namespace are polled at their interval.
func TestSlowNamespaces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNetwork(t)
		n.serveSlowly()
		s, end := n.run(Config{})
		defer end()
		look := func() {
			for namespace := range 6 {
				for i := range 30 {
					p := spec(fmt.Sprintf("slow-%d:9090", i%3), fmt.Sprint("query-", i))
					p.Interval, p.Timeout = time.Second, slow+time.Second
					s.look(object(fmt.Sprint("hostile-", namespace), i), p)
				}
			}
		}
		look()
		sleep(time.Minute)
		for range 20 {
			look()
			for i := range 100 {
				s.look(object("shop", i), spec("prometheus:9090", fmt.Sprint("query-", i)))
			}
			sleep(syncPeriod)
		}
		n.wantRequests("5 minutes", "prometheus:9090", 5800, 6100)
	})
}

// TestManySlowNamespaces: more namespaces than there are slots have slow servers, each with several queries. Soon after
// that the queries of another namespace are polled at their interval.
func TestManySlowNamespaces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNetwork(t)
		n.serveSlowly()
		s, end := n.run(Config{})
		defer end()
		look := func() {
			for namespace := range 2 * maxInAll {
				for i := range 3 {
					p := spec(fmt.Sprintf("slow-%d:9090", i%3), fmt.Sprint("query-", i))
					p.Interval, p.Timeout = time.Second, slow+time.Second
					s.look(object(fmt.Sprint("hostile-", namespace), i), p)
				}
			}
			for i := range 50 {
				s.look(object("shop", i), spec("prometheus:9090", fmt.Sprint("query-", i)))
			}
		}
		look()
		sleep(syncPeriod)
		n.wantRequests("15 s, with the first seconds of the others", "prometheus:9090", 60, 200)
		for range 8 {
			look()
			sleep(syncPeriod)
		}
		n.wantRequests("2 minutes", "prometheus:9090", 8*145, 8*155)
		s.mu.Lock()
		slow := s.queues.slow.Running()
		s.mu.Unlock()
		if _, most := n.times(""); slow > maxInAll || most > maxInAll+maxQuick {
			t.Errorf("%d slow requests, at most %d of all at once", slow, most)
		}
	})
}

// TestMuchReceived: a namespace with large responses is polled less often, with an error that says so, and delays no
// other.
func TestMuchReceived(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNetwork(t)
		body := string(many())
		n.serve("large:9090", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, body) })
		n.serve("prometheus:9090", answerWith("1"))
		s, end := n.run(Config{})
		defer end()
		look := func() (failures map[string]bool) {
			failures = map[string]bool{}
			for i := range 100 {
				p := spec("large:9090", fmt.Sprint("query-", i))
				p.Interval = time.Second
				failures[fmt.Sprint(s.look(object("hostile", i), p).Err)] = true
			}
			s.look(object("shop", 0), spec("prometheus:9090", "up"))
			return failures
		}
		for range 2 {
			look()
			sleep(syncPeriod)
		}
		n.wantRequests("2 a second, and at first those of a burst", "large:9090", 60, 90)
		n.wantRequests("half a minute", "prometheus:9090", 6, 7)
		const limited = "serverAddress http://large:9090: the servers of the namespace send more than 2097152 bytes per second"
		if failures := look(); !failures[limited] {
			t.Errorf("%v", failures)
		}
		for i := range 100 {
			s.Set(object("hostile", i), nil)
		}
		sleep(syncPeriod)
		s.mu.Lock()
		defer s.mu.Unlock()
		if len(s.queues.namespaces) > 1 {
			t.Errorf("%d queues of namespaces are left", len(s.queues.namespaces))
		}
	})
}

// TestNamespacesLeaveRoom: four namespaces with many queries leave slots to the next one.
func TestNamespacesLeaveRoom(t *testing.T) {
	q, now := newQueues(), time.Unix(1_800_000_000, 0)
	push := func(name string) {
		n := q.namespace(name)
		for range 2 * maxPerServer {
			p := &poll{server: &server{namespace: n, queue: fairqueue.New(n.queue, maxPerServer)}}
			p.place.Of = p
			p.server.queue.Push(&p.place, 0)
		}
	}
	for i := range 4 {
		push(fmt.Sprint("team-", i))
	}
	for p := q.take(now); p != nil; p = q.take(now) {
		p.displace = nil
	}
	if push("shop"); q.take(now) == nil {
		t.Errorf("%d requests of four namespaces leave none to another one", q.all.Running())
	}
}
