package rate_test

import (
	"bytes"
	"fmt"
	"runtime"
	"strconv"
	"testing"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/collect/kubelet/kubelettest"
	"github.com/plimsoll-dev/plimsoll/internal/collect/kubelet/rate"
)

// feed is a node with a page for each second.
type feed struct {
	node *kubelettest.Node
	now  time.Time
}

func newFeed(pods, containers int) *feed {
	return &feed{node: kubelettest.Filled(pods, containers, noon), now: noon.Add(time.Hour)}
}

func (f *feed) next() []byte {
	f.now = f.now.Add(time.Second)
	f.node.Burn(250_000_007)
	return f.node.Text(f.now)
}

func (f *feed) ingest(tb testing.TB, s *rate.Store, node string) {
	round, err := s.Ingest(node, f.now, f.next())
	if err != nil || round.Ignored > 0 {
		tb.Fatal(round, err)
	}
}

// movable is a text whose timestamps can be overwritten, which takes some microseconds; making a new text takes longer
// than parsing one.
type movable struct {
	text  []byte
	times [][]byte
}

func newMovable(input []byte, at time.Time) *movable {
	m := &movable{text: input}
	millis := strconv.AppendInt(nil, at.UnixMilli(), 10)
	for rest := input; ; {
		i := bytes.Index(rest, millis)
		if i < 0 {
			return m
		}
		m.times = append(m.times, rest[i:i+len(millis)])
		rest = rest[i+len(millis):]
	}
}

func (m *movable) move(at time.Time) {
	var buffer [20]byte
	millis := strconv.AppendInt(buffer[:0], at.UnixMilli(), 10)
	for _, t := range m.times {
		copy(t, millis)
	}
}

// BenchmarkIngest ingests one scrape of a node of 110 pods of 2 containers: steady is a later one of the same node
// (including moving the text's time on), first is the first one of a node.
func BenchmarkIngest(b *testing.B) {
	b.Run("steady", func(b *testing.B) {
		f, s := newFeed(110, 2), rate.New(rate.Config{})
		m := newMovable(f.next(), f.now)
		ingest := func() {
			f.now = f.now.Add(time.Second)
			m.move(f.now)
			if round, err := s.Ingest("node-1", f.now, m.text); err != nil || round.Fresh != 220 {
				b.Fatal(round, err)
			}
		}
		for range 20 {
			ingest()
		}
		b.ReportAllocs()
		b.SetBytes(int64(len(m.text)))
		for b.Loop() {
			ingest()
		}
	})
	b.Run("first", func(b *testing.B) {
		f, s := newFeed(110, 2), rate.New(rate.Config{})
		input := f.next()
		b.ReportAllocs()
		b.SetBytes(int64(len(input)))
		for b.Loop() {
			if _, err := s.Ingest("node-1", f.now, input); err != nil {
				b.Fatal(err)
			}
			s.Forget("node-1")
		}
	})
}

// BenchmarkUsage reads one pod of 2 containers among 100 nodes.
func BenchmarkUsage(b *testing.B) {
	f, s := newFeed(110, 2), rate.New(rate.Config{})
	for range 17 {
		input := f.next()
		for n := range 100 {
			if _, err := s.Ingest(fmt.Sprintf("node-%d", n), f.now, input); err != nil {
				b.Fatal(err)
			}
		}
	}
	queries := make([]rate.Query, 0, 11_000)
	for _, pod := range f.node.Pods {
		for n := range 100 {
			queries = append(queries, rate.Query{
				Node: fmt.Sprintf("node-%d", n), Namespace: pod.Namespace, Pod: pod.Name, Window: 15 * time.Second, Now: f.now,
			})
		}
	}
	buffer := make([]rate.ContainerUsage, 0, 8)
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		got, ok := s.Usage(queries[i%len(queries)], buffer)
		if !ok || len(got) != 2 || got[0].CPU.Span != 15*time.Second {
			b.Fatal(got, ok)
		}
		i++
	}
}

// TestNoAllocations: in the steady state neither scrapes nor reads allocate.
func TestNoAllocations(t *testing.T) {
	f, s := newFeed(110, 2), rate.New(rate.Config{})
	for range 20 {
		f.ingest(t, s, "node-1")
	}
	texts := make([][]byte, 12)
	for i := range texts {
		texts[i] = f.next()
	}
	arrived, i := f.now, 0
	if n := testing.AllocsPerRun(len(texts)-1, func() {
		if round, err := s.Ingest("node-1", arrived, texts[i]); err != nil || round.Fresh != 220 {
			t.Fatal(round, err)
		}
		i++
	}); n > 0 {
		t.Errorf("%v allocations for a scrape", n)
	}
	pod := f.node.Pods[50]
	q := rate.Query{Node: "node-1", Namespace: pod.Namespace, Pod: pod.Name, Window: 15 * time.Second, Now: f.now}
	buffer := make([]rate.ContainerUsage, 0, 8)
	if n := testing.AllocsPerRun(10, func() { s.Usage(q, buffer) }); n > 0 {
		t.Errorf("%v allocations for a question", n)
	}
}

// TestMemory: the store keeps less than 1 kB for a pod of two containers.
func TestMemory(t *testing.T) {
	heap := func() int64 {
		var m runtime.MemStats
		// Twice: the first collection only empties the pools.
		runtime.GC()
		runtime.GC()
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	const nodes, pods = 50, 110
	before := heap()
	s := rate.New(rate.Config{})
	for n := range nodes {
		f := newFeed(pods, 2)
		for range 3 {
			f.ingest(t, s, fmt.Sprintf("node-%d", n))
		}
	}
	perPod := (heap() - before) / (nodes * pods)
	t.Logf("%d bytes for a pod of two containers", perPod)
	if perPod > 1000 || perPod < 500 {
		t.Errorf("%d bytes for a pod of two containers, at most 1000 (and two containers have no less than 500)", perPod)
	}
	runtime.KeepAlive(s)
}
