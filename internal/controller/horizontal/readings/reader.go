package readings

import (
	"context"
	"errors"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/plimsoll-dev/plimsoll/internal/collect/podusage"
	"github.com/plimsoll-dev/plimsoll/internal/controller/horizontal/readings/own"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric"
	"github.com/plimsoll-dev/plimsoll/internal/observe"
	observehorizontal "github.com/plimsoll-dev/plimsoll/internal/observe/horizontal"
)

// readAgainAfter is the longest wait for metrics APIs after which Plimsoll's own sources need not be read again.
const readAgainAfter = 10 * time.Millisecond

// New returns a Reader. It makes no request.
func New(cfg *Config) *Reader {
	return &Reader{Config: *cfg, Early: rate.NewLimiter(EarlyPerSecond, EarlyBurst)}
}

// Watch has the nodes to scrape and the callbacks for new values.
type Watch struct {
	// Nodes appends the nodes to scrape; Moved has an element when they have changed.
	Nodes func(dst []string) []string
	Moved <-chan struct{}
	// Sampled is called after each scrape of a node with new samples.
	Sampled func(NodeSampled)
	// Own has the callbacks of Plimsoll's own sources.
	Own own.Watch
}

// Collect scrapes kubelets and reads the other sources until ctx ends; wait blocks until both have stopped.
func (r *Reader) Collect(ctx context.Context, w Watch) (wait func()) {
	var collecting sync.WaitGroup
	if r.Direct != nil {
		collecting.Go(func() {
			r.Direct.Run(ctx, podusage.Watch{Nodes: w.Nodes, Moved: w.Moved, Sampled: w.Sampled})
		})
	}
	collecting.Go(func() { r.Own.Run(ctx, w.Own) })
	return collecting.Wait
}

// SetPods replaces the pods of the object whose nodes are scraped; none if decisions do not need them.
func (r *Reader) SetPods(key observe.Key, pods []*observe.Pod) {
	if r.Direct != nil {
		r.Direct.Set(key, pods)
	}
}

// Wait waits for the requests in progress.
func (r *Reader) Wait() { r.requests.Wait() }

// Forget drops a deleted object.
func (r *Reader) Forget(key observe.Key, of *Record) {
	if key.Kind == observe.WorkloadAutoscaler {
		r.Own.Set(key, nil)
	}
	r.SetPods(key, nil)
	of.cached.end()
	r.setFallback(of, fallbackUnknown)
	r.setUnreadable(of, 0)
}

// None returns the readings of a decision that needs none.
func None(p *horizontal.Policy) []metric.Reading { return make([]metric.Reading, len(p.Metrics)) }

// Awaited returns readings that are all pending: a decision on them lowers nothing.
func Awaited(p *horizontal.Policy) []metric.Reading {
	all := make([]metric.Reading, len(p.Metrics))
	for i := range all {
		all[i].Pending = true
	}
	return all
}

// Read reads all metrics into result. It fails only with ErrTooEarly, or when ctx ends.
func (r *Reader) Read(ctx context.Context, d *Decision, result *Result) error {
	q := newCollection(len(d.Policy.Metrics))
	fallback, why := r.useSamples(d, q, result)
	r.readOwn(d, q)
	result.HasKubelets = fallback == noFallback
	result.HasSamples = result.HasKubelets || d.Own != nil && !hasResource(d.Policy)
	result.IsDirect = q.isComplete() && result.HasSamples
	if q.isComplete() {
		d.Record.cached.release(d.Start.Add(-max(r.SyncPeriod, FallbackPeriod)))
	} else {
		began := time.Now()
		if err := r.request(ctx, d, q, fallback, result.HasSamples); err != nil {
			return err
		}
		if time.Since(began) > readAgainAfter {
			r.readOwn(d, q)
		}
	}
	if r.readsKubelets(d) {
		r.reportFallback(d, result, fallback, why)
	}
	result.IsNewerAwaited = fallback == samplesAwaited
	r.useReadablePods(d, q, result, fallback)
	if r.readsKubelets(d) {
		r.reportUnreadable(d, result)
	}
	translate, readings := &d.Scratch.answers, d.Scratch.readings[:0]
	translate.Reset(d.Policy, d.Pods)
	translate.LeaveOutOthers(d.Autoscaler.SelectsByOwner())
	for i := range q.answers {
		if d.Own.Has(i) {
			readings = append(readings, d.Scratch.own.Reading(i, translate))
			continue
		}
		readings = append(readings, q.answers[i].reading(translate, i))
	}
	d.Scratch.readings = readings
	result.Readings, result.answers = readings, q.answers
	return nil
}

// readOwn reads the latest values of the metrics that Plimsoll reads itself.
func (r *Reader) readOwn(d *Decision, q *collection) {
	if d.Own == nil {
		return
	}
	of := own.Query{Key: d.Autoscaler.Key(), Specs: d.Own, Pods: d.Pods, Others: d.Others}
	r.Own.Latest(time.Now(), &of, &d.Scratch.own)
	for i := range d.Own {
		q.known[i] = q.known[i] || d.Own.Has(i)
	}
}

func (a *answer) reading(translate *observehorizontal.Answers, i int) metric.Reading {
	if a.usage != nil {
		return translate.Measured(i, a.usage)
	}
	if errors.Is(a.Err, errAwaited) {
		return metric.Reading{Pending: true}
	}
	reading := translate.Reading(i, &a.Response)
	reading.Asked = a.asked
	return reading
}
