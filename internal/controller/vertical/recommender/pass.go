package recommender

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"runtime/debug"
	"slices"
	"time"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	vpav1 "github.com/plimsoll-dev/plimsoll/api/autoscaling/v1"
	"github.com/plimsoll-dev/plimsoll/internal/controller/vertical/recommender/oom"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/divergence"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/recommend"
	"github.com/plimsoll-dev/plimsoll/internal/kube/ownership"
	"github.com/plimsoll-dev/plimsoll/internal/kube/podindex"
	observevertical "github.com/plimsoll-dev/plimsoll/internal/observe/vertical"
)

// work is one object in one pass.
type work struct {
	object   *vpav1.VerticalPodAutoscaler
	track    *track
	lookup   recommend.Lookup
	policy   recommend.Policy
	decision recommend.Decision
	// decided is false where that was not possible.
	decided bool
	written bool
	saved   []string
	// pods counts the workload's.
	pods int
	// isWhole is set in passes over all objects.
	isWhole bool
	// isRunning is set when a pod has been running.
	isRunning bool
	// hadOOM is set when a container ran out of memory.
	hadOOM bool
}

// pass decides the objects, only those that are named if there are names, or whose
// containers ran out of memory.
func (r *Recommender) pass(ctx context.Context, now time.Time, only map[types.NamespacedName]struct{}) {
	timer := r.metrics.timer()
	works := r.load(ctx, now, only)
	timer.step("LoadVPAs")
	ooms := r.takeOOMs()
	works = slices.DeleteFunc(works, func(w *work) bool {
		_, isNamed := only[w.track.name]
		return only != nil && !isNamed && len(ooms[w.track.name]) == 0
	})
	for _, w := range works {
		r.safely(w.track.name, func() { r.decide(now, w, ooms[w.track.name]) })
	}
	timer.step("LoadMetrics")
	statuses := statusWriter{config: &r.config, log: r.log, metrics: r.metrics}
	statuses.write(ctx, works)
	r.writeUnreadable(ctx, statuses)
	timer.step("UpdateVPAs")
	r.checkpoints.save(ctx, now, works)
	for _, w := range works {
		if w.decided {
			w.track.state = recommend.Settle(&w.policy, w.track.state,
				recommend.Outcome{At: now, Written: w.written, Saved: w.saved})
		}
	}
	timer.step("MaintainCheckpoints")
	if only == nil {
		r.forgetUnclaimed()
		r.past = nil
		r.checkpoints.collect(ctx, now)
		timer.step("GarbageCollect")
		r.metrics.count(works)
	}
	timer.total()
	r.active.Store(time.Now().UnixNano())
}

// load lists the objects that this recommender is responsible for, in the order of
// their names, and finds their pods.
func (r *Recommender) load(ctx context.Context, now time.Time, only map[types.NamespacedName]struct{}) []*work {
	var works []*work
	present := map[types.NamespacedName]struct{}{}
	all := r.objects()
	for _, object := range all {
		present[nameOf(object)] = struct{}{}
	}
	for _, object := range r.readable(all) {
		works = append(works, &work{object: object})
	}
	r.sweep(now, present)
	slices.SortFunc(works, func(a, b *work) int {
		return cmp.Or(cmp.Compare(a.object.Namespace, b.object.Namespace), cmp.Compare(a.object.Name, b.object.Name))
	})
	overlaps := overlapsOf(works)
	var anew []*work
	for _, w := range works {
		w.track, w.isWhole = r.follow(now, w.object), only == nil
		w.track.overlap = overlaps[w.track.name]
		if _, isNamed := only[w.track.name]; w.isWhole || isNamed || !w.track.isDecided {
			anew = append(anew, w)
		}
	}
	r.config.Targets.Await(ctx, references(anew))
	for _, w := range anew {
		w.track.lookup = recommend.Lookup{Problem: "Cannot read targetRef", Transient: true}
		r.safely(w.track.name, func() { w.track.lookup = r.lookup(w) })
	}
	for _, w := range works {
		w.lookup = w.track.lookup
	}
	return works
}

