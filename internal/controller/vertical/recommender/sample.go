package recommender

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/types"
	metricsv1beta1 "k8s.io/metrics/pkg/apis/metrics/v1beta1"

	"github.com/plimsoll-dev/plimsoll/internal/collect/kubelet/rate"
	"github.com/plimsoll-dev/plimsoll/internal/collect/podusage"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/recommend"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/usage"
	"github.com/plimsoll-dev/plimsoll/internal/observe"
	observevertical "github.com/plimsoll-dev/plimsoll/internal/observe/vertical"
)

const (
	// samplePeriod is how often use is sampled: the window that kubelets' counters are
	// averaged over.
	samplePeriod = 15 * time.Second
	// askPeriod is how often metrics.k8s.io is asked where it has to be; what it says
	// is seldom newer.
	askPeriod = 30 * time.Second
	// fewNamespaces are asked for one by one; beyond it one list has all.
	fewNamespaces = 3
)

// sampleAll samples until ctx ends.
func (r *Recommender) sampleAll(ctx context.Context) {
	ticker := time.NewTicker(min(samplePeriod, r.config.Interval))
	defer ticker.Stop()
	s := sampler{Recommender: r}
	s.round(ctx, time.Now())
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-ticker.C:
			s.round(ctx, now)
		}
	}
}

// sampler has the buffers of one round after the other.
type sampler struct {
	*Recommender
	pods   []*observe.Pod
	view   podusage.View
	tracks []*track
	// lacking are pods that nobody but metrics.k8s.io may know; asked is when it was.
	lacking []lacking
	asked   time.Time
}

type lacking struct {
	track *track
	pod   *observe.Pod
}

func (s *sampler) round(ctx context.Context, now time.Time) {
	s.mu.Lock()
	s.tracks = s.tracks[:0]
	for _, t := range s.sampled {
		s.tracks = append(s.tracks, t)
	}
	s.mu.Unlock()
	s.lacking = s.lacking[:0]
	for _, t := range s.tracks {
		s.pods = s.Recommender.pods.AppendPods(s.pods[:0], t.name)
		for _, pod := range s.pods {
			if isRunning(pod) && !s.look(now, t, pod) {
				s.lacking = append(s.lacking, lacking{t, pod})
			}
		}
	}
	if len(s.lacking) > 0 && now.Sub(s.asked) >= min(askPeriod, s.config.Interval) {
		s.asked = now
		s.ask(ctx, now)
	}
}

func isRunning(pod *observe.Pod) bool {
	return pod.Phase == metric.PhaseRunning && !pod.Deleting
}

// look samples a pod of which something is known without asking.
func (s *sampler) look(now time.Time, t *track, pod *observe.Pod) bool {
	if s.config.Direct == nil {
		return false
	}
	err := s.config.Direct.Look(now, []*observe.Pod{pod}, &s.view)
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.view.Refused() {
		if pod.Whole.HasContainer(c.Name) {
			t.refuse(source{pod.Whole.UID(), c.Name}, c.Refused)
		}
	}
	if err != nil {
		return false
	}
	containers := s.view.Containers(0)
	for i := range containers {
		c := &containers[i]
		if pod.Whole.HasContainer(c.Name) {
			s.take(now, t, source{pod.Whole.UID(), c.Name}, c)
		}
	}
	return len(containers) > 0
}

// noNumber is what is wrong with what a kubelet says that nothing can be: NaN, less
// than nothing.
const noNumber = "no amount"

// refuse notes what a kubelet said that cannot be.
func (t *track) refuse(from source, refused rate.Refused) {
	for r, is := range [vertical.Resources]bool{vertical.CPU: refused.Has(rate.RefusedCPU), vertical.Memory: refused.Has(rate.RefusedMemory)} {
		if is {
			t.refused[recommend.Discarded{Pod: from.pod, Container: from.container, Resource: vertical.Resource(r), Why: noNumber}] = struct{}{}
		}
	}
}

// take takes in a sample of a kubelet.
func (s *sampler) take(now time.Time, t *track, from source, c *rate.ContainerUsage) {
	if c.HasCPU {
		s.add(now, t, from, measured{vertical.CPU, vertical.Amount(c.CPU.MilliCores()), c.CPU.Span, c.CPU.End})
	}
	if c.HasMemory {
		s.add(now, t, from, measured{vertical.Memory, vertical.Amount(c.MemoryBytes), 0, c.CPU.End})
	}
}

