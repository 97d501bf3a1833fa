package recommender

import (
	"cmp"
	"context"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	vpav1 "github.com/plimsoll-dev/plimsoll/api/autoscaling/v1"
	"github.com/plimsoll-dev/plimsoll/internal/controller/vertical/recommender/checkpoints"
	"github.com/plimsoll-dev/plimsoll/internal/controller/vertical/recommender/oom"
	"github.com/plimsoll-dev/plimsoll/internal/controller/vertical/recommender/sampling"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/recommend"
	"github.com/plimsoll-dev/plimsoll/internal/kube/podindex"
	"github.com/plimsoll-dev/plimsoll/internal/observe"
	observevertical "github.com/plimsoll-dev/plimsoll/internal/observe/vertical"
	"github.com/plimsoll-dev/plimsoll/internal/panics"
)

// passes decides objects and writes the results. One pass runs at a time.
type passes struct {
	config   *Config
	series   *Series
	statuses *statusWriter
	// Informers and the sampler update these between passes, too.
	pods    *podindex.Index
	ooms    *oom.Watcher
	sampler *sampling.Sampler

	tracks      *tracks
	checkpoints *checkpoints.Store
	// history is nil if checkpoints have the past.
	history *pastUse
	// unreadable has the objects of the last pass whose specs could not be read.
	unreadable []*vpav1.VerticalPodAutoscaler
	// hasPassed is set after the first pass.
	hasPassed bool
}

// newPasses wires the parts of a pass. They call wake when a container ran out of memory.
func newPasses(cfg *Config, wake func()) (*passes, error) {
	series, err := NewSeries(cfg.Registerer)
	if err != nil {
		return nil, err
	}
	p := &passes{
		config: cfg, series: series, tracks: newTracks(),
		pods: podindex.New(), ooms: oom.NewWatcher(cfg.Pods.Pod, cfg.Policy.Usage.Divergences, wake),
	}
	p.statuses = &statusWriter{
		Client: cfg.Store, Events: cfg.Events, Log: cfg.Log, Workers: cfg.Workers, Recommended: series.Recommended,
		Guard: p.guard,
	}
	p.checkpoints = checkpoints.NewStore(checkpoints.Config{
		Client: cfg.Store, VPAs: cfg.Objects.GetStore(), Autoscalers: p.tracks, Namespace: cfg.Namespace,
		IsIgnored: cfg.isIgnored, Policy: &cfg.Policy, CollectInterval: cfg.CollectInterval,
		FlushTimeout: cfg.FlushTimeout, Workers: cfg.Workers, Log: cfg.Log,
	})
	if cfg.History != nil {
		p.history = &pastUse{Source: cfg.History, Log: cfg.Log}
	}
	p.sampler = sampling.New(sampling.Config{
		Sources: cfg.Sources, Pods: p.pods, Policy: &cfg.Policy, Namespace: cfg.Namespace, Interval: cfg.Interval,
		Responded: series.Responded, Log: cfg.Log,
	})
	return p, nil
}

// begin reads the history; it returns false if ctx ended before that.
func (p *passes) begin(ctx context.Context) bool {
	if p.history == nil {
		return p.checkpoints.Read(ctx)
	}
	var namespaces []string
	for _, object := range p.config.objects() {
		namespaces = append(namespaces, object.Namespace)
	}
	slices.Sort(namespaces)
	return p.history.Read(ctx, slices.Compact(namespaces))
}

// end saves the history at the end of the process.
func (p *passes) end(ctx context.Context) {
	if p.history == nil {
		p.checkpoints.Flush(ctx)
	}
}

// scope says which objects a pass decides: all, or the named ones. A pass always decides those whose containers ran out
// of memory.
type scope struct {
	isWhole bool
	named   map[types.NamespacedName]struct{}
}

func (s scope) has(name types.NamespacedName) bool {
	_, isNamed := s.named[name]
	return s.isWhole || isNamed
}