// references are what the objects name, with their namespaces.
func references(works []*work) iter.Seq2[string, *autoscalingv1.CrossVersionObjectReference] {
	return func(yield func(string, *autoscalingv1.CrossVersionObjectReference) bool) {
		for _, w := range works {
			if ref := w.object.Spec.TargetRef; ref != nil && !yield(w.object.Namespace, ref) {
				return
			}
		}
	}
}

// objects are those that this recommender is responsible for.
func (r *Recommender) objects() []*vpav1.VerticalPodAutoscaler {
	var ours []*vpav1.VerticalPodAutoscaler
	for _, item := range r.config.Objects.GetStore().List() {
		if object, ok := item.(*vpav1.VerticalPodAutoscaler); ok && r.config.isOurs(object) {
			ours = append(ours, object)
		}
	}
	return ours
}

// lookup finds the workload's pods. While that fails, for whatever reason, those that
// were its pods are followed: as upstream, whose samples belong to labels and not to
// objects, what they use is learnt, and their windows go on.
func (r *Recommender) lookup(w *work) recommend.Lookup {
	ref, t := w.object.Spec.TargetRef, w.track
	if ref == nil {
		return unfound("Cannot read targetRef. Reason: targetRef not defined. If this is a v1beta1 object, switch to v1", nil)
	}
	target, err := r.config.Targets.TargetOf(w.object.Namespace, ref)
	if err != nil {
		return unfound("Cannot read targetRef. Reason: "+err.Error(), err)
	}
	if target.HasParent {
		return unfound(fmt.Sprintf(
			"The target %s.%s/%s has a parent controller but it should point to a topmost well-known or scalable controller",
			ref.APIVersion, ref.Kind, ref.Name), nil)
	}
	r.found(t, target.UID)
	t.selector = target.Selector
	r.pods.SetSelector(t.name, podindex.SelectorOf(target.Selector))
	r.pods.Follow(t.name, true)
	return recommend.Lookup{}
}

func unfound(problem string, err error) recommend.Lookup {
	return recommend.Lookup{Problem: problem, Transient: errors.Is(err, ownership.ErrUnknown)}
}

// safely does something about one object; what goes wrong with it is no reason to
// leave the others alone.
func (r *Recommender) safely(about types.NamespacedName, do func()) {
	defer func() {
		if cause := recover(); cause != nil {
			r.metrics.panics.Inc()
			r.log.Error(fmt.Errorf("%v", cause), "an object could not be decided", "object", about.String(),
				"stack", string(debug.Stack()))
		}
	}()
	do()
}

func (r *Recommender) decide(now time.Time, w *work, ooms []recommend.OOM) {
	w.policy = r.policy(w.object)
	if !w.track.isDecided {
		r.remember(now, w)
		if !r.ready.Load() {
			w.track.state = w.track.state.Resume(&w.policy, now, observevertical.PublishedOf(&w.object.Status))
		}
	}
	o, names := r.observe(w, ooms)
	if r.config.Conflicts != nil {
		o.Conflicts, o.SkipsConflicts = r.config.Conflicts(w.object, names), r.config.SkipsConflicts
	}
	o.Findings = r.findings(now, w, &o)
	decision, state := recommend.Decide(now, w.policy, w.track.state, o)
	w.decision, w.track.state = decision, state
	w.decided, w.track.isDecided = true, true
	for _, d := range decision.Discarded {
		r.log.V(1).Info("a sample was left out", "object", w.track.name.String(), "container", d.Container,
			"resource", d.Resource.String(), "why", d.Why)
	}
	r.log.V(1).Info("decided", "object", w.track.name.String(), "pods", w.pods, "samples", len(o.Samples),
		"ooms", len(o.OOMs),
		"problem", o.Lookup.Problem, "write", decision.Write.String())
}

