package kubelet

import (
	"context"
	"errors"
	"runtime"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/collect/kubelet/rate"
	"github.com/plimsoll-dev/plimsoll/internal/timing"
)

// keptBytes is how large a buffer may be to be used again.
const keptBytes = 1 << 20

// Scraper asks kubelets and puts their answers into a store. It may be used by
// many goroutines.
type Scraper struct {
	client *Client
	store  *rate.Store
	// buffers are those not in use; reading and parsing keep a core busy, so that
	// more than the cores are seldom needed.
	buffers chan []byte
}

// NewScraper makes one.
func NewScraper(client *Client, store *rate.Store) (*Scraper, error) {
	if client == nil || store == nil {
		return nil, errors.New("a scraper of kubelets needs a client and a store")
	}
	return &Scraper{client: client, store: store, buffers: make(chan []byte, 2*runtime.NumCPU())}, nil
}

// Scrape asks one kubelet. After an error the store is as it was, and the round says
// what that cost, and no more.
func (s *Scraper) Scrape(ctx context.Context, target Target) (rate.Round, error) {
	// Who waits for an answer needs no buffer: many do at a time, and they are large.
	answer, reading, err := s.client.fetch(ctx, target, rate.Families(), s.take)
	if err != nil {
		s.giveBack(answer)
		return rate.Round{Node: target.Node, CPU: reading}, err
	}
	var round rate.Round
	parsing := timing.CPUOf(func() { round, err = s.store.Ingest(target.Node, time.Now(), answer) })
	s.giveBack(answer)
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
