package scale

import (
	"context"
	"errors"
	"math"
	"sync/atomic"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/dev/bench/exposition"
	"github.com/plimsoll-dev/plimsoll/internal/dev/bench/report"
	"github.com/plimsoll-dev/plimsoll/internal/dev/bench/scale/telemetry"
	"github.com/plimsoll-dev/plimsoll/internal/dev/bench/scale/viewers"
	"github.com/plimsoll-dev/plimsoll/internal/timing"
)

// measurement is one run of one subject.
type measurement struct {
	seconds float64
	// seen is the number of decisions that were detected from outside, counted the number that the subject itself counted:
	// in the whole of its life, so that the ends of a measurement have no effect.
	seen, counted float64
	// perSecond is the subject's count per second.
	perSecond float64
	// Periods and ages in seconds; NaN if single decisions are not detected.
	periodP50, periodP99, sampleAgeP99 float64
	// oldestAgeP50 and oldestAgeP99 are of the pod of which the newest sample is oldest.
	oldestAgeP50, oldestAgeP99 float64
	// waiting counts objects of which no period ended.
	waiting int
	// CPU in seconds of one core.
	cpuPerThousand, cores, serverCPUPerThousand float64
	residentBytes, liveHeapBytes                float64
	// requestsPerSecond is by verb; metrics requests are those that the metrics API answered.
	requestsPerSecond        map[string]float64
	metricsRequestsPerSecond float64
	// pagesPerSecond is the number of pages of their own metrics that the pods served.
	pagesPerSecond              float64
	statusWritesPerObjectMinute float64
	scaleWrites                 float64
	start                       beginning
	agents                      agentNumbers
	ui                          uiNumbers
}

// server has the API server's own metrics at one time.
type server struct {
	process
	requests
}

// rates are the API server's work in a second.
type rates struct {
	cores    float64
	seconds  float64
	requests requests // as many as in seconds
}

func (s server) since(before server) rates {
	return rates{
		seconds:  s.at.Sub(before.at).Seconds(),
		cores:    (s.cpuSeconds - before.cpuSeconds) / s.at.Sub(before.at).Seconds(),
		requests: s.requests.since(before.requests),
	}
}

func (b *bench) serverNumbers(ctx context.Context) (server, error) {
	p, err := exposition.Fetch(ctx, b.apiServer, b.cluster.RESTConfig().Host+"/metrics")
	if err != nil {
		return server{}, err
	}
	return server{process: page{p}.process(time.Now()), requests: page{p}.requests()}, nil
}

// observer notes what a subject does while it runs.
type observer struct {
	title     string
	kind      Kind
	window    time.Duration
	decisions Decisions
	journal   *journal
	asked     atomic.Int64 // questions to the metrics API
	// isOwn is true if the pods themselves are scraped, rather than the kubelets.
	isOwn bool
	// hasLearnt is true if each object begins with a learnt forecast, hasAgents if nodes' agents are used.
	hasLearnt, hasAgents bool
	// ui is plimsoll ui; nil without pages.
	ui *viewers.Viewers
}

// waiting is a wait until a time has come and a count has reached what is wanted.
type waiting struct {
	until  time.Time
	count  func() int
	want   int
	format string // of the count and the wanted one
}

// measure runs a subject and measures it at rest.
func (b *bench) measure(ctx context.Context, subject Subject, title string) (m measurement, err error) {
	if err := b.replace(ctx, &subject); err != nil {
		return measurement{}, err
	}
	if err := b.saveLearnt(ctx, &subject); err != nil {
		return measurement{}, err
	}
	o := &observer{
		journal: newJournal(b.Size.Objects, time.Now()), window: b.Window, decisions: FromRequests, title: title,
		kind: subject.Kind, isOwn: subject.OwnMetrics, hasLearnt: subject.HasLearnt, hasAgents: subject.NodeAgents,
	}
	if subject.Kind == Plimsoll {
		o.window, o.decisions = b.PlimsollWindow, b.Decisions
	}
	b.telemetry.Listen(func(a telemetry.Asked) {
		o.asked.Add(1)
		if o.decisions == FromRequests {
			o.journal.note(a.Object, decision{at: a.At, age: a.At.Sub(a.Newest), aged: true})
		}
	})
	defer b.telemetry.Listen(nil)
	var more []string
	if o.decisions == FromLog {
		more = logFlags()
	}
	b.progress.Say("%s: starting", title)
	log := endOf(b.launcher.logPath(subject))
	r, err := b.launcher.start(ctx, subject, more)
	if err != nil {
		return measurement{}, err
	}
	defer r.program.Stop(ctx)
	if o.ui, err = openPages(ctx, b, subject, r); err != nil {
		return measurement{}, err
	}
	defer o.ui.Close(ctx)
	if o.decisions == FromLog {
		stop := b.follow(ctx, log, o)
		defer func() { err = errors.Join(err, stop()) }()
	}
	return b.observe(ctx, r, o)
}

// follow notes the decisions of a log until stop is called.
func (b *bench) follow(ctx context.Context, from position, o *observer) (stop func() error) {
	samplesOf := b.telemetry.SamplesOf
	if o.isOwn {
		samplesOf = b.telemetry.PagesOf
	}
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() {
		ended <- followLog(ctx, from, b.Size, func(object int, at time.Time) {
			times, found := samplesOf(object, at)
			d := decision{at: at, age: at.Sub(times.Newest), aged: found}
			if !times.Oldest.IsZero() {
				d.oldest = at.Sub(times.Oldest)
			}
			o.journal.note(object, d)
		})
	}()
	return func() error {
		cancel()
		return <-ended
	}
}

