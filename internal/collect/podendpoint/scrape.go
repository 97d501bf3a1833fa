package podendpoint

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"net"
	"slices"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/collect/page"
	"github.com/plimsoll-dev/plimsoll/internal/collect/podendpoint/counter"
	"github.com/plimsoll-dev/plimsoll/internal/collect/podendpoint/fetch"
	"github.com/plimsoll-dev/plimsoll/internal/panics"
	"github.com/plimsoll-dev/plimsoll/internal/timing"
)

const (
	// keptBytes is the largest size of a buffer that is reused.
	keptBytes = 1 << 20
	// The cost of waiting for a response is estimated, not measured: a waiting goroutine leaves its thread. These are
	// estimates for a request, its response's bytes, and a new connection. They serve to compare pages, and omit a part of
	// a scrape's cost: of 10,000 pods with small pages BenchmarkScrapes counts 0.37 cores by them where the process took
	// 0.5, with scheduling, garbage collection and the decisions' reads.
	exchangeCost    = 25 * time.Microsecond
	costPerKilobyte = 500 * time.Nanosecond
	costPerRead     = 3 * time.Microsecond
	// costPerOverhead is the cost of a byte outside the body: of a head, or of the size of a chunk.
	costPerOverhead = 20 * time.Nanosecond
	connectCost     = 60 * time.Microsecond
	handshakeCost   = time.Millisecond
	// Parsing pages with fewer than measuredBytes is measured one time of measuredOf.
	measuredBytes = 16 << 10
	measuredOf    = 8
	// staleAfter is the maximum age of a value by the page's own timestamp: the lookback of Prometheus' queries. mostAhead
	// is how far the clock of a pod's node may be ahead.
	staleAfter = 5 * time.Minute
	mostAhead  = 10 * time.Second
)

// The reasons why a page that was read gives no sample.
var (
	errAbsent     = errors.New("its page has no series of the metric, which nullValues: Zero would count as 0")
	errValue      = errors.New("a value of the metric on its page is NaN, infinite or negative")
	errOld        = fmt.Errorf("its page says that a value of the metric is more than %s old", staleAfter)
	errAhead      = errors.New("its page says that a value of the metric is in the future: the clocks differ")
	errManySeries = errors.New("its page has too many series of the metric, and so have other pages")
	errSilent     = errors.New("it has not been scraped often enough")
	errOneChange  = errors.New("its page changes rarely, and the metric has grown only once so far: " +
		"a rate needs two such changes")
	errRestarts = errors.New("every page has a lower value of the metric than the page before, or other series, so " +
		"that it has no rate. valueType: Rate needs a counter that only grows, on a page of all processes of the pod")
)

// scratch holds the buffers of a scrape from the start of the response.
type scratch struct {
	body   []byte
	parser page.Parser
	// values holds the values of each wanted metric.
	values [][]counter.Value
	// add is addValue, allocated once.
	add func(want int, s page.Sample)
	// oldest holds the oldest timestamp on the page for each wanted metric.
	oldest []page.Time
}

func newScratch() *scratch {
	c := &scratch{parser: page.New(page.Config{})}
	c.add = c.addValue
	return c
}

func (c *scratch) addValue(want int, s page.Sample) {
	c.values[want] = append(c.values[want], counter.Value{Series: s.Series, Value: s.Value})
	if oldest := &c.oldest[want]; s.Time.IsKnown && (!oldest.IsKnown || s.Time.Millis < oldest.Millis) {
		*oldest = s.Time
	}
}

// timeOf returns the time of a wanted metric's values: for a sum, that of its oldest part. It is an error if the
// timestamp is too old or in the future: the present value is unknown.
func (c *scratch) timeOf(want int, now time.Time) (time.Time, error) {
	oldest := c.oldest[want]
	if !oldest.IsKnown {
		return now, nil
	}
	at := time.UnixMilli(oldest.Millis)
	switch age := now.Sub(at); {
	case age > staleAfter:
		return at, errOld
	case age < -mostAhead:
		return at, errAhead
	}
	return at, nil
}

// call is a running scrape. Calls are pooled.
type call struct {
	source  *Source
	target  *target
	request fetch.Request
	// scratch is nil until the pod responds.
	scratch *scratch
}

func (s *Source) newCall() *call {
	c := &call{source: s}
	c.request = fetch.Request{Dial: c.dial, Accept: page.Accept, Buffer: c.buffer}
	return c
}

