// Package sampling measures the use of the containers of followed workloads: by kubelets if they are scraped, otherwise
// by metrics.k8s.io.
package sampling

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/types"
	metricsv1beta1 "k8s.io/metrics/pkg/apis/metrics/v1beta1"

	"github.com/plimsoll-dev/plimsoll/internal/collect/kubelet/rate"
	"github.com/plimsoll-dev/plimsoll/internal/collect/podusage"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/recommend"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/usage"
	"github.com/plimsoll-dev/plimsoll/internal/kube/podindex"
	"github.com/plimsoll-dev/plimsoll/internal/observe"
)

// Direct has the samples of the nodes. Reading them takes no request.
type Direct interface {
	Run(ctx context.Context, watch podusage.Watch)
	// Set replaces the pods that are collected for the object.
	Set(key observe.Key, pods []*observe.Pod)
	Latest(now time.Time, pods []*observe.Pod, v *podusage.View) error
	ReportMissing(now time.Time, pods []*observe.Pod, v *podusage.View)
}

var _ Direct = (*podusage.Subscription)(nil)

// Metrics reads metrics.k8s.io; an empty namespace means all.
type Metrics interface {
	Resource(ctx context.Context, namespace, selector string) (*metricsv1beta1.PodMetricsList, error)
}

// Sources measure the use of containers.
type Sources struct {
	// Direct may be nil; Metrics has the pods that it lacks.
	Direct  Direct
	Metrics Metrics
	// Contention may be nil.
	Contention Contention
}

// Config configures a Sampler.
type Config struct {
	Sources
	Pods *podindex.Index
	// Policy refuses implausible samples.
	Policy *recommend.Policy
	// Namespace restricts the samples to one namespace; empty means all.
	Namespace string
	// Interval is the time between two calls of Take for an object.
	Interval time.Duration
	// Responded is called for each response of metrics.k8s.io.
	Responded func(err error)
	Log       logr.Logger
}

// Sampler samples the pods of the followed objects.
type Sampler struct {
	config    Config
	log       logr.Logger
	contended *contended

	// mu guards the following, and all objects.
	mu      sync.Mutex
	objects map[types.NamespacedName]*object
}

// object has the samples of one object's pods since the last Take.
type object struct {
	name      types.NamespacedName
	summaries map[Source]*usage.Summary
	// refused has the samples that no summary includes.
	refused map[recommend.Discarded]struct{}
}

// Source is a container of a pod.
type Source struct{ Pod, Container string }

// New returns a Sampler that follows nothing. It starts nothing.
func New(config Config) *Sampler {
	return &Sampler{
		config: config, log: config.Log, objects: map[types.NamespacedName]*object{},
		contended: &contended{read: config.Contention, pods: config.Pods, log: config.Log},
	}
}

// Follow starts to sample the object's pods, without earlier samples.
func (s *Sampler) Follow(name types.NamespacedName) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.objects[name] = &object{
		name: name, summaries: map[Source]*usage.Summary{}, refused: map[recommend.Discarded]struct{}{},
	}
}

// Forget drops the samples of the object's pods, and stops collecting them.
func (s *Sampler) Forget(name types.NamespacedName) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.objects, name)
	s.collect(name, nil)
}

// collect replaces the pods that Direct collects for the object.
func (s *Sampler) collect(name types.NamespacedName, pods []*observe.Pod) {
	if s.config.Direct != nil {
		s.config.Direct.Set(observe.VPA(name), pods)
	}
}

// Sampled returns the number of containers of the object's pods that have samples, or had since pods were last dropped.
func (s *Sampler) Sampled(name types.NamespacedName) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if o := s.objects[name]; o != nil {
		return len(o.summaries)
	}
	return 0
}

// Add adds a measurement of a container, unless the object is not followed.
func (s *Sampler) Add(now time.Time, name types.NamespacedName, from Source, m Measured) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if o := s.objects[name]; o != nil {
		s.add(now, o, from, m)
	}
}

// Run samples until ctx ends.
func (s *Sampler) Run(ctx context.Context) {
	var background sync.WaitGroup
	defer background.Wait()
	if s.config.Direct != nil {
		watch := podusage.Watch{Nodes: s.config.Pods.Nodes, Moved: s.config.Pods.Moved()}
		background.Go(func() { s.config.Direct.Run(ctx, watch) })
	}
	if s.config.Contention != nil {
		background.Go(func() { s.contended.run(ctx, s.config.Interval) })
	}
	s.sampleAll(ctx)
}

// samplePeriod is the time between two samples: the window over which the counters of kubelets are averaged.
const samplePeriod = 15 * time.Second

func (s *Sampler) sampleAll(ctx context.Context) {
	ticker := time.NewTicker(min(samplePeriod, s.config.Interval))
	defer ticker.Stop()
	r := rounds{Sampler: s}
	r.round(ctx, time.Now())
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-ticker.C:
			r.round(ctx, now)
		}
	}
}

// rounds has the buffers that the rounds share.
type rounds struct {
	*Sampler
	pods    []*observe.Pod
	view    podusage.View
	sampled []*object
	// missing has the pods without samples of their nodes; requested is when metrics.k8s.io was last requested.
	missing   []missing
	requested time.Time
}

type missing struct {
	object *object
	pod    *observe.Pod
}

