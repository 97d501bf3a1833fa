package metric

import (
	"fmt"
	"math"
	"slices"

	"github.com/plimsoll-dev/plimsoll/internal/decide/arithmetic"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/divergence"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/history"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric/source"
)

// perPod is a metric with samples of pods: the totals over the pods that count, and the assumptions for the others.
type perPod struct {
	spec    *source.Spec
	reading *Reading
	c       *Context
	sum     arithmetic.Mode
	// percent is set for a Utilization target: samples are then compared with
	// the pods' requests instead of a fixed value.
	percent bool
	// incomplete is set if a pod has no request, and partial if some pods have the metric's container and some do not.
	incomplete, partial bool

	result *Result

	// used and wanted are the totals of samples and requests; entries is the number of samples in them, samples that with
	// extraneous ones.
	used, wanted     int64
	entries, samples int64
	// idle is the number of pods outside the sample that are assumed to use nothing.
	idle int64
}

// compute compares samples with the pods' requests (upstream: GetResourceReplicas) or the average sample with a fixed
// value (upstream: calcPlainMetricReplicas). If a part of the pods is sampled, its average stands for all. It returns
// the error if the metric fails.
func (p *perPod) compute(room []Group) string {
	r := p.result
	if len(p.c.Pods) == 0 {
		return noPods
	}
	if p.survey(room); r.Pending && !p.c.mayRiseFurther() {
		// The next sync period finds this error. Until then the surge window does not raise the count by such a metric.
		r.IsStart = r.IsStart && p.requestError() == ""
		p.observe()
		return ""
	}
	if r.Counts.Counted+len(p.reading.Extraneous) == 0 {
		return "did not receive metrics for targeted pods (pods might be unready)"
	}
	if text := p.requestError(); text != "" {
		return text
	}
	p.addExtraneous()
	if p.nothingWanted() {
		return noRequests
	}
	r.Ratio, r.Percent, r.Milli = p.ratio()
	p.countOnce()
	r.Adjusted = r.Ratio
	text := p.propose()
	if r.Pending && text == "" {
		p.riseFurther()
	}
	return text
}

// observe computes the ratio of a metric without a proposal, with which the surge window compares its own.
func (p *perPod) observe() {
	if p.entries > 0 && !p.nothingWanted() {
		p.result.Ratio, _, _ = p.ratio()
	}
}

// riseFurther uses samples that may include a pod's startup to confirm an earlier proposal that a rate policy did not
// permit yet. They do not propose more than that.
func (p *perPod) riseFurther() {
	r := p.result
	if r.Replicas = min(r.Replicas, p.c.Unreached); r.Replicas > p.c.SpecReplicas {
		r.Pending = false
	} else {
		r.Replicas = 0
	}
}

// nothingWanted reports whether there is no request to compare with. Upstream uses a negative sum, which only an
// overflow can cause, as a number.
func (p *perPod) nothingWanted() bool {
	return p.percent && (p.wanted == 0 || p.sum == arithmetic.Saturate && p.wanted < 0)
}

// requestError names the first pod without a usable request. Upstream requires one of every selected pod.
func (p *perPod) requestError() string {
	if !p.percent || !p.incomplete {
		return ""
	}
	for i := range p.c.Pods {
		request, g := &p.reading.Requests[i], p.result.Groups[i]
		if request.Missing == RequestSet || g == Lacking {
			continue
		}
		if g == Ignored && p.c.Divergences.Has(divergence.UncountedRequests) {
			continue
		}
		return requestText(p.spec, request, p.c.Pods[i].Name)
	}
	return ""
}

func requestText(spec *source.Spec, request *Request, pod string) string {
	switch request.Missing {
	case ContainerNotFound:
		return fmt.Sprintf("container %s not found in Pod %s", request.Container, pod)
	case PodWithoutRequest:
		return fmt.Sprintf("missing pod-level request for %s in Pod %s", spec.Name, pod)
	case RequestInClaim:
		return claimText(spec, request, pod)
	default:
		return fmt.Sprintf("missing request for %s in container %s of Pod %s", spec.Name, request.Container, pod)
	}
}

// claimText describes why no utilization can be computed: the request is only a part of the pod's resources.
func claimText(spec *source.Spec, request *Request, pod string) string {
	of := "Pod " + pod
	if request.Container != "" {
		of = "container " + request.Container + " of " + of
	}
	return fmt.Sprintf("%s has %s from ResourceClaim %s, which is not in its request: "+
		"use averageValue instead of averageUtilization", of, spec.Name, request.Claim)
}

