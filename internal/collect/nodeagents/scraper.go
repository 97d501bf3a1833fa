package nodeagents

import (
	"context"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/collect/kubelet"
	"github.com/plimsoll-dev/plimsoll/internal/collect/kubelet/rate"
	"github.com/plimsoll-dev/plimsoll/internal/nodeagent/selection"
)

// Scraper scrapes agents for one loop, with selections of its own. It is safe for concurrent use.
type Scraper struct {
	*kubelet.Scraper
	client *Client
	store  *rate.Store
}

var _ kubelet.Fetcher = (*Scraper)(nil)

// NewScraper makes a Scraper that fills the store.
func NewScraper(client *Client, store *rate.Store) (s *Scraper, err error) {
	s = &Scraper{client: client, store: store}
	s.Scraper, err = kubelet.NewScraper(s, store)
	return s, err
}

// Fetch implements kubelet.Fetcher.
func (s *Scraper) Fetch(
	ctx context.Context, target kubelet.Target, selected *selection.Prepared, take func() []byte,
) (response []byte, cpu time.Duration, err error) {
	return s.client.fetch(ctx, &request{s, target, selection.UsagePath, selected, take})
}

// Contention requests the counters of CPU that the selected containers did not get.
func (s *Scraper) Contention(
	ctx context.Context, target kubelet.Target, selected *selection.Prepared,
) (response []byte, err error) {
	none := func() []byte { return nil } // The caller keeps the response.
	response, _, err = s.client.fetch(ctx, &request{s, target, selection.ContentionPath, selected, none})
	if err != nil {
		return nil, err
	}
	return response, nil
}

// Forget drops the state of a node.
func (s *Scraper) Forget(node string) {
	s.client.leave(node, s)
	s.store.Forget(node)
}
