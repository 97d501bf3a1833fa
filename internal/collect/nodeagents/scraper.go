package nodeagents

import (
	"context"
	"errors"
	"runtime"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/collect/kubelet"
	"github.com/plimsoll-dev/plimsoll/internal/collect/kubelet/rate"
	"github.com/plimsoll-dev/plimsoll/internal/nodeagent/selection"
	"github.com/plimsoll-dev/plimsoll/internal/timing"
)

// keptBytes is how large a buffer may be to be used again.
const keptBytes = 1 << 20

// Scraper requests what one side needs, with selections of its own. It may be used by many goroutines.
type Scraper struct {
	client  *Client
	store   *rate.Store
	buffers chan []byte
}

// NewScraper makes one whose samples go into a store.
func NewScraper(client *Client, store *rate.Store) (*Scraper, error) {
	if client == nil || store == nil {
		return nil, errors.New("a scraper of agents needs a client and a store")
	}
	return &Scraper{client: client, store: store, buffers: make(chan []byte, 2*runtime.NumCPU())}, nil
}

// Scrape requests samples of the selected containers, and stores them. After an error the store is
// as it was.
func (s *Scraper) Scrape(ctx context.Context, target kubelet.Target, wanted *selection.Prepared) (rate.Round, error) {
	answer, reading, err := s.client.fetch(ctx, &request{s, target, selection.UsagePath, wanted})
	if err != nil {
		s.giveBack(answer)
		return rate.Round{Node: target.Node, CPU: reading}, err
	}
	var round rate.Round
	parsing := timing.CPUOf(func() { round, err = s.store.IngestOf(target.Node, time.Now(), answer, wanted.Has()) })
	s.giveBack(answer)
	round.CPU = reading + parsing
	return round, err
}

// Contention requests the counters of CPU that the selected containers did not get. The caller keeps the answer.
func (s *Scraper) Contention(
	ctx context.Context, target kubelet.Target, wanted *selection.Prepared,
) (answer []byte, err error) {
	answer, _, err = s.client.fetch(ctx, &request{s, target, selection.ContentionPath, wanted})
	if err != nil {
		s.giveBack(answer)
		return nil, err
	}
	return answer, nil
}

// Forget drops what is known of a node.
func (s *Scraper) Forget(node string) {
	s.client.leave(node, s)
	s.store.Forget(node)
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