func (c *call) dial(ctx context.Context) (net.Conn, error) {
	return c.source.config.DialPod(ctx, c.target.address, c.target.isHostNetwork)
}

func (c *call) buffer() []byte {
	c.scratch, _ = c.source.scratches.Get().(*scratch)
	return c.scratch.body[:0]
}

// end releases the target and its credentials.
func (c *call) end() {
	if c.scratch != nil && cap(c.scratch.body) <= keptBytes {
		c.source.scratches.Put(c.scratch)
	}
	c.target, c.scratch = nil, nil
	c.request.TLS, c.request.ServerName, c.request.Authorization, c.request.Group = nil, "", "", ""
	c.source.calls.Put(c)
}

func (c *scratch) begin(wants int) {
	for len(c.values) < wants {
		c.values, c.oldest = append(c.values, nil), append(c.oldest, page.Time{})
	}
	for i := range c.values {
		c.values[i], c.oldest[i] = c.values[i][:0], page.Time{}
	}
}

// scrape reads a pod's page, reports new samples, and returns the cost.
func (s *Source) scrape(ctx context.Context, t *target) (cpu time.Duration, err error) {
	began := time.Now()
	w := t.page.wants.Load()
	c, _ := s.calls.Get().(*call)
	c.target = t
	defer c.end()
	t.isAwaited.Store(true)
	defer t.isAwaited.Store(false)
	cpu, err = c.read(ctx, w)
	if !isEnding(ctx) {
		now := time.Now()
		took := now.Sub(began)
		s.metrics.scraped(took, cpu, err)
		sampled, isNew := s.finish(now, t, w, outcome{c.scratch, cpu, took, err})
		if isNew {
			s.sampled(sampled)
		}
	}
	return cpu, err
}

// isEnding reports whether all scraping ends. A scrape that was cancelled for another has failed.
func isEnding(ctx context.Context) bool {
	return ctx.Err() != nil && errors.Is(context.Cause(ctx), context.Canceled)
}

// read requests the page and parses the wanted metrics. A panic of the parser on untrusted input must not end the
// process.
func (c *call) read(ctx context.Context, w *wants) (cpu time.Duration, err error) {
	t := c.target
	defer func() {
		if r := recover(); r != nil {
			// It counts as a failed scrape.
			panics.Report(r, c.source.config.Log, nil, "reading a pod's page failed", "pod", t.name, "namespace", t.namespace)
			c.scratch, err = nil, fmt.Errorf("%s: reading its page failed", t)
		}
	}()
	response, cpu, err := c.get(ctx)
	if c.scratch != nil {
		c.scratch.body = response.Body
	}
	if err != nil {
		return cpu, fmt.Errorf("%s: %w", t, err)
	}
	cpu += t.measure(len(response.Body), func() { err = c.scratch.parse(&response, w) })
	if err != nil {
		return cpu, fmt.Errorf("%s: its page: %w", t, err)
	}
	return cpu, nil
}

// measure parses a page, and returns the CPU that it took. Measuring costs as much as parsing a part of a small page.
// So only some of the small ones are measured, and the others are assumed to cost as much as the last one measured. The
// choice is random, so that no pod can make just the others costly.
func (t *target) measure(bytes int, read func()) time.Duration {
	if bytes < measuredBytes && t.isMeasured && rand.Uint32N(measuredOf) != 0 {
		read()
		return t.parsing
	}
	t.parsing, t.isMeasured = timing.CPUOf(read), true
	return t.parsing
}

func (c *scratch) parse(response *fetch.Response, w *wants) error {
	c.begin(len(w.page))
	format, err := page.FormatOf(response.ContentType)
	if err != nil {
		return err
	}
	body := response.Body
	if format == page.Text && response.IsOpenEnded && len(body) > 0 && !bytes.HasSuffix(body, []byte{'\n'}) {
		return page.ErrTruncated // its last number may be truncated
	}
	return c.parser.Read(format, response.Body, w.page, c.add)
}

// get reads the page into the scratch's buffer, and estimates the cost.
func (c *call) get(ctx context.Context) (fetch.Response, time.Duration, error) {
	t, r := c.target, &c.request
	material, err := t.page.auth.Latest(ctx)
	if err != nil {
		return fetch.Response{}, 0, err
	}
	r.Host, r.Path, r.Timeout, r.Group = t.host, t.page.place.Path, t.page.timeout(), t.page.object.key.Namespace
	r.TLS, r.Authorization = material.TLS, material.Authorization
	if material.TLS != nil {
		r.ServerName = t.address.Addr().String()
	}
	response, err := c.source.client.Get(ctx, &t.connection, r)
	cpu := exchangeCost + time.Duration(len(response.Body)>>10)*costPerKilobyte +
		time.Duration(response.Reads)*costPerRead + time.Duration(response.Overhead)*costPerOverhead
	if response.IsNew {
		cpu += connectCost
		if material.TLS != nil {
			cpu += handshakeCost
		}
	}
	return response, cpu, err
}