// policy is the flags with what the object's owner asks for.
func (r *Recommender) policy(object *vpav1.VerticalPodAutoscaler) recommend.Policy {
	return observevertical.RecommendPolicyOf(object, observevertical.RecommendFlags{
		Policy: r.config.Policy, NoOverrides: r.config.NoOverrides, IntegerCPU: r.config.IntegerCPU,
	})
}

// observe is what is seen of an object now, and the names of its containers.
func (r *Recommender) observe(w *work, ooms []recommend.OOM) (recommend.Observation, []string) {
	o := recommend.Observation{
		Lookup: w.lookup, Generation: w.object.Generation, OOMs: ooms,
		Published: observevertical.PublishedOf(&w.object.Status),
	}
	var names []string
	if w.track.selector != nil {
		names = r.observePods(w, &o)
	}
	w.hadOOM = len(o.OOMs) > 0
	if w.hadOOM {
		r.metrics.ooms.WithLabelValues(w.track.name.Namespace, w.track.name.Name).Add(float64(len(o.OOMs)))
	}
	if w.isWhole {
		o.Samples, o.Refused = r.sampler.Take(w.track.name, exists(&o))
	}
	slices.SortStableFunc(o.OOMs, func(a, b recommend.OOM) int { return a.At.Compare(b.At) })
	return o, names
}

// exists tells the pods that are there from those that are gone. While the target
// cannot be looked up they are those that its selector found last.
func exists(o *recommend.Observation) func(pod string) bool {
	there := make(map[string]bool, len(o.Pods))
	for _, pod := range o.Pods {
		there[pod] = true
	}
	return func(pod string) bool { return there[pod] }
}

// observePods notes the workload's pods. When they are looked at for the first time,
// containers may have run out of memory before.
func (r *Recommender) observePods(w *work, o *recommend.Observation) []string {
	var names []string
	counts := map[string]int{}
	for _, known := range r.pods.Pods(w.track.name) {
		pod := known.Whole.Pod()
		if !w.track.isLookedAt {
			o.OOMs = append(o.OOMs, oom.Standing(pod)...)
		}
		if pod.Status.Phase == corev1.PodPending {
			continue
		}
		o.Pods = append(o.Pods, string(pod.UID))
		w.isRunning = w.isRunning || pod.Status.Phase == corev1.PodRunning && pod.DeletionTimestamp == nil
		if w.isOver(pod) {
			continue
		}
		for i := range pod.Spec.Containers {
			name := pod.Spec.Containers[i].Name
			if counts[name] == 0 {
				names = append(names, name)
			}
			counts[name]++
		}
	}
	w.track.isLookedAt = true
	slices.Sort(names)
	for _, name := range names {
		o.Containers = append(o.Containers, recommend.Present{Container: name, Pods: counts[name]})
	}
	w.pods = len(o.Pods)
	return names
}

// isOver reports that a pod's containers do not count as present: it has ended.
// Upstream counts these too, but for while the target cannot be looked up.
func (w *work) isOver(pod *corev1.Pod) bool {
	ended := pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
	return ended && (w.policy.Has(divergence.LiveContainers) || w.lookup.Problem != "")
}

// takeOOMs sorts the containers that ran out of memory to the objects whose pods they
// are of.
func (r *Recommender) takeOOMs() map[types.NamespacedName][]recommend.OOM {
	kills := r.ooms.Take()
	if len(kills) == 0 {
		return nil
	}
	byNamespace := map[string][]*track{}
	for name, t := range r.tracks {
		byNamespace[name.Namespace] = append(byNamespace[name.Namespace], t)
	}
	sorted := map[types.NamespacedName][]recommend.OOM{}
	for i := range kills {
		k := &kills[i]
		for _, t := range byNamespace[k.Namespace] {
			if t.selector != nil && k.Labels != nil && t.selector.Matches(labels.Set(k.Labels)) {
				sorted[t.name] = append(sorted[t.name], k.OOM)
			}
		}
	}
	return sorted
}