func (p *passes) pass(ctx context.Context, now time.Time, of scope) {
	timer := p.series.StartTimer()
	works := p.load(ctx, now, of)
	timer.Step("LoadVPAs")
	ooms := p.tracks.assign(p.ooms.Take())
	works = slices.DeleteFunc(works, func(w *work) bool {
		return !of.has(w.track.name) && len(ooms[w.track.name]) == 0
	})
	decided := make([]*work, 0, len(works))
	for _, w := range works {
		p.guard(w.track.name, func() {
			p.decide(now, w, ooms[w.track.name])
			decided = append(decided, w)
		})
	}
	timer.Step("LoadMetrics")
	statuses := make([]statusUpdate, len(decided))
	for i, w := range decided {
		statuses[i] = statusUpdate{VPA: w.object, Decision: &w.decision}
	}
	p.statuses.Write(ctx, statuses)
	p.statuses.WriteUnreadable(ctx, p.unreadable)
	timer.Step("UpdateVPAs")
	saves := p.save(ctx, now, decided)
	for i, w := range decided {
		w.track.state = recommend.Settle(&w.policy, w.track.state,
			recommend.Outcome{At: now, Written: statuses[i].Written, Saved: saves[i].Saved})
	}
	timer.Step("MaintainCheckpoints")
	if of.isWhole {
		p.finish(ctx, now)
		timer.Step("GarbageCollect")
		p.report(works)
	}
	timer.Total()
	p.hasPassed = true
}

// save writes the checkpoints of the decided objects.
func (p *passes) save(ctx context.Context, now time.Time, decided []*work) []checkpoints.Update {
	updates := make([]checkpoints.Update, len(decided))
	for i, w := range decided {
		updates[i] = checkpoints.Update{Autoscaler: w.track.saved(), Policy: &w.policy, HadOOM: w.hadOOM}
	}
	if p.history == nil {
		p.checkpoints.Save(ctx, now, updates)
	}
	return updates
}

// finish frees and deletes histories that no object needs, after a pass over all.
func (p *passes) finish(ctx context.Context, now time.Time) {
	// Keep the checkpoints of an object that cannot be read yet.
	p.checkpoints.ForgetUnclaimed(p.unreadable)
	if p.history == nil {
		p.checkpoints.Collect(ctx, now)
		return
	}
	p.history.Forget()
}

// report updates the series after a pass over all objects.
func (p *passes) report(works []*work) {
	outcomes := make([]outcomeOfPass, len(works))
	for i, w := range works {
		outcomes[i] = w.outcome()
	}
	p.series.Passed(outcomes)
}

