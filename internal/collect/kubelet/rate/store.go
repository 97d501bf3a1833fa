package rate

import (
	"fmt"
	"runtime"
	"sync"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/collect/kubelet/text"
	"github.com/plimsoll-dev/plimsoll/internal/collect/page"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/podload"
)

// The defaults of Config.
const (
	DefaultSpan   = 15 * time.Second
	DefaultMaxAge = 30 * time.Second
)

// MaxContainers bounds the containers of one node in a store, those of the round before included. A node with 500 pods
// of four containers has 2000. A node that always names new containers cannot fill this process's memory.
const MaxContainers = 4096

// maxLabelBytes bounds the labels of a container: the longest names of a container, a namespace and a pod have 379
// bytes together.
const maxLabelBytes = 1 << 10

// Config configures a Store.
type Config struct {
	// Span is the longest window of a Query. Whatever the scrape interval, histories reach back so far, more coarsely if
	// need be.
	Span time.Duration
	// MaxAge is the longest time since a node's last response for which its samples are used, MaxSampleAge the longest
	// since the newest sample of a container arrived; 0 means MaxAge.
	MaxAge, MaxSampleAge time.Duration
	// MaxTextBytes bounds one text; 0 means page.DefaultMaxBytes.
	MaxTextBytes int
}

// Store holds the samples of many nodes. It is safe for concurrent use: each node has a lock of its own, under which
// its texts are parsed.
type Store struct {
	config Config
	// batches holds the free batches, enough for all cores to parse at a time.
	batches chan *batch

	// mu guards nodes; each node has its own lock.
	mu    sync.RWMutex
	nodes map[string]*node
}

// New makes a Store.
func New(config Config) *Store {
	if config.Span <= 0 {
		config.Span = DefaultSpan
	}
	if config.MaxAge <= 0 {
		config.MaxAge = DefaultMaxAge
	}
	if config.MaxSampleAge <= 0 {
		config.MaxSampleAge = config.MaxAge
	}
	return &Store{config: config, nodes: map[string]*node{}, batches: make(chan *batch, runtime.NumCPU())}
}

// Ingest ingests the response of a kubelet; scraped is the time of its arrival. After an error (*page.Error,
// ErrNoStatistics, both wrapped) nothing has changed.
func (s *Store) Ingest(nodeName string, scraped time.Time, input []byte) (Round, error) {
	return s.IngestOf(nodeName, scraped, input, nil)
}

// Wanted reports whether to ingest samples of a container. It must not keep the bytes.
type Wanted func(namespace, pod, container []byte) bool

// IngestOf ingests only the containers that are wanted, or that were wanted before and are still in the text.
func (s *Store) IngestOf(nodeName string, scraped time.Time, input []byte, wanted Wanted) (Round, error) {
	b := s.batch()
	defer s.release(b)
	b.wanted = wanted
	n := s.node(nodeName)
	n.mu.Lock()
	defer n.mu.Unlock()
	if err := b.ingest(n, scraped, input); err != nil {
		return Round{Node: nodeName}, fmt.Errorf("resource metrics of node %s: %w", nodeName, err)
	}
	b.round.Node = nodeName
	return b.round, nil
}

// Families are the families that a store uses. A kubelet that could not gather its statistics writes none of them and
// reports the error instead, so that a text with all of them may end behind the last.
func Families() text.Families {
	return text.Of(text.ContainerCPU, text.ContainerMemory, text.ContainerStart)
}

// batch takes a free one, or makes one.
func (s *Store) batch() *batch {
	select {
	case b := <-s.batches:
		return b
	default:
	}
	return &batch{
		lines:      text.Lines(Families()|text.Of(text.ScrapeError), s.config.MaxTextBytes),
		spanMillis: s.config.Span.Milliseconds(),
	}
}

// release clears every reference to texts and containers.
func (s *Store) release(b *batch) {
	clear(b.readings)
	*b = batch{lines: b.lines, spanMillis: b.spanMillis, readings: b.readings[:0], scratch: b.scratch[:0]}
	b.lines.Reset(page.Text, nil)
	select {
	case s.batches <- b:
	default:
	}
}