// survey sorts the pods into groups and adds up those that count, in one iteration.
func (p *perPod) survey(room []Group) {
	r, pods, samples, requests := p.result, p.c.Pods, p.reading.Samples, p.reading.Requests
	by, sum, percent := groupingOf(p.spec, p.c), p.sum, p.percent
	groups := slices.Grow(room, len(pods))[:len(pods)]
	var n sizes
	var used, wanted int64
	var young recentPods
	times := noTimes
	var parts []history.Part
	isShared, uses := by.once && len(p.c.Ready) > 1, p.c.Room[:0]
	if isShared {
		var buffer [history.MostReady]history.Part
		parts = p.c.Ready.Parts(buffer[:0])
	}
	for i := range pods {
		pod, sample := &pods[i], &samples[i]
		g := by.group(pod, sample)
		if i < len(requests) && requests[i].Missing != RequestSet {
			g = p.groupWithoutRequest(i, g)
		}
		groups[i] = g
		n[g]++
		if g != Counted {
			if g == Lacking || g == Missing && sample.NoContainer {
				r.NoContainer++
			}
			continue
		}
		at := arithmetic.Nanos(sample.At)
		times.add(at, sample)
		u := use{milli: sample.Milli, readyFor: readyFor(pod, at), isYoung: by.recent && by.isYoung(pod)}
		used = sum.Add(used, u.milli)
		if percent {
			u.wanted = requests[i].Milli
			wanted = sum.Add(wanted, u.wanted)
		}
		if isShared {
			u.share = by.share(parts, at, sample)
			uses = append(uses, u)
		} else {
			u.addTo(&young)
		}
	}
	r.Groups, r.Counts = groups, n.counts()
	times.report(p.c, r)
	if isShared {
		shared := p.shared(uses, float64(n[Counted]+n[Unsampled]), &young)
		r.SharedMilli, used = used-shared, shared
		p.c.Room = uses
	}
	all := recentTotal{Used: used, Wanted: wanted, Pods: int64(n[Counted])}
	r.IsStart = p.c.isAfterRise() && young.StandIn(all)
	r.Pending = r.IsStart
	r.StartMilli = young.Excess(sum, all, p.spec.Target)
	r.Newest = young.Newest()
	p.used, p.wanted = used-r.StartMilli, wanted
	p.entries, p.samples = int64(n[Counted]), int64(n[Counted])
}

// times has the times of the newest and the oldest of some samples, and the start of the earliest window. It ignores
// samples without a time.
type times struct {
	newestAt, oldestAt, firstAt int64
	newest, oldest, first       *Sample
}

var noTimes = times{newestAt: math.MinInt64, oldestAt: math.MaxInt64, firstAt: math.MaxInt64}

func (t *times) add(at int64, s *Sample) {
	if at > t.newestAt {
		t.newestAt, t.newest = at, s
	}
	if at < t.oldestAt {
		t.oldestAt, t.oldest = at, s
	}
	if began := at - int64(s.Window); began < t.firstAt {
		t.firstAt, t.first = began, s
	}
}

func (t *times) report(c *Context, r *Result) {
	if t.newest != nil {
		r.At, r.Oldest, r.Began = t.newest.At, c.past(t.oldest.At), c.past(t.first.At).Add(-t.first.Window)
	}
}

// groupWithoutRequest returns the group of a pod that has no request; without it the pod would be in g.
func (p *perPod) groupWithoutRequest(pod int, g Group) Group {
	if !p.incomplete {
		p.incomplete, p.partial = true, partialContainer(p.reading, p.c)
	}
	if p.partial && g != Ignored && p.reading.Requests[pod].Missing == ContainerNotFound {
		return Lacking
	}
	return g
}

// addExtraneous adds the samples of unknown pods. They have no request, so that they count in an average only.
func (p *perPod) addExtraneous() {
	p.result.Extraneous = len(p.reading.Extraneous)
	p.samples += int64(p.result.Extraneous)
	if p.percent {
		return
	}
	for _, milli := range p.reading.Extraneous {
		p.used = p.sum.Add(p.used, milli)
		p.entries++
	}
}

func (p *perPod) addSample(milli int64, pod int) {
	p.used = p.sum.Add(p.used, milli)
	p.entries++
	p.samples++
	if p.percent {
		p.wanted = p.sum.Add(p.wanted, p.reading.Requests[pod].Milli)
	}
}

// ratio returns the totals' ratio to the target. A utilization is truncated to a whole percentage, an average to a
// whole milli-unit, before it is divided.
func (p *perPod) ratio() (ratio float64, percent int32, average int64) {
	average = p.used / p.entries
	if !p.percent {
		return p.ofAverage(average)
	}
	percent = p.sum.ToInt32(p.sum.MulDiv(p.used, 100, p.wanted))
	return float64(percent) / float64(p.spec.Target.Percent), percent, average
}

