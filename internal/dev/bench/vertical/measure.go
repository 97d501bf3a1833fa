package vertical

import (
	"context"
	"errors"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/dev/bench/report"
	"github.com/plimsoll-dev/plimsoll/internal/timing"
)

// measurement is one run of one subject. Times are seconds.
type measurement struct {
	// At rest: the mean of the passes, what is written a minute, and of how many cores.
	recommenderPass, updaterPass float64
	writesPerMinute              map[string]float64
	restCores                    float64
	restActions                  float64

	// When all workloads have pods to change: the one pass that changed them.
	actingPass, computing, acting float64
	actions, failures             float64
	// The API server's CPU in that time, to within a page's period, and the duration of the later status writes.
	serverCPU, telling float64

	// At the end: all, and what is no file's.
	residentBytes, anonymousBytes float64
}

// total are all writes a minute at rest.
func (m *measurement) total() float64 {
	sum := 0.0
	for _, rate := range m.writesPerMinute {
		sum += rate
	}
	return sum
}

// measure runs a subject, measures it at rest, and then gives its updater something to do.
func (b *bench) measure(ctx context.Context, subject Subject, title string) (m measurement, err error) {
	b.progress.Say("%s: making the vertical objects", title)
	if err := b.crowd.autoscale(ctx); err != nil {
		return m, err
	}
	r, err := b.launcher.start(ctx, subject)
	if err != nil {
		return m, err
	}
	// No updater may act on what comes after.
	defer r.stop(context.WithoutCancel(ctx))
	if err := b.awaitRecommendations(ctx, r, title); err != nil {
		return m, err
	}
	if err := b.rest(ctx, r, title, &m); err != nil {
		return m, err
	}
	b.progress.Say("%s: at rest %s and %s s a pass, %s writes a minute", title,
		report.Number(m.recommenderPass), report.Number(m.updaterPass), report.Number(m.total()))
	if err := b.act(ctx, r, title, &m); err != nil {
		return m, err
	}
	b.progress.Say("%s: %.0f pods changed in a pass of %s s", title, m.actions, report.Number(m.actingPass))
	return m, nil
}

// renew brings back what the subject before has changed.
func (b *bench) renew(ctx context.Context) error {
	if err := b.cluster.RestartControllerManager(ctx, controllerManagerFlags()...); err != nil {
		return err
	}
	if b.Mode != Recreate {
		if err := b.crowd.renewPods(ctx); err != nil {
			return err
		}
	}
	return b.awaitPods(ctx)
}

// awaitRecommendations waits for the first passes, and for the end of what they write.
func (b *bench) awaitRecommendations(ctx context.Context, r *running, title string) error {
	err := wait{
		title: title + ": objects with a recommendation", want: b.Objects, count: b.crowd.recommended, say: b.progress.Say,
		period: time.Second,
	}.await(ctx, b.Patience)
	if err != nil {
		return err
	}
	_, err = b.awaitPasses(ctx, r, title+": first passes",
		func(o *own) bool { return o.recommender.count >= 1 && o.updater.count >= 1 })
	return err
}

// awaitPasses waits until the subject's own counts suffice.
func (b *bench) awaitPasses(ctx context.Context, r *running, title string, enough func(*own) bool) (own, error) {
	var last own
	err := wait{title: title, want: 1, say: b.progress.Say, period: pagePeriod,
		count: func(ctx context.Context) (int, error) {
			var err error
			if last, err = r.say(ctx); err != nil || !enough(&last) {
				return 0, err
			}
			return 1, nil
		}}.await(ctx, b.Patience)
	return last, err
}

// rest watches a subject that has nothing to change. It begins and ends halfway between two passes: both parts have
// theirs at about the same time, and so many of each are within.
func (b *bench) rest(ctx context.Context, r *running, title string, m *measurement) error {
	b.progress.Say("%s: at rest for %d passes", title, b.Passes)
	if err := timing.Pause(ctx, interval/2); err != nil {
		return err
	}
	before, err := b.look(ctx, r)
	if err != nil {
		return err
	}
	if err := timing.Pause(ctx, time.Duration(b.Passes)*interval); err != nil {
		return err
	}
	after, err := b.look(ctx, r)
	if err != nil {
		return err
	}
	passed := after.at.Sub(before.at)
	m.recommenderPass, m.updaterPass = after.recommender.since(before.recommender).mean(),
		after.updater.since(before.updater).mean()
	m.writesPerMinute = after.writes.perMinute(before.writes, passed)
	m.restCores = (after.cpuSeconds - before.cpuSeconds) / passed.Seconds()
	m.restActions = after.acted() - before.acted()
	_, err = b.awaitPasses(ctx, r, title+": the end of the updater's pass",
		func(o *own) bool { return o.updater.count > after.updater.count })
	return err
}

// interval is both parts' default.
const interval = time.Minute

// looked has all counters at one time.
type looked struct {
	own
	writes writes
}

func (b *bench) look(ctx context.Context, r *running) (looked, error) {
	page, err := b.serverPage(ctx)
	if err != nil {
		return looked{}, err
	}
	said, err := r.say(ctx)
	return looked{own: said, writes: writesOf(page)}, err
}

// act raises the requests right after a pass of the updater so that the whole of the next one includes it, and measures
// that one. Pods come back after that: in real clusters, the controllers that create them do not share two cores with
// the API server.
func (b *bench) act(ctx context.Context, r *running, title string, m *measurement) error {
	before, err := r.say(ctx)
	if err != nil {
		return err
	}
	b.cluster.StopControllerManager(ctx)
	if err := b.crowd.askForMore(ctx); err != nil {
		return err
	}
	// A pass that began before all objects were changed does not count.
	asked, err := r.say(ctx)
	if err != nil {
		return err
	}
	if asked.updater.count != before.updater.count {
		return errors.New("the updater passed while the objects were being changed: its interval is too short")
	}
	idle, err := b.serverCPU(ctx)
	if err != nil {
		return err
	}
	after, err := b.awaitPasses(ctx, r, title+": acting", func(o *own) bool {
		if o.acted() == asked.acted() {
			// If it cannot be read now, the earlier number stays.
			if used, err := b.serverCPU(ctx); err == nil {
				idle = used
			}
		}
		return o.updater.count > asked.updater.count
	})
	if err != nil {
		return err
	}
	used, err := b.serverCPU(ctx)
	if err != nil {
		return err
	}
	m.serverCPU = used - idle
	m.actingPass = after.updater.seconds - asked.updater.seconds
	m.computing = after.computingSeconds - asked.computingSeconds
	// A pass that is cut off has no step of acting.
	m.acting = m.actingPass - m.computing
	told, err := b.awaitPasses(ctx, r, title+": telling", func(o *own) bool { return o.telling == 0 })
	if err != nil {
		return err
	}
	m.telling = told.tellingSeconds - asked.tellingSeconds
	m.actions, m.failures = after.acted()-asked.acted(), after.failed-asked.failed
	m.residentBytes, m.anonymousBytes = after.residentBytes, after.anonymousBytes
	return nil
}