// load lists the objects that this recommender is responsible for, in the order of their names, and looks up their
// pods.
func (p *passes) load(ctx context.Context, now time.Time, of scope) []*work {
	present := map[types.NamespacedName]struct{}{}
	all := p.config.objects()
	for _, object := range all {
		present[nameOf(object)] = struct{}{}
	}
	readable := p.readable(all)
	p.sweep(now, present)
	slices.SortFunc(readable, func(a, b *vpav1.VerticalPodAutoscaler) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	sharedTargets := sharedTargets(readable)
	var works, toLookUp []*work
	for _, object := range readable {
		w := &work{object: object, track: p.track(now, object), isWhole: of.isWhole}
		w.track.sharedTarget = sharedTargets[w.track.name]
		works = append(works, w)
		if of.has(w.track.name) || !w.track.isDecided {
			toLookUp = append(toLookUp, w)
		}
	}
	p.config.Targets.Await(ctx, references(toLookUp))
	for _, w := range toLookUp {
		w.track.lookup = recommend.Lookup{Problem: "Cannot read targetRef", Transient: true}
		p.guard(w.track.name, func() { w.track.lookup = p.lookup(w) })
	}
	for _, w := range works {
		w.lookup = w.track.lookup
	}
	return works
}

// readable returns the objects whose specs could be read. The others keep their history, and are not decided.
func (p *passes) readable(objects []*vpav1.VerticalPodAutoscaler) []*vpav1.VerticalPodAutoscaler {
	p.unreadable = nil
	return slices.DeleteFunc(objects, func(object *vpav1.VerticalPodAutoscaler) bool {
		if object.Unreadable == "" {
			return false
		}
		p.unreadable = append(p.unreadable, object)
		return true
	})
}

// sweep drops deleted objects.
func (p *passes) sweep(now time.Time, present map[types.NamespacedName]struct{}) {
	for _, name := range p.tracks.sweep(now, present) {
		p.pods.Delete(observe.VPA(name))
		p.sampler.Forget(name)
		p.checkpoints.Forget(name)
		p.series.Forget(name)
	}
}

// track returns the object's track. One that is new starts with its checkpoints.
func (p *passes) track(now time.Time, object *vpav1.VerticalPodAutoscaler) *track {
	t, isNew := p.tracks.of(now, object)
	if isNew {
		p.pods.Delete(observe.VPA(t.name)) // they may belong to another workload
		t.state = p.checkpoints.Restore(now, t.name)
		p.sampler.Follow(t.name)
	}
	return t
}

// lookup finds the workload's pods. While that fails, it returns the pods of the last lookup, whose samples and windows
// continue: upstream's samples belong to labels and not to objects.
func (p *passes) lookup(w *work) recommend.Lookup {
	target, lookup := targetOf(p.config.Targets, w.object)
	if lookup.Problem != "" {
		return lookup
	}
	t := w.track
	p.tracks.found(t, target.UID)
	t.selector = target.Selector
	p.pods.SetSelector(observe.VPA(t.name), podindex.SelectorOf(target.Selector))
	p.pods.Follow(observe.VPA(t.name), true)
	return lookup
}

func (p *passes) decide(now time.Time, w *work, ooms []recommend.OOM) {
	w.policy = p.policy(w.object)
	if !w.track.isDecided {
		p.restore(now, w)
	}
	o, names := p.observe(w, ooms)
	if p.config.Conflicts != nil {
		o.Conflicts, o.SkipsConflicts = p.config.Conflicts(w.object, names), p.config.SkipsConflicts
	}
	o.Findings = w.track.checks.Of(now, workloadFacts{
		VPA: w.object, Policies: w.policy.Containers, SharedTarget: w.track.sharedTarget, Containers: w.containers,
		IsRunning: w.isRunning, Interval: p.config.Interval,
	}, &o)
	decision, state := recommend.Decide(now, w.policy, w.track.state, o)
	w.decision, w.track.state = decision, state
	w.track.isDecided = true
	log, name := p.config.Log.V(1), w.track.name.String()
	for _, d := range decision.Discarded {
		log.Info("sample discarded", "object", name, "container", d.Container,
			"resource", d.Resource.String(), "reason", d.Why)
	}
	log.Info("decided", "object", name, "pods", w.pods, "samples", len(o.Samples), "ooms", len(o.OOMs),
		"problem", o.Lookup.Problem, "write", decision.Write.String())
}

// policy combines the flags with the object's settings.
func (p *passes) policy(object *vpav1.VerticalPodAutoscaler) recommend.Policy {
	return observevertical.RecommendPolicyOf(object, observevertical.RecommendFlags{
		Policy: p.config.Policy, NoOverrides: p.config.NoOverrides, IntegerCPU: p.config.IntegerCPU,
	})
}

// restore adds the history to a new object's state, and, in the first pass, its status.
func (p *passes) restore(now time.Time, w *work) {
	t := w.track
	if p.history != nil && t.selector != nil {
		if o := p.history.Of(w.object.Namespace, t.selector); len(o.Samples) > 0 {
			_, t.state = recommend.Decide(now, w.policy, t.state, o)
			p.config.Log.V(1).Info("history loaded", "object", t.name.String(), "pods", len(o.Pods),
				"samples", len(o.Samples))
		}
	}
	if !p.hasPassed {
		t.state = t.state.Resume(&w.policy, now, observevertical.PublishedOf(&w.object.Status))
	}
}

// observe returns the inputs of a decision, and the names of the containers.
func (p *passes) observe(w *work, ooms []recommend.OOM) (recommend.Observation, []string) {
	o := recommend.Observation{
		Lookup: w.lookup, Generation: w.object.Generation, OOMs: ooms,
		Published: observevertical.PublishedOf(&w.object.Status),
	}
	var names []string
	if w.track.selector != nil {
		names = w.observePods(p.pods.Pods(observe.VPA(w.track.name)), &o)
	}
	w.hadOOM = len(o.OOMs) > 0
	if w.hadOOM {
		p.series.OutOfMemory(w.track.name, len(o.OOMs))
	}
	if w.isWhole {
		o.Samples, o.Refused = p.sampler.Take(w.track.name, exists(&o))
	}
	slices.SortStableFunc(o.OOMs, func(a, b recommend.OOM) int { return a.At.Compare(b.At) })
	return o, names
}

// guard recovers from a panic in do, so that one object does not stop the pass over the others.
func (p *passes) guard(about types.NamespacedName, do func()) {
	defer func() {
		if cause := recover(); cause != nil {
			panics.Report(cause, p.config.Log, p.series.Panicked, "an object could not be decided", "object", about.String())
		}
	}()
	do()
}
