// Package sampling measures what the containers of followed workloads use: from the
// kubelets where they are scraped, otherwise from metrics.k8s.io.
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

// Direct has what pods use without a request.
type Direct interface {
	Run(ctx context.Context, watch podusage.Watch)
	// Set collects these pods of the object from now on, and no others of it.
	Set(key observe.Key, pods []*observe.Pod)
	Latest(now time.Time, pods []*observe.Pod, v *podusage.View) error
	ReportMissing(now time.Time, pods []*observe.Pod, v *podusage.View)
}

var _ Direct = (*podusage.Subscription)(nil)

// Metrics is metrics.k8s.io; an empty namespace means all.
type Metrics interface {
	Resource(ctx context.Context, namespace, selector string) (*metricsv1beta1.PodMetricsList, error)
}

// Sources are where use is measured.
type Sources struct {
	// Direct may be nil; where it does not know enough, Metrics is asked.
	Direct  Direct
	Metrics Metrics
	// Contention may be nil.
	Contention Contention
}

// Config is what a sampler needs.
type Config struct {
	Sources
	Pods *podindex.Index
	// Policy says which samples are refused.
	Policy *recommend.Policy
	// Namespace is the only one that is sampled, all if it is empty.
	Namespace string
	// Interval is how often samples are taken.
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

	// mu guards what follows, and all objects.
	mu      sync.Mutex
	objects map[types.NamespacedName]*object
}

// object is what was sampled of one object's pods since it was last taken.
type object struct {
	name      types.NamespacedName
	summaries map[Source]*usage.Summary
	// refused are the samples that never got into a summary.
	refused map[recommend.Discarded]struct{}
}

// Source is a container of a pod.
type Source struct{ Pod, Container string }

// New makes a sampler that follows nothing. It starts nothing.
func New(config Config) *Sampler {
	return &Sampler{
		config: config, log: config.Log, objects: map[types.NamespacedName]*object{},
		contended: &contended{read: config.Contention, pods: config.Pods, log: config.Log},
	}
}

// Follow begins anew with the object's pods.
func (s *Sampler) Follow(name types.NamespacedName) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.objects[name] = &object{
		name: name, summaries: map[Source]*usage.Summary{}, refused: map[recommend.Discarded]struct{}{},
	}
}

// Forget forgets what was sampled of the object's pods, which are not collected any more.
func (s *Sampler) Forget(name types.NamespacedName) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.objects, name)
	s.collect(name, nil)
}

// collect has these pods of the object collected from now on, and no others of it.
func (s *Sampler) collect(name types.NamespacedName, pods []*observe.Pod) {
	if s.config.Direct != nil {
		s.config.Direct.Set(observe.VPA(name), pods)
	}
}

// Sampled is how many containers of the object's pods have samples, or had since pods
// were last forgotten.
func (s *Sampler) Sampled(name types.NamespacedName) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if o := s.objects[name]; o != nil {
		return len(o.summaries)
	}
	return 0
}

// Add adds what a container of a pod used over some time until at, unless the
// object is not followed.
func (s *Sampler) Add(now time.Time, name types.NamespacedName, from Source, m Measured) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if o := s.objects[name]; o != nil {
		s.add(now, o, from, m)
	}
}

// Run samples until ctx ends.
func (s *Sampler) Run(ctx context.Context) {
	var beside sync.WaitGroup
	defer beside.Wait()
	if s.config.Direct != nil {
		watch := podusage.Watch{Nodes: s.config.Pods.Nodes, Moved: s.config.Pods.Moved()}
		beside.Go(func() { s.config.Direct.Run(ctx, watch) })
	}
	if s.config.Contention != nil {
		beside.Go(func() { s.contended.run(ctx, s.config.Interval) })
	}
	s.sampleAll(ctx)
}

// samplePeriod is how often use is sampled: the window that kubelets' counters are
// averaged over.
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

// rounds has the buffers of one round after the other.
type rounds struct {
	*Sampler
	pods    []*observe.Pod
	view    podusage.View
	sampled []*object
	// lacking are pods that only metrics.k8s.io may know; asked is when it was queried.
	lacking []lacking
	asked   time.Time
}

type lacking struct {
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
	r.lacking = r.lacking[:0]
	for _, o := range r.sampled {
		r.pods = r.config.Pods.AppendPods(r.pods[:0], observe.VPA(o.name))
		r.follow(o)
		for _, pod := range r.pods {
			if isRunning(pod) && !r.sample(now, o, pod) {
				r.lacking = append(r.lacking, lacking{o, pod})
			}
		}
	}
	if len(r.lacking) > 0 && now.Sub(r.asked) >= min(askPeriod, r.config.Interval) {
		r.asked = now
		r.ask(ctx, now)
	}
}

// follow has the pods of this round collected, unless the object was forgotten meanwhile.
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

// sample samples a pod; false if nothing is known of it without asking.
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

// noNumber is what is wrong with what a kubelet says that nothing can be: NaN, less
// than nothing.
const noNumber = "no amount"

// refuse notes what a kubelet said that cannot be.
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
		// First what it was between two rounds, where samples are denser: a summary takes none that is older than its last.
		s.add(now, o, from, Measured{vertical.Memory, vertical.Amount(c.MostMemoryBytes), 0, c.MostMemoryAt})
		s.add(now, o, from, Measured{vertical.Memory, vertical.Amount(c.MemoryBytes), 0, c.CPU.End})
	}
}

// Measured is one resource that was measured over some time until At.
type Measured struct {
	Resource vertical.Resource
	Amount   vertical.Amount
	Over     time.Duration
	At       time.Time
}

// add adds to the interval's sample what may be.
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

// Take takes what was sampled of an object since it was last called, and what could not
// be, and forgets pods that are gone. Order is that of time, then of pods.
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
