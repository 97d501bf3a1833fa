package kubelet

import (
	"context"
	"errors"
	"runtime"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/collect/kubelet/rate"
	"github.com/plimsoll-dev/plimsoll/internal/nodeagent/selection"
	"github.com/plimsoll-dev/plimsoll/internal/timing"
)

// keptBytes is the largest size of a buffer that is reused.
const keptBytes = 1 << 20

// Fetcher requests the usage of the containers of a node from its kubelet or its agent.
type Fetcher interface {
	// Fetch requests the selected containers; nil selects all of the node. It takes a buffer when the response arrives,
	// and returns that buffer with an error too. The CPU is the cost of reading the response.
	Fetch(
		ctx context.Context, target Target, selected *selection.Prepared, take func() []byte,
	) (response []byte, cpu time.Duration, err error)
}

var _ Fetcher = (*Client)(nil)

// Scraper ingests the responses of nodes into a store. It is safe for concurrent use.
type Scraper struct {
	fetcher Fetcher
	store   *rate.Store
	// buffers holds the free buffers; reading and parsing keep a core busy, so that more buffers than cores are seldom
	// needed.
	buffers chan []byte
}

// NewScraper makes a Scraper that fills the store.
func NewScraper(fetcher Fetcher, store *rate.Store) (*Scraper, error) {
	if fetcher == nil || store == nil {
		return nil, errors.New("a scraper of nodes needs a client and a store")
	}
	return &Scraper{fetcher: fetcher, store: store, buffers: make(chan []byte, 2*runtime.NumCPU())}, nil
}

// Scrape scrapes the selected containers of one node; nil selects all. After an error the store is unchanged, and the
// round has only the CPU that was spent.
func (s *Scraper) Scrape(ctx context.Context, target Target, selected *selection.Prepared) (rate.Round, error) {
	// Many scrapes wait for a response at a time, and buffers are large: none is taken before there is a response.
	response, reading, err := s.fetcher.Fetch(ctx, target, selected, s.take)
	if err != nil {
		s.giveBack(response)
		return rate.Round{Node: target.Node, CPU: reading}, err
	}
	var wanted rate.Wanted
	if selected != nil {
		wanted = selected.Has()
	}
	var round rate.Round
	parsing := timing.CPUOf(func() { round, err = s.store.IngestOf(target.Node, time.Now(), response, wanted) })
	s.giveBack(response)
	round.CPU = reading + parsing
	return round, err
}

func (s *Scraper) take() []byte {
	select {
	case b := <-s.buffers:
		return b[:0]
	default:
		return nil
	}
}

func (s *Scraper) giveBack(buffer []byte) {
	if cap(buffer) == 0 || cap(buffer) > keptBytes {
		return
	}
	select {
	case s.buffers <- buffer:
	default:
	}
}