// node returns the node of that name; it makes a missing one.
func (s *Store) node(name string) *node {
	if n := s.known(name); n != nil {
		return n
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.nodes[name]
	if n == nil {
		n = &node{pods: map[podKey]*container{}}
		s.nodes[name] = n
	}
	return n
}

func (s *Store) known(name string) *node {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.nodes[name]
}

// Usage appends the usage of a pod's containers to dst. It returns false, and appends nothing, if the node's newest
// round lacks the pod, or if the pod has no recent sample and no refused value.
//
// It appends all containers that the newest round or the one before had; one that is missing from the newest, or has no
// two samples yet, has no CPU.
func (s *Store) Usage(q Query, dst []ContainerUsage) ([]ContainerUsage, bool) {
	n, oldest := s.open(&q)
	if n == nil {
		return dst, false
	}
	defer n.mu.Unlock()
	start, isKnown := len(dst), false
	window := podload.Window{LengthMillis: q.Window.Milliseconds(), EndMillis: millisOf(q.End)}
	for c := n.ofLocked(&q); c != nil; c = c.next {
		known := n.containerOfLocked(c, oldest)
		usage := known.Usage(window)
		isKnown = isKnown || usage.HasCPU || usage.HasMemory || usage.Refused != 0
		dst = append(dst, usage)
	}
	if !isKnown {
		return dst[:start], false
	}
	return dst, true
}

// Containers appends the same containers with their whole history. The query's window and end are not used.
func (s *Store) Containers(q Query, dst []podload.Container) []podload.Container {
	n, oldest := s.open(&q)
	if n == nil {
		return dst
	}
	defer n.mu.Unlock()
	for c := n.ofLocked(&q); c != nil; c = c.next {
		dst = append(dst, n.containerOfLocked(c, oldest))
	}
	return dst
}

// open locks the node, and returns the earliest arrival of a newest sample that counts, by the node's local clock. It
// returns nil without locking for a node whose last response is too old.
func (s *Store) open(q *Query) (n *node, oldestMillis int64) {
	if n = s.known(q.Node); n == nil {
		return nil, 0
	}
	n.mu.Lock()
	now := n.localLocked(q.Now)
	if n.round == 0 || now-n.arrivedMillis > s.config.MaxAge.Milliseconds() {
		n.mu.Unlock()
		return nil, 0
	}
	maxAge := s.config.MaxSampleAge
	if q.MaxSampleAge > 0 {
		maxAge = q.MaxSampleAge
	}
	return n, now - maxAge.Milliseconds()
}

// ofLocked returns the first container of the query's pod.
func (n *node) ofLocked(q *Query) *container {
	return n.pods[podKey{namespace: q.Namespace, name: q.Pod}]
}

// containerOfLocked returns the usage of a container; only its name if the newest round lacks it, or its newest sample
// arrived before oldestMillis.
func (n *node) containerOfLocked(c *container, oldestMillis int64) podload.Container {
	if c.seen != n.round || c.cpu.Len() > 0 && c.arrivedMillis < oldestMillis {
		return podload.Container{Name: c.name}
	}
	known := podload.Container{Name: c.name, CPU: c.cpu, MemoryBytes: c.memoryBytes, Refused: c.refused}
	if c.memoryBytes > 0 {
		known.MostMemoryBytes, known.MostMemoryAt = c.memory.most()
	}
	return known
}

// millisOf is 0 for no time.
func millisOf(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}

// Forget drops a node and all that is on it.
func (s *Store) Forget(nodeName string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.nodes, nodeName)
}

// Sizes counts the contents.
func (s *Store) Sizes() Sizes {
	s.mu.RLock()
	defer s.mu.RUnlock()
	sizes := Sizes{Nodes: len(s.nodes)}
	for _, n := range s.nodes {
		n.mu.Lock()
		sizes.Pods += len(n.pods)
		sizes.Containers += n.known
		n.mu.Unlock()
	}
	return sizes
}
