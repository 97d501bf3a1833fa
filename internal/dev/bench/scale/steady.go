package scale

import (
	"context"
	"math"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/dev/bench/report"
	"github.com/plimsoll-dev/plimsoll/internal/timing"
)

const (
	// steadyPeriod is the time over which writes of status are counted to detect the steady state.
	steadyPeriod = 5 * time.Second
	// steadyMargin is the factor by which they may exceed those at rest.
	steadyMargin = 1.25
	// pacedAtRest is the number of Plimsoll's writes a second for numbers alone while few objects have their first turn,
	// ten, and some others beside them: waiting for the last of them would take longer than measuring.
	pacedAtRest = 12
)

// mostAtRest is the maximum number of statuses that an autoscaler at rest writes a second for this many objects.
func mostAtRest(kind Kind, objects int) float64 {
	most := steadyMargin * float64(objects) / statusPeriod(kind).Seconds()
	if kind == Plimsoll {
		return max(most, pacedAtRest)
	}
	return most
}

// statusPeriod is the shortest period of an object's status writes by an autoscaler at rest: Plimsoll, numbers alone,
// each minute, upstream at each sync.
func statusPeriod(kind Kind) time.Duration {
	if kind == Plimsoll {
		return time.Minute
	}
	return 15 * time.Second
}

// beginning has the times of a subject's start.
type beginning struct {
	// decidedSeconds is when each object had been decided once; NaN if single decisions are not detected.
	decidedSeconds float64
	// restSeconds is when the measurement could begin.
	restSeconds float64
	// isRestless is true if it began although there were more writes than at rest.
	isRestless bool
}

// settle waits until each object has been decided once, and then until their first statuses are written: until both
// have happened what is measured is the start.
func (b *bench) settle(ctx context.Context, r *running, o *observer) (beginning, error) {
	wait := waiting{
		until: r.began.Add(b.Settle), count: o.journal.decided, want: b.Size.Objects, format: o.title +
			": settling, %d of %d objects decided",
	}
	if o.decisions == OnlyCounted {
		wait.count = func() int { return b.counted(ctx, r) }
	}
	if err := b.await(ctx, wait); err != nil {
		return beginning{}, err
	}
	s := beginning{decidedSeconds: math.NaN()}
	if decided, all := o.journal.allDecided(); all {
		s.decidedSeconds = decided.Sub(r.began).Seconds()
	}
	var err error
	s.isRestless, err = b.awaitRest(ctx, o)
	s.restSeconds = time.Since(r.began).Seconds()
	b.progress.Say("%s: each object had been decided once after %s s; measuring from %s s on", o.title,
		report.Number(s.decidedSeconds), report.Number(s.restSeconds))
	return s, err
}

// counted is a subject's own count of decisions, 0 if it does not respond.
func (b *bench) counted(ctx context.Context, r *running) int {
	p, err := b.launcher.process(ctx, r)
	if err != nil {
		return 0
	}
	return int(p.decisions)
}

// awaitRest waits until no more statuses are written than there are at rest. It is restless when patience has ended
// before.
func (b *bench) awaitRest(ctx context.Context, o *observer) (isRestless bool, err error) {
	most := mostAtRest(o.kind, b.Size.Objects)
	before, err := b.serverNumbers(ctx)
	if err != nil {
		return false, err
	}
	for deadline := time.Now().Add(b.Patience); time.Now().Before(deadline); {
		if err := timing.Pause(ctx, steadyPeriod); err != nil {
			return false, err
		}
		after, err := b.serverNumbers(ctx)
		if err != nil {
			return false, err
		}
		written := after.since(before)
		rate := written.requests.statusWrites / written.seconds
		if rate <= most {
			return false, nil
		}
		b.progress.Say("%s: settling, %.0f statuses written a second, at most %.0f at rest", o.title, rate, most)
		before = after
	}
	return true, nil
}
