// Package promquery polls Prometheus servers for the metrics of type Prometheus.
//
// A query is polled once for all objects of a namespace that have it, for the same server with the same credentials.
// Objects of different namespaces share nothing: the name of a server and the permission to use it depend on the
// namespace.
//
// The authors of queries, and the servers, are taken to be attackers. Responses are bounded in size and time, redirects
// are not followed, and errors have nothing of a response but numbers and known words.
package promquery

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/plimsoll-dev/plimsoll/internal/collect/clientauth"
	"github.com/plimsoll-dev/plimsoll/internal/collect/polls"
	"github.com/plimsoll-dev/plimsoll/internal/collect/subscriptions"
	"github.com/plimsoll-dev/plimsoll/internal/fairqueue"
	"github.com/plimsoll-dev/plimsoll/internal/observe"
	"github.com/plimsoll-dev/plimsoll/internal/observe/horizontal/sources"
)

const (
	// patience is how long a first response is pending.
	patience = 3 * time.Second
	// maxMissed is the number of intervals after which the last value is too old. A slow server makes them longer: the
	// time in which a query waits for its turn does not count, up to longestWait.
	maxMissed   = 3
	longestWait = time.Minute
)

// Config configures a Source.
type Config struct {
	// Resolve returns a server's address for objects of the namespace, and connect connects to it. The duration of Resolve
	// does not depend on the server.
	Resolve func(ctx context.Context, namespace, host string, port uint16) (
		connect func(context.Context) (net.Conn, error), err error)
	// Credential returns values of Secrets; nil if they are not read.
	Credential clientauth.Lookup
	// Registerer registers the source's metrics; nil for none.
	Registerer prometheus.Registerer
	// Log logs unreadable responses; it may be the zero Logger.
	Log logr.Logger
}

// Source has the latest results of queries. It is safe for concurrent use.
type Source struct {
	config  Config
	series  *polls.Series
	metrics *subscriptions.Table[sources.Prometheus, *subscription]
	// wake has an element if a poll may be due earlier than before.
	wake chan struct{}
	// counted is the time of the last count of metrics. Only Run uses it.
	counted time.Time

	// mu guards the following. The table calls Begin and End, which lock it.
	mu       sync.Mutex
	polls    map[request]*poll
	servers  map[clientauth.Target]*server
	schedule schedule
	queues   queues
}

// subscription is an object's metric.
type subscription struct {
	key  observe.Key
	spec sources.Prometheus
	// since is when the metric was set.
	since time.Time
	// poll polls it; nil if err prevents that.
	poll *poll
	err  error
}

// New makes a Source. It makes no request before Run.
func New(config Config) (*Source, error) {
	if config.Resolve == nil {
		return nil, errors.New("promquery: Resolve is needed")
	}
	series, err := polls.New(config.Registerer, "Prometheus")
	if err != nil {
		return nil, err
	}
	s := &Source{
		config: config, series: series, wake: make(chan struct{}, 1), polls: map[request]*poll{},
		servers: map[clientauth.Target]*server{}, queues: newQueues(),
	}
	s.metrics = subscriptions.New(subscriptions.Config[sources.Prometheus, *subscription]{
		Of: func(spec *sources.Spec) *sources.Prometheus { return spec.Prometheus }, Begin: s.subscribe, End: s.unsubscribe,
	})
	return s, nil
}

// Set makes the source poll these metrics of the object, and no others of it.
func (s *Source) Set(key observe.Key, specs []sources.Spec) { s.metrics.Set(key, specs) }

// Latest returns the latest result for a metric of the object, whose Series must not be changed. A metric that was not
// set is pending.
func (s *Source) Latest(now time.Time, key observe.Key, spec *sources.Prometheus) sources.Answer {
	subscribed, ok := s.metrics.Get(key, spec)
	if !ok {
		return sources.Answer{IsPending: true}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return subscribed.answer(now)
}

func (s *Source) subscribe(key observe.Key, spec *sources.Prometheus) *subscription {
	now := time.Now()
	subscribed := &subscription{key: key, spec: *spec, since: now}
	r, err := requestOf(key.Namespace, spec)
	if err != nil {
		subscribed.err = err
		return subscribed
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.polls[r]
	if p == nil {
		p = &poll{request: r, server: s.serverLocked(&r), subscribers: map[*subscription]struct{}{}, due: now}
		p.place.Of = p
		s.polls[r] = p
		s.schedule.add(p)
	}
	subscribed.poll = p
	p.subscribers[subscribed] = struct{}{}
	s.updateIntervalLocked(p)
	return subscribed
}

// unsubscribe ends a poll without subscribers. The response to a running request is dropped.
func (s *Source) unsubscribe(subscribed *subscription) {
	p := subscribed.poll
	if p == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(p.subscribers, subscribed)
	if len(p.subscribers) > 0 {
		s.updateIntervalLocked(p)
		return
	}
	delete(s.polls, p.request)
	s.schedule.remove(p)
	p.place.Remove()
	if p.server.polls--; p.server.polls == 0 {
		delete(s.servers, p.server.target)
		p.server.namespace.servers--
		p.server.close()
	}
}

func (s *Source) serverLocked(r *request) *server {
	v := s.servers[r.target]
	if v == nil {
		v = newServer(&s.config, r)
		v.namespace = s.queues.namespace(r.target.Namespace)
		v.namespace.servers++
		v.queue = fairqueue.New(v.namespace.queue, maxPerServer)
		s.servers[r.target] = v
	}
	v.polls++
	return v
}

// updateIntervalLocked adapts the poll to its subscribers.
func (s *Source) updateIntervalLocked(p *poll) {
	p.updateInterval()
	if p.isScheduled && !p.asked.IsZero() {
		p.due = p.asked.Add(p.interval)
		s.schedule.Fix(p)
	}
	s.wakeUp()
}

// wakeUp makes Run check again which polls are due.
func (s *Source) wakeUp() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

func (u *subscription) answer(now time.Time) sources.Answer {
	if u.err != nil {
		return sources.Answer{Asked: now, Err: u.err}
	}
	p := u.poll
	waited := p.waited(now)
	switch {
	case p.result == nil && now.Sub(u.since) < patience+waited && !p.server.isBackedOff():
		return sources.Answer{IsPending: true}
	case p.result == nil:
		return sources.Answer{Asked: now, Err: p.failure(waited, fmt.Errorf("no answer within %s", patience))}
	case now.Sub(p.result.asked) > maxMissed*p.interval+p.timeout+waited:
		return sources.Answer{Asked: p.result.asked, Err: p.failure(waited, errors.New("no answer to the last queries"))}
	default:
		return p.result.answer(&u.spec)
	}
}

// failure returns the reason why there is no value: the given error, that of the server, or that the query waits for
// its turn.
func (p *poll) failure(waited time.Duration, err error) error {
	if waited > p.interval {
		err = p.server.namespace.crowded()
	}
	return p.server.failure(err)
}
