package cluster

import (
	"context"
	"sync"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/ui/view"
)

const (
	// patience is how long an answer waits for its parts. A part that is not there yet is in a later answer.
	patience = time.Second
	// partTimeout is how long a part may take: the controller's time to answer, and that to read what it did not answer
	// from elsewhere.
	partTimeout = time.Minute
	// partHolds is how long a part is shown while the next is not there, partIsNew how long that is not said.
	partHolds = 90 * time.Second
	partIsNew = 20 * time.Second
	// mostParts is how many are kept.
	mostParts = 200
)

// parts of objects that the controller is asked about. It answers with its next decision, which may be a sync period
// away, to eight at once; one that hangs does not answer. Therefore each is asked for once at a time, however many
// pages show it, and no page waits for it.
type parts struct {
	mu sync.Mutex
	// guarded by mu
	byName map[string]*part
}

// part is one as it was read last, and its reading.
type part struct {
	// object has nothing but the part; nil if none was read.
	object *view.Object
	at     time.Time
	// ended is closed when what is being read was read; nil if nothing is.
	ended chan struct{}
}

// begin begins to read a part unless it is being read.
func (p *parts) begin(ctx context.Context, name string, read func(context.Context, *view.Object)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	known := p.byName[name]
	if known == nil {
		p.forget()
		known = &part{}
		p.byName[name] = known
	}
	if known.ended != nil {
		return
	}
	known.ended = make(chan struct{})
	ctx = context.WithoutCancel(ctx)
	go func() {
		ctx, cancel := context.WithTimeout(ctx, partTimeout)
		defer cancel()
		object := &view.Object{}
		read(ctx, object)
		p.mu.Lock()
		defer p.mu.Unlock()
		close(known.ended)
		known.object, known.at, known.ended = object, time.Now(), nil
	}()
}

// forget makes room: what is not shown any more goes. The caller holds the lock.
func (p *parts) forget() {
	if len(p.byName) < mostParts {
		return
	}
	for name, known := range p.byName {
		if known.ended == nil {
			delete(p.byName, name)
		}
	}
}

// take waits for a part until the time has passed, and returns it as it was read last; nil if it is not known.
func (p *parts) take(ctx context.Context, name string) (object *view.Object, at time.Time) {
	p.mu.Lock()
	known := p.byName[name]
	var ended chan struct{}
	if known != nil {
		ended = known.ended
	}
	p.mu.Unlock()
	if ended != nil {
		select {
		case <-ended:
		case <-ctx.Done():
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if known == nil || time.Since(known.at) > partHolds {
		return nil, time.Time{}
	}
	return known.object, known.at
}
