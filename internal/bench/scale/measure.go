package scale

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/bench/report"
	"github.com/plimsoll-dev/plimsoll/internal/bench/scale/telemetry"
)

// measurement is one run of one subject.
type measurement struct {
	seconds float64
	// seen is how many decisions were seen from outside, counted how many the subject itself counted: in the whole of its
	// life, so that what is under way at the ends plays no part.
	seen, counted float64
	// Periods and ages in seconds.
	periodP50, periodP99, periodMean, sampleAgeP99 float64
	// waiting counts objects of which no period ended.
	waiting int
	// CPU in seconds of one core.
	cpuPerThousand, cores, serverCPUPerThousand float64
	residentBytes, liveHeapBytes                float64
	// requestsPerSecond is by verb; metrics requests are those that the metrics API answered.
	requestsPerSecond           map[string]float64
	metricsRequestsPerSecond    float64
	statusWritesPerObjectMinute float64
	scaleWrites                 float64
}

// server is what the API server says of itself at one time.
type server struct {
	process
	requests
}

// rates are what the API server does in a second.
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
	p, err := fetch(ctx, b.apiServer, b.cluster.RESTConfig().Host+"/metrics")
	if err != nil {
		return server{}, err
	}
	return server{process: p.process(time.Now()), requests: p.requests()}, nil
}

// observer notes what a subject does while it runs.
type observer struct {
	journal *journal
	asked   atomic.Int64 // questions to the metrics API
}

// measure runs a subject and looks at it once it has settled.
func (b *bench) measure(ctx context.Context, subject Subject, title string) (m measurement, err error) {
	fromLog := subject.Kind == Plimsoll && !b.DecisionsFromRequests
	o := &observer{journal: newJournal(b.Size.Objects, time.Now())}
	b.telemetry.Listen(func(a telemetry.Asked) {
		o.asked.Add(1)
		if !fromLog {
			o.journal.note(a.Object, decision{at: a.At, age: a.At.Sub(a.Newest), aged: true})
		}
	})
	defer b.telemetry.Listen(nil)
	var more []string
	if fromLog {
		more = logFlags()
	}
	b.progress.Say("%s: starting", title)
	log := endOf(b.launcher.logPath(subject))
	r, err := b.launcher.start(ctx, subject, more)
	if err != nil {
		return measurement{}, err
	}
	defer r.program.Stop(ctx)
	if fromLog {
		stop := b.follow(ctx, log, o.journal)
		defer func() { err = errors.Join(err, stop()) }()
	}
	return b.observe(ctx, r, o, title)
}

// follow notes the decisions of a log until stop is called.
func (b *bench) follow(ctx context.Context, from position, j *journal) (stop func() error) {
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() {
		ended <- followLog(ctx, from, b.Size, func(object int, at time.Time) {
			newest, found := b.telemetry.NewestScrape(object, at)
			j.note(object, decision{at: at, age: at.Sub(newest), aged: found})
		})
	}()
	return func() error {
		cancel()
		return <-ended
	}
}

// observe waits until the subject has settled, and looks at it for a while.
func (b *bench) observe(ctx context.Context, r *running, o *observer, title string) (measurement, error) {
	objects := b.Size.Objects
	if err := b.await(ctx, r.began.Add(b.Settle), objects, o.journal.decided, title+": settling, %d of %d objects decided"); err != nil {
		return measurement{}, err
	}
	before, err := b.lookWhenQuiet(ctx, r, o)
	if err != nil {
		return measurement{}, err
	}
	from := before.subject.at
	repeated := func() int { return o.journal.repeated(from) }
	if err := b.await(ctx, from.Add(b.Window), objects, repeated, title+": measuring, %d of %d objects decided again"); err != nil {
		return measurement{}, err
	}
	after, err := b.lookWhenQuiet(ctx, r, o)
	if err != nil {
		return measurement{}, err
	}
	m := b.compare(before, after, o.journal.between(from, after.subject.at))
	b.progress.Say("%s: period p50 %s s, p99 %s s; %s CPU s per thousand decisions", title,
		report.Number(m.periodP50), report.Number(m.periodP99), report.Number(m.cpuPerThousand))
	return m, nil
}

// await waits until a time has come and count has reached want, or patience has ended; it says now and then how far
// that is.
func (b *bench) await(ctx context.Context, until time.Time, want int, count func() int, format string) error {
	deadline := time.Now().Add(b.Patience)
	said := time.Now()
	for {
		now := time.Now()
		reached := count()
		if !now.Before(until) && (reached >= want || now.After(deadline)) {
			return nil
		}
		if now.Sub(said) >= progressPeriod {
			b.progress.Say(format, reached, want)
			said = now
		}
		if err := pause(ctx, 200*time.Millisecond); err != nil {
			return err
		}
	}
}

// numbers are everything that is counted, at one time.
type numbers struct {
	subject process
	server  server
	asked   int64
	seen    int
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
		if err := pause(ctx, quiet); err != nil {
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
	n.asked, n.seen = o.asked.Load(), o.journal.total()
	n.subject, err = b.launcher.process(ctx, r)
	return n, err
}

// compare makes a measurement of what was counted before and after a stretch of time.
func (b *bench) compare(before, after numbers, s stretch) measurement {
	seconds := after.subject.at.Sub(before.subject.at).Seconds()
	cpu := after.subject.cpuSeconds - before.subject.cpuSeconds
	// The CPU and the count are of one page, so that each decision that was counted was paid for.
	thousands := (after.subject.decisions - before.subject.decisions) / 1000
	served := after.server.since(before.server)
	m := measurement{
		seconds: seconds, seen: float64(after.seen), counted: after.subject.decisions, waiting: s.waiting,
		periodP50: report.Quantile(s.periods, 0.5), periodP99: report.Quantile(s.periods, 0.99), periodMean: mean(s.periods),
		sampleAgeP99:   report.Quantile(s.ages, 0.99),
		cpuPerThousand: cpu / thousands, cores: cpu / seconds,
		serverCPUPerThousand: max(served.cores-b.idle.cores, 0) * served.seconds / thousands,
		residentBytes:        after.subject.residentBytes, liveHeapBytes: after.subject.liveHeapBytes,
		requestsPerSecond: map[string]float64{}, metricsRequestsPerSecond: float64(after.asked-before.asked) / seconds,
		statusWritesPerObjectMinute: served.requests.statusWrites / float64(b.Size.Objects) / (served.seconds / 60),
		scaleWrites:                 served.requests.scaleWrites,
	}
	for verb, count := range served.requests.verbs {
		m.requestsPerSecond[verb] = max(count/served.seconds-b.idle.requests.verbs[verb]/b.idle.seconds, 0)
	}
	return m
}

func mean(values []float64) float64 {
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	return sum / float64(len(values))
}