// measured is one resource that was measured over some time until at.
type measured struct {
	resource vertical.Resource
	amount   vertical.Amount
	over     time.Duration
	at       time.Time
}

// add adds to the interval's sample what may be.
func (s *sampler) add(now time.Time, t *track, from source, m measured) {
	if why := s.config.Policy.Refuse(now, m.resource, m.amount, m.at); why != "" {
		t.refused[recommend.Discarded{Pod: from.pod, Container: from.container, Resource: m.resource, Why: why}] = struct{}{}
		return
	}
	t.summary(from).Add(m.resource, m.amount, m.over, m.at)
}

func (t *track) summary(from source) *usage.Summary {
	s := t.summaries[from]
	if s == nil {
		s = &usage.Summary{}
		t.summaries[from] = s
	}
	return s
}

// ask asks metrics.k8s.io for the pods that are lacking: each namespace, or once
// for all.
func (s *sampler) ask(ctx context.Context, now time.Time) {
	byName := map[types.NamespacedName][]lacking{}
	var namespaces []string
	for _, l := range s.lacking {
		if !slices.Contains(namespaces, l.pod.Namespace()) && len(namespaces) <= fewNamespaces {
			namespaces = append(namespaces, l.pod.Namespace())
		}
		name := types.NamespacedName{Namespace: l.pod.Namespace(), Name: l.pod.Name}
		byName[name] = append(byName[name], l)
	}
	if len(namespaces) > fewNamespaces {
		namespaces = []string{s.config.Namespace}
	}
	for _, namespace := range namespaces {
		list, err := s.config.Metrics.Resource(ctx, namespace, "")
		s.metrics.responses.WithLabelValues(strconv.FormatBool(err != nil), "metrics.k8s.io").Inc()
		if err != nil {
			s.log.V(1).Info("what pods use is not known", "namespace", namespace, "why", err.Error())
			continue
		}
		for i := range list.Items {
			item := &list.Items[i]
			s.takeMetrics(now, byName[types.NamespacedName{Namespace: item.Namespace, Name: item.Name}], item)
		}
	}
}

// takeMetrics takes in what metrics.k8s.io says of a pod. What it says of a pod
// before it, of the same name, ended before this one began.
func (s *sampler) takeMetrics(now time.Time, wanted []lacking, item *metricsv1beta1.PodMetrics) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, l := range wanted {
		if item.Timestamp.Time.Before(l.pod.StartTime) {
			continue
		}
		for i := range item.Containers {
			c := &item.Containers[i]
			if !l.pod.Whole.HasContainer(c.Name) {
				continue
			}
			from, use := source{l.pod.Whole.UID(), c.Name}, observevertical.AmountsOf(c.Usage)
			if amount, ok := use.Get(vertical.CPU); ok {
				s.add(now, l.track, from, measured{vertical.CPU, amount, item.Window.Duration, item.Timestamp.Time})
			}
			if amount, ok := use.Get(vertical.Memory); ok {
				s.add(now, l.track, from, measured{vertical.Memory, amount, 0, item.Timestamp.Time})
			}
		}
	}
}

// samples takes what was sampled of an object since the last whole pass, and what
// could not be, and forgets pods that are gone. Order is that of time, then of pods.
func (r *Recommender) samples(t *track, exists func(pod string) bool) (all []recommend.Sample, refused []recommend.Discarded) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for from, s := range t.summaries {
		sample := recommend.Sample{Pod: from.pod, Container: from.container}
		for res := range vertical.Resource(vertical.Resources) {
			amount, at, ok := s.Take(res)
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
		if !exists(from.pod) {
			delete(t.summaries, from)
		}
	}
	slices.SortFunc(all, inOrder)
	refused = slices.SortedFunc(maps.Keys(t.refused), func(a, b recommend.Discarded) int {
		return cmp.Or(cmp.Compare(a.Pod, b.Pod), cmp.Compare(a.Container, b.Container), cmp.Compare(a.Resource, b.Resource), cmp.Compare(a.Why, b.Why))
	})
	clear(t.refused)
	return all, refused
}