// observe waits until the subject is at rest, and measures it for a while.
func (b *bench) observe(ctx context.Context, r *running, o *observer) (measurement, error) {
	if err := b.awaitAgents(ctx, r, o); err != nil {
		return measurement{}, err
	}
	start, err := b.settle(ctx, r, o)
	if err != nil {
		return measurement{}, err
	}
	if err := b.awaitLearnt(ctx, r, o); err != nil {
		return measurement{}, err
	}
	before, err := b.lookWhenQuiet(ctx, r, o)
	if err != nil {
		return measurement{}, err
	}
	from := before.subject.at
	wait := waiting{
		until: from.Add(o.window), count: func() int { return o.journal.repeated(from) }, want: b.Size.Objects,
		format: o.title + ": measuring, %d of %d objects decided again",
	}
	if o.decisions == OnlyCounted {
		wait.want = 0
	}
	if err := b.await(ctx, wait); err != nil {
		return measurement{}, err
	}
	after, err := b.lookWhenQuiet(ctx, r, o)
	if err != nil {
		return measurement{}, err
	}
	m := b.compare(before, after)
	if m.ui, err = uiBetween(before, after); err != nil {
		return measurement{}, err
	}
	m.start = start
	if o.decisions != OnlyCounted {
		m.see(o.journal.between(from, after.subject.at))
	}
	b.progress.Say("%s: period p50 %s s, p99 %s s; %s CPU s per thousand decisions", o.title,
		report.Number(m.periodP50), report.Number(m.periodP99), report.Number(m.cpuPerThousand))
	return m, nil
}

// await prints the progress of a wait, and ends it after patience.
func (b *bench) await(ctx context.Context, w waiting) error {
	deadline := time.Now().Add(b.Patience)
	said := time.Now()
	for {
		now := time.Now()
		reached := w.count()
		if !now.Before(w.until) && (reached >= w.want || now.After(deadline)) {
			return nil
		}
		if now.Sub(said) >= progressPeriod {
			b.progress.Say(w.format, reached, w.want)
			said = now
		}
		if err := timing.Pause(ctx, 200*time.Millisecond); err != nil {
			return err
		}
	}
}

// numbers are everything that is counted, at one time.
type numbers struct {
	subject process
	server  server
	asked   int64
	pages   int64
	seen    int
	// answers of agents, and the CPU that those took.
	answers  int64
	agentCPU time.Duration
	ui       viewers.Seen
}

// Upstream decides all objects in bursts as long as its limits do not spread them: whatever is counted begins and ends
// between two of them.
const (
	quiet         = 300 * time.Millisecond
	quietPatience = 3 * time.Second
)

func (b *bench) lookWhenQuiet(ctx context.Context, r *running, o *observer) (numbers, error) {
	for deadline := time.Now().Add(quietPatience); time.Now().Before(deadline); {
		before := o.journal.total()
		if err := timing.Pause(ctx, quiet); err != nil {
			return numbers{}, err
		}
		if o.journal.total() == before {
			break
		}
	}
	return b.look(ctx, r, o)
}

func (b *bench) look(ctx context.Context, r *running, o *observer) (numbers, error) {
	var n numbers
	var err error
	if n.server, err = b.serverNumbers(ctx); err != nil {
		return n, err
	}
	n.asked, n.pages, n.seen = o.asked.Load(), b.telemetry.Pages(), o.journal.total()
	if o.hasAgents {
		n.answers, n.agentCPU = b.launcher.agents.Answers()
	}
	if n.ui, err = o.ui.Look(); err != nil {
		return n, err
	}
	n.subject, err = b.launcher.process(ctx, r)
	return n, err
}

// see adds the detected single decisions.
func (m *measurement) see(s stretch) {
	m.periodP50, m.periodP99 = report.Quantile(s.periods, 0.5), report.Quantile(s.periods, 0.99)
	m.sampleAgeP99 = report.Quantile(s.ages, 0.99)
	m.oldestAgeP50, m.oldestAgeP99 = report.Quantile(s.oldest, 0.5), report.Quantile(s.oldest, 0.99)
	m.waiting = s.waiting
}

// compare makes a measurement of what was counted before and after a stretch of time.
func (b *bench) compare(before, after numbers) measurement {
	seconds := after.subject.at.Sub(before.subject.at).Seconds()
	cpu := after.subject.cpuSeconds - before.subject.cpuSeconds
	// The CPU and the count are of one page, so that the CPU of every counted decision is included.
	thousands := (after.subject.decisions - before.subject.decisions) / 1000
	served := after.server.since(before.server)
	m := measurement{
		seconds: seconds, seen: float64(after.seen), counted: after.subject.decisions,
		periodP50: math.NaN(), periodP99: math.NaN(), sampleAgeP99: math.NaN(),
		oldestAgeP50: math.NaN(), oldestAgeP99: math.NaN(), agents: agentsBetween(before, after),
		perSecond:      (after.subject.decisions - before.subject.decisions) / seconds,
		cpuPerThousand: cpu / thousands, cores: cpu / seconds,
		serverCPUPerThousand: max(served.cores-b.idle.cores, 0) * served.seconds / thousands,
		residentBytes:        after.subject.residentBytes, liveHeapBytes: after.subject.liveHeapBytes,
		requestsPerSecond: map[string]float64{}, metricsRequestsPerSecond: float64(after.asked-before.asked) / seconds,
		pagesPerSecond:              float64(after.pages-before.pages) / seconds,
		statusWritesPerObjectMinute: served.requests.statusWrites / float64(b.Size.Objects) / (served.seconds / 60),
		scaleWrites:                 served.requests.scaleWrites,
	}
	for verb, count := range served.requests.verbs {
		m.requestsPerSecond[verb] = max(count/served.seconds-b.idle.requests.verbs[verb]/b.idle.seconds, 0)
	}
	return m
}
