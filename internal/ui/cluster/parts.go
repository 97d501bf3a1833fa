package cluster

import (
	"context"
	"sync"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/ui/view"
)

const (
	// patience is the time for which a response waits for its parts. A part that arrives later is in a later response.
	patience = time.Second
	// partTimeout bounds a part: the controller's time to respond, and the time to read the missing data from elsewhere.
	partTimeout = time.Minute
	// partHolds is the time for which a part is shown while the next one is missing, partIsNew the time without a note
	// about that.
	partHolds = 90 * time.Second
	partIsNew = 20 * time.Second
	// mostParts is the number of parts kept.
	mostParts = 200
)

// parts has the data of objects that comes from the controller. It responds with its next decision, which may be a sync
// period away, to eight requests at once; a controller that hangs does not respond. Therefore each part has one request
// at a time, however many pages show it, and no page waits for it.
type parts struct {
	mu sync.Mutex
	// guarded by mu
	byName map[string]*part
}

// part is the last data of a part, and the read in progress.
type part struct {
	// object has only the part; nil before the first read.
	object *view.Object
	at     time.Time
	// ended is closed at the end of the read in progress; nil if there is none.
	ended chan struct{}
}

// begin starts to read a part unless a read is in progress.
func (p *parts) begin(ctx context.Context, name string, read func(context.Context, *view.Object)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	known := p.byName[name]
	if known == nil {
		p.forgetLocked()
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

// forgetLocked drops parts that are no longer shown.
func (p *parts) forgetLocked() {
	if len(p.byName) < mostParts {
		return
	}
	for name, known := range p.byName {
		if known.ended == nil {
			delete(p.byName, name)
		}
	}
}

// take waits for a part until the time has passed, and returns its last data; nil if there is none.
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