// ofAverage returns the ratio of an average to the target. Of a target for all pods together the average is compared
// with a pod's part of it.
func (p *perPod) ofAverage(average int64) (ratio float64, percent int32, milli int64) {
	ratio = float64(average) / float64(p.spec.Target.Milli)
	if !p.spec.IsShared() {
		return ratio, 0, average
	}
	pods := p.pods()
	return ratio * float64(pods), 0, p.sum.MulDiv(average, pods, 1)
}

func (p *perPod) pods() int64 { return int64(max(1, p.result.Counts.Pods())) }

// propose returns the error if the metric fails.
func (p *perPod) propose() string {
	r := p.result
	upWithUnready := r.Counts.Unready > 0 && r.Ratio > 1
	if upWithUnready || r.Counts.Missing > 0 {
		p.fillIn(upWithUnready)
		if p.nothingWanted() {
			return noRequests
		}
		p.recompute()
		return ""
	}
	if p.c.Tolerance.Within(r.Ratio) {
		p.keep(WithinTolerance)
		return ""
	}
	base := p.base(r.Ratio, int64(r.Counts.Counted+r.Counts.Unsampled))
	proposed := p.sum.Ceil32(r.Ratio * float64(base))
	if p.guarded() && againstDirection(r.Ratio, proposed, p.c.SpecReplicas) {
		p.keep(DirectionKept)
		return ""
	}
	r.Replicas, r.Base, r.Verdict = proposed, base, Scaled
	return ""
}

// fillIn adds assumptions for unknown pods that make the change smaller: on the way down a missing pod uses as much as
// it may; on the way up missing and unready pods use nothing. A pod that no longer responds uses at least its last
// value. A sample stands for ready pods only: others are known without sampling.
func (p *perPod) fillIn(upWithUnready bool) {
	r := p.result
	for i, g := range r.Groups {
		switch {
		case g == Missing && r.Ratio < 1:
			p.addSample(max(p.assumed(i), p.last(i)), i)
		case g == Missing && r.Ratio > 1:
			p.addSample(p.last(i), i)
		case g == Unready && upWithUnready && r.Counts.Unsampled > 0:
			p.idle++
		case g == Unready && upWithUnready:
			p.addSample(0, i)
		}
	}
}

// last returns the last value of a pod that no longer responds.
func (p *perPod) last(pod int) int64 {
	if s := &p.reading.Samples[pod]; s.Silent {
		return s.Milli
	}
	return 0
}

// recompute compares the totals with the assumptions. If they reverse the direction, the count stays.
func (p *perPod) recompute() {
	r := p.result
	r.Adjusted, _, _ = p.ratio()
	asked := p.samples + int64(r.Counts.Unsampled)
	if p.idle > 0 {
		r.Adjusted *= float64(asked) / float64(asked+p.idle)
	}
	if p.c.Tolerance.Within(r.Adjusted) {
		p.keep(WithinTolerance)
		return
	}
	if (r.Ratio < 1 && r.Adjusted > 1) || (r.Ratio > 1 && r.Adjusted < 1) {
		p.keep(DirectionKept)
		return
	}
	base := p.base(r.Adjusted, asked+p.idle)
	proposed := p.sum.Ceil32(r.Adjusted * float64(base))
	if againstDirection(r.Adjusted, proposed, p.c.SpecReplicas) {
		p.keep(DirectionKept)
		return
	}
	r.Replicas, r.Base, r.Verdict = proposed, base, Recomputed
}

// assumed returns the assumed use of a missing pod on the way down: its whole request, or the target if that is larger,
// or its share of a shared target.
func (p *perPod) assumed(pod int) int64 {
	if p.spec.IsShared() {
		return p.spec.Target.Milli / p.pods()
	}
	if !p.percent {
		return p.spec.Target.Milli
	}
	return p.sum.MulDiv(p.reading.Requests[pod].Milli, int64(max(100, p.spec.Target.Percent)), 100)
}

// base returns the count that the ratio multiplies. Pods beyond the wanted count are the surge of a rollout. On the way
// up they are not multiplied. On the way down they are: if pods share a load, the surge is the cause of the low ratio,
// and without it a rollout would propose fewer pods than the load needs.
func (p *perPod) base(ratio float64, upstream int64) int64 {
	if p.c.Divergences.Has(divergence.RolloutSurge) && ratio > 1 {
		return min(upstream, int64(p.c.SpecReplicas))
	}
	return upstream
}

// guarded reports whether the simple calculation must not contradict its ratio either.
func (p *perPod) guarded() bool {
	return p.c.Divergences.Has(divergence.RolloutSurge) || p.result.Counts.Lacking > 0
}

func (p *perPod) keep(v Verdict) {
	p.result.Replicas, p.result.Verdict = p.c.SpecReplicas, v
}

func againstDirection(ratio float64, proposed, current int32) bool {
	return (ratio < 1 && proposed > current) || (ratio > 1 && proposed < current)
}