// outcome is the outcome of a scrape.
type outcome struct {
	// values are the values that were read; nil after an error.
	values    *scratch
	cpu, took time.Duration
	err       error
}

// finish adds the values to the histories.
func (s *Source) finish(now time.Time, t *target, w *wants, end outcome) (sampled Sampled, isNew bool) {
	p := t.page
	p.object.mu.Lock()
	defer p.object.mu.Unlock()
	if p.targets[t.pod] != t {
		return sampled, false // it was removed during the scrape
	}
	if t.scrapes > 0 {
		p.learn(&end) // the first one's connection is not typical
	}
	wasReporting := t.isReporting()
	t.failing, t.isSilent = end.err, end.err != nil
	if end.err == nil {
		t.scrapes++
		isNew = s.add(now, t, w, end.values)
	}
	if isReporting := t.isReporting(); isReporting && !wasReporting {
		p.reporting++
		s.config.Log.V(1).Info("scraping a pod succeeds", "pod", t.name, "namespace", t.namespace)
	} else if wasReporting && !isReporting {
		p.reporting--
		s.config.Log.V(1).Info("scraping a pod fails", "pod", t.name, "namespace", t.namespace, "err",
			t.failing.Error())
	}
	if !isNew || t.isAhead {
		return sampled, false
	}
	sampled = Sampled{Key: p.object.key, At: now, Before: t.sampled, Reporting: p.object.reportingLocked()}
	t.sampled = now
	return sampled, true
}

// learn updates the page's average cost and duration.
func (p *podPage) learn(end *outcome) {
	learn(&p.cost, end.cpu)
	if end.err == nil {
		learn(&p.took, end.took)
	}
}

func learn(average *time.Duration, value time.Duration) {
	switch {
	case value <= 0:
	case *average == 0:
		*average = value
	default:
		*average += (value - *average) / 16
	}
}

// plannedTook returns the average duration of a scrape, updated when the change is notable.
func (p *podPage) plannedTook() time.Duration {
	if change := p.took.Seconds()/max(p.planned.Seconds(), 1e-9) - 1; math.Abs(change) > notable {
		p.planned = p.took
	}
	return p.planned
}

// add adds the values to the histories, and reports whether one of them has a new sample.
func (s *Source) add(now time.Time, t *target, w *wants, c *scratch) (isNew bool) {
	if series := c.count(w); s.keep(t, series) {
		t.failing = nil
	} else {
		t.failing = errManySeries
		return false
	}
	for i, m := range w.metrics {
		at := i
		if t.page.wants.Load() != w {
			// The metrics have changed during the scrape.
			if at = slices.Index(t.page.metrics, m); at < 0 {
				continue
			}
		}
		taken, err := c.timeOf(i, now)
		if err != nil {
			t.failing = err
			continue
		}
		switch t.histories[at].Add(now, taken, c.values[i]) {
		case counter.Absent:
			t.failing = errAbsent
		case counter.Refused:
			t.failing = errValue
		case counter.Same:
		case counter.First, counter.Continued, counter.Restarted, counter.Interrupted, counter.ClockJumped:
			isNew = true
		}
	}
	return isNew
}

// count returns the number of series of rates, each of which a history keeps.
func (c *scratch) count(w *wants) int {
	n := 0
	for i, m := range w.metrics {
		if m.spec.IsRate {
			n += len(c.values[i])
		}
	}
	return n
}

// keep counts the series of the target. It returns false if there are too many, in all objects together and in its own.
func (s *Source) keep(t *target, series int) bool {
	total := s.reserve(t, series)
	return total <= maxSeries || series <= smallSeries || t.page.object.series <= maxSeries/s.count()
}

// reserve counts the series of a target, and returns the total of all.
func (s *Source) reserve(t *target, series int) (total int64) {
	added := series - t.series
	t.series += added
	t.page.object.series += added
	return s.budget.series.Add(int64(added))
}

func (s *Source) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return max(1, len(s.objects))
}