func (r *rounds) round(ctx context.Context, now time.Time) {
	r.mu.Lock()
	r.sampled = r.sampled[:0]
	for _, o := range r.objects {
		r.sampled = append(r.sampled, o)
	}
	r.mu.Unlock()
	r.missing = r.missing[:0]
	for _, o := range r.sampled {
		r.pods = r.config.Pods.AppendPods(r.pods[:0], observe.VPA(o.name))
		r.follow(o)
		for _, pod := range r.pods {
			if isRunning(pod) && !r.sample(now, o, pod) {
				r.missing = append(r.missing, missing{o, pod})
			}
		}
	}
	if len(r.missing) > 0 && now.Sub(r.requested) >= min(requestPeriod, r.config.Interval) {
		r.requested = now
		r.request(ctx, now)
	}
}

// follow collects the pods of this round, unless the object was dropped meanwhile.
func (r *rounds) follow(o *object) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.objects[o.name] == o {
		r.collect(o.name, r.pods)
	}
}

func isRunning(pod *observe.Pod) bool {
	return pod.Phase == metric.PhaseRunning && !pod.Deleting
}

// sample samples a pod; false if only a request could have its use.
func (r *rounds) sample(now time.Time, o *object, pod *observe.Pod) bool {
	if r.config.Direct == nil {
		return false
	}
	pods := []*observe.Pod{pod}
	err := r.config.Direct.Latest(now, pods, &r.view)
	r.config.Direct.ReportMissing(now, pods, &r.view)
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range r.view.Refused() {
		if pod.Whole.HasContainer(c.Name) {
			o.refuse(Source{pod.Whole.UID(), c.Name}, c.Refused)
		}
	}
	if err != nil {
		return false
	}
	containers := r.view.Containers(0)
	for i := range containers {
		c := &containers[i]
		if pod.Whole.HasContainer(c.Name) {
			r.take(now, o, Source{pod.Whole.UID(), c.Name}, c)
		}
	}
	return len(containers) > 0
}

// noNumber is the problem of an impossible value in a kubelet's response: NaN, or negative.
const noNumber = "no amount"

// refuse records an impossible value in a kubelet's response.
func (o *object) refuse(from Source, refused rate.Refused) {
	for r, is := range [vertical.Resources]bool{
		vertical.CPU: refused.Has(rate.RefusedCPU), vertical.Memory: refused.Has(rate.RefusedMemory),
	} {
		if is {
			o.refused[recommend.Discarded{
				Pod: from.Pod, Container: from.Container, Resource: vertical.Resource(r), Why: noNumber,
			}] = struct{}{}
		}
	}
}

// take records a sample of a kubelet.
func (s *Sampler) take(now time.Time, o *object, from Source, c *rate.ContainerUsage) {
	if c.HasCPU {
		s.add(now, o, from, Measured{vertical.CPU, vertical.Amount(c.CPU.MilliCores()), c.CPU.Span, c.CPU.End})
	}
	if c.HasMemory {
		// First the highest use between two rounds, for which there are more samples: a summary takes none that is older than
		// its last.
		s.add(now, o, from, Measured{vertical.Memory, vertical.Amount(c.MostMemoryBytes), 0, c.MostMemoryAt})
		s.add(now, o, from, Measured{vertical.Memory, vertical.Amount(c.MemoryBytes), 0, c.CPU.End})
	}
}

// Measured is the use of one resource over some time until At.
type Measured struct {
	Resource vertical.Resource
	Amount   vertical.Amount
	Over     time.Duration
	At       time.Time
}

// add adds a measurement to the interval's sample, unless the policy refuses it.
func (s *Sampler) add(now time.Time, o *object, from Source, m Measured) {
	if why := s.config.Policy.Refuse(now, m.Resource, m.Amount, m.At); why != "" {
		o.refused[recommend.Discarded{Pod: from.Pod, Container: from.Container, Resource: m.Resource, Why: why}] = struct{}{}
		return
	}
	o.summary(from).Add(m.Resource, m.Amount, m.Over, m.At)
}

func (o *object) summary(from Source) *usage.Summary {
	s := o.summaries[from]
	if s == nil {
		s = &usage.Summary{}
		o.summaries[from] = s
	}
	return s
}

// Take returns the samples of an object since the last call, and the refused ones, and drops pods that are gone. The
// samples are in the order of time, then of pods.
func (s *Sampler) Take(
	name types.NamespacedName, exists func(pod string) bool,
) (all []recommend.Sample, refused []recommend.Discarded) {
	s.mu.Lock()
	defer s.mu.Unlock()
	o := s.objects[name]
	if o == nil {
		return nil, nil
	}
	for from, summary := range o.summaries {
		sample := recommend.Sample{Pod: from.Pod, Container: from.Container}
		for res := range vertical.Resource(vertical.Resources) {
			amount, at, ok := summary.Take(res)
			if !ok {
				continue
			}
			sample.Use = sample.Use.With(res, amount)
			if at.After(sample.At) {
				sample.At = at
			}
		}
		if !sample.Use.IsEmpty() {
			all = append(all, sample)
		}
		if !exists(from.Pod) {
			delete(o.summaries, from)
		}
	}
	slices.SortFunc(all, InOrder)
	refused = slices.SortedFunc(maps.Keys(o.refused), func(a, b recommend.Discarded) int {
		return cmp.Or(cmp.Compare(a.Pod, b.Pod), cmp.Compare(a.Container, b.Container), cmp.Compare(a.Resource, b.Resource),
			cmp.Compare(a.Why, b.Why))
	})
	clear(o.refused)
	s.contended.addTo(all, name)
	return all, refused
}

// InOrder compares samples by time, then by pod and container.
func InOrder(a, b recommend.Sample) int {
	return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.Pod, b.Pod), cmp.Compare(a.Container, b.Container))
}
