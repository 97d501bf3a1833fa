package promquery

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"runtime"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/observe"
	"github.com/plimsoll-dev/plimsoll/internal/observe/horizontal/sources"
)

// inMemory is a server that answers each request with the same bytes.
type inMemory struct {
	answer   []byte
	requests atomic.Int64
}

func newInMemory() *inMemory {
	body := success("vector", `[{"metric":{},"value":[1700000000,"42"]}]`)
	return &inMemory{answer: fmt.Appendf(nil,
		"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(body), body)}
}

func (m *inMemory) dial(context.Context, string, string, uint16) (net.Conn, error) {
	here, there := net.Pipe()
	go m.serve(there)
	return here, nil
}

// serve reads only heads: queries have no body.
func (m *inMemory) serve(c net.Conn) {
	defer func() { _ = c.Close() }()
	r := bufio.NewReader(c)
	for {
		line, err := r.ReadSlice('\n')
		if err != nil {
			return
		}
		if len(line) > len("\r\n") {
			continue
		}
		m.requests.Add(1)
		if _, err := c.Write(m.answer); err != nil {
			return
		}
	}
}

// crowd is metrics of objects in namespaces, each with a server and queries of its own.
type crowd struct {
	source *Source
	keys   []observe.Key
	specs  []*sources.Prometheus
}

// newCrowd makes objects in each of the namespaces, of which perQuery share a query.
func newCrowd(tb testing.TB, m *inMemory, namespaces, objects, perQuery int) *crowd {
	tb.Helper()
	resolve := func(
		_ context.Context, namespace, host string, port uint16,
	) (connect func(context.Context) (net.Conn, error), err error) {
		return func(ctx context.Context) (net.Conn, error) { return m.dial(ctx, namespace, host, port) }, nil
	}
	s, err := New(Config{Resolve: resolve})
	if err != nil {
		tb.Fatal(err)
	}
	all := &crowd{source: s}
	for namespace := range namespaces {
		for i := range objects {
			all.keys = append(all.keys, object(fmt.Sprint("team-", namespace), i))
			p := spec("prometheus:9090", fmt.Sprintf(`sum(rate(http_requests_total{app="shop-%d"}[1m]))`, i/perQuery))
			p.Interval = time.Second
			all.specs = append(all.specs, p)
		}
	}
	return all
}

// look reads one metric of each object. It returns the number with a value.
func (m *crowd) look() int {
	answered := 0
	for i, key := range m.keys {
		if answer := m.source.look(key, m.specs[i]); len(answer.Series) > 0 {
			answered++
		}
	}
	return answered
}

// BenchmarkLatest measures a decision's read of the latest response, with thousands of other metrics.
func BenchmarkLatest(b *testing.B) {
	m := newCrowd(b, newInMemory(), 100, 100, 1)
	m.look()
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		m.source.look(m.keys[i%len(m.keys)], m.specs[i%len(m.keys)])
	}
}

// BenchmarkPolls polls each query every second, in real time, for ten seconds. It measures the cost of a query with its
// part of the server in memory, the cost of each object that shares it, and the memory that they keep.
func BenchmarkPolls(b *testing.B) {
	for _, c := range []struct{ namespaces, objects, perQuery int }{
		{20, 50, 1}, {60, 50, 1}, {60, 50, 10},
	} {
		queries := c.namespaces * c.objects / c.perQuery
		b.Run(fmt.Sprintf("queries=%d/objects=%d", queries, c.namespaces*c.objects), func(b *testing.B) {
			for b.Loop() {
				measurePolls(b, c.namespaces, c.objects, c.perQuery)
			}
		})
	}
}

func measurePolls(b *testing.B, namespaces, objects, perQuery int) {
	b.Helper()
	const lasts = 10 * time.Second
	server := newInMemory()
	empty := heap()
	m := newCrowd(b, server, namespaces, objects, perQuery)
	ctx, cancel := context.WithCancel(b.Context())
	done := make(chan struct{})
	var sampled atomic.Int64
	go func() {
		defer close(done)
		m.source.Run(ctx, func(observe.Key) { sampled.Add(1) })
	}()
	for answered, deadline := m.look(), time.Now().Add(time.Minute); answered < len(m.keys); answered = m.look() {
		if time.Now().After(deadline) {
			b.Fatalf("%d of %d objects have a value", answered, len(m.keys))
		}
		<-time.After(100 * time.Millisecond)
	}
	kept := heap() - empty
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	asked, cpu := server.requests.Load(), processTime(b)
	<-time.After(lasts)
	runtime.ReadMemStats(&after)
	polls := float64(server.requests.Load() - asked)
	cost := processTime(b) - cpu
	answered := m.look()
	cancel()
	<-done
	if answered < len(m.keys) || polls == 0 {
		b.Fatalf("%d of %d objects have a value after %v polls", answered, len(m.keys), polls)
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64(cost.Microseconds())/polls, "µs/poll")
	b.ReportMetric(float64(after.Mallocs-before.Mallocs)/polls, "allocs/poll")
	b.ReportMetric(float64(after.TotalAlloc-before.TotalAlloc)/polls, "B/poll")
	b.ReportMetric(polls/lasts.Seconds(), "polls/s")
	b.ReportMetric(float64(kept)/float64(len(m.keys)), "B/object")
}

// heap is the heap in use after a collection.
func heap() uint64 {
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.HeapAlloc
}

// processTime is the CPU time of the process.
func processTime(b *testing.B) time.Duration {
	b.Helper()
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		b.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
