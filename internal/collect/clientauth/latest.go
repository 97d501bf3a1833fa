package clientauth

import (
	"context"
	"errors"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/observe/horizontal/sources"
)

const (
	// firstWait is how long Latest waits for the first material.
	firstWait = 20 * time.Millisecond
	// backgroundTimeout bounds a read in the background.
	backgroundTimeout = 5 * time.Second
	// maxLag is the maximum age of material that Latest returns while it is made again. Older material is awaited, for
	// lateWait at most.
	maxLag   = 10 * time.Second
	lateWait = time.Second
)

// ErrPending is returned by Latest while Secrets are being read for the first time.
var ErrPending = errors.New("Secrets are being read")

// Latest is Get for callers that must not wait: the material is made in the background, and that of some seconds ago is
// used until then. Before there is any, it returns ErrPending; the function of Notify is called once there is some, or
// another error.
func (c *Client) Latest(ctx context.Context) (Material, error) {
	m := c.latest.Load()
	switch {
	case m.isFresh():
		return m.material, m.err
	case !c.target.needsSecrets():
		return c.Get(ctx)
	case m == nil:
		return c.first(ctx)
	case time.Since(m.at) > maxLag:
		ctx, cancel := context.WithTimeout(ctx, lateWait)
		defer cancel()
		return c.Get(ctx)
	default:
		c.rebuild()
		return m.material, m.err
	}
}

// Notify sets the function to call after the first material. It must be called before Latest.
func (c *Client) Notify(ready func()) { c.ready = ready }

// first waits for the first material for a moment.
func (c *Client) first(ctx context.Context) (Material, error) {
	if c.isBegun.CompareAndSwap(false, true) {
		go c.buildFirst()
	}
	timer := time.NewTimer(firstWait)
	defer timer.Stop()
	select {
	case <-c.isMade:
	case <-timer.C:
	case <-ctx.Done():
	}
	m := c.latest.Load()
	if m == nil {
		return Material{}, ErrPending
	}
	return m.material, m.err
}

func (c *Client) buildFirst() {
	c.turn <- struct{}{}
	c.buildInTurn()
	close(c.isMade)
	if c.ready != nil {
		c.ready()
	}
}

// rebuild does nothing if another goroutine is rebuilding.
func (c *Client) rebuild() {
	select {
	case c.turn <- struct{}{}:
		go c.buildInTurn()
	default:
	}
}

// buildInTurn builds the material, and ends the turn.
func (c *Client) buildInTurn() {
	defer func() { <-c.turn }()
	last := c.latest.Load()
	if last.isFresh() {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), backgroundTimeout)
	defer cancel()
	c.latest.Store(c.build(ctx, last))
}

// needsSecrets reports whether the material depends on Secrets.
func (t *Target) needsSecrets() bool {
	return t.Credentials != (sources.Credentials{}) ||
		t.IsTLS && (t.TLS.CA != sources.SecretKey{} || t.TLS.Cert != sources.SecretKey{} || t.TLS.Key != sources.SecretKey{})
}
