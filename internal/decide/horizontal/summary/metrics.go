package summary

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/decide/arithmetic"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/behavior"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/fallback"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric/source"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/projection"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/proposal"
)

// ofMetrics is of a count that is what is asked for: by which values, and what makes it no other.
func (w *writer) ofMetrics() string {
	winner := w.Winner()
	switch w.limit {
	case projection.ActiveMetric:
		w.name(projection.ActiveMetric)
		return w.metricName(w.index) + " is active, which needs a replica"
	case projection.Tolerance, projection.AssumedValues, projection.FewerPods, projection.MorePods, projection.NoReadyPods:
		return w.limitedMetric(winner)
	}
	return w.because(winner)
}

// limitedMetric is of a metric that asks for another count than its value alone would. A limit without which the count
// would be the same is not named.
func (w *writer) limitedMetric(winner proposal.Proposal) string {
	if w.limit == projection.Tolerance {
		w.index = w.nearest(w.index)
	}
	r, value := &w.Metrics[w.index], w.valueOf(w.index)
	exact := arithmetic.Saturate.Ceil32(r.Ratio * float64(w.Current))
	switch {
	case w.limit != projection.Tolerance && (winner.Source != proposal.Metric || winner.Index != w.index):
		w.name(w.limit)
		return w.because(winner) + "; " + value + ", but " + w.ofPods(w.limit, r) + w.ifTheSame(r)
	case w.Tolerance.Within(r.Ratio) && r.Ratio != 1 && exact != w.Current:
		return w.tolerated(r)
	case projection.Plain(w.Decision, r) == r.Replicas:
		return value + w.needs(r)
	case w.limit == projection.AssumedValues && w.isCarried(r):
		w.name(w.limit)
		return value + w.carried(r)
	}
	w.name(w.limit)
	return value + ", but " + w.ofPods(w.limit, r) + w.ifTheSame(r)
}

// isCarried reports whether the replicas are enough for the load, of which the pods that are still starting take a part
// once they are ready.
func (w *writer) isCarried(r *metric.Result) bool {
	load := r.Ratio * float64(r.Counts.Counted+r.Counts.Unsampled)
	isStarting := r.Counts.Unready > 0 && r.Counts.Missing+r.Counts.Lacking+r.Extraneous == 0 && r.Ratio > 1
	return isStarting && sharesLoad(&w.Policy.Metrics[w.index]) && load <= (1+w.Tolerance.Up)*float64(w.Current)
}

// carried is what the value would be if the other pods shared the load: " on 3 ready pods, but would be at 40 % on all
// 5; web-4 and web-5 are still starting".
func (w *writer) carried(r *metric.Result) string {
	n, of := r.Counts.Counted+r.Counts.Unsampled, "pod"
	if w.areReady(r) {
		of = "ready pod"
	}
	if n != 1 {
		of += "s"
	}
	shared := r.Adjusted
	if target := &w.Policy.Metrics[w.index].Target; target.Type == source.Utilization {
		shared *= float64(target.Percent) / 100
	}
	at := percent(shared)
	if shared <= 0 {
		at = "less than 1 %" // A utilization is truncated to a whole percentage, and more than nothing is used.
	}
	return fmt.Sprintf(" on %d %s, but would be at %s on all %d; ", n, of, at, n+r.Counts.Unready) +
		w.unreadyText(r, "")
}

// nearest is the metric that is the most above its target, of those within the tolerance that keep the count.
func (w *writer) nearest(i int) int {
	for k := range w.Metrics {
		r := &w.Metrics[k]
		isKeeping := r.Verdict == metric.WithinTolerance || r.Verdict == metric.DirectionKept
		if isKeeping && r.Ratio > w.Metrics[i].Ratio && w.Tolerance.Within(r.Ratio) {
			i = k
		}
	}
	return i
}

// tolerated is of a value near its target.
func (w *writer) tolerated(r *metric.Result) string {
	w.name(projection.Tolerance)
	tolerance := w.Tolerance.Up
	if r.Ratio < 1 {
		tolerance = w.Tolerance.Down
	}
	text := fmt.Sprintf("%s, within the tolerance of %s", w.valueOf(w.index), percent(tolerance))
	if behind := w.behindTolerance(r); behind != projection.None {
		w.name(behind)
		text += ", and " + w.ofPods(behind, r)
	}
	return text
}

// needs is ", which needs 3 pods" of a value that is not the target itself.
func (w *writer) needs(r *metric.Result) string {
	if r.Ratio == 1 {
		return ""
	}
	return fmt.Sprintf(", which needs %s", podsText(w.Current))
}

// ofPods is why a metric's ratio does not count for all replicas.
func (w *writer) ofPods(limit projection.Limit, r *metric.Result) string {
	switch n := &r.Counts; limit {
	case projection.NoReadyPods:
		return w.noneReady()
	case projection.AssumedValues:
		return w.assumed(r)
	case projection.MorePods:
		if r.Groups == nil {
			return fmt.Sprintf("%d pods are ready for %d replicas", r.Base, w.Current)
		}
		return thereAre(n.Pods()) + fmt.Sprintf(" for %d replicas", w.Current)
	default:
		return w.fewer(r)
	}
}

// noneReady is of a value for all that is multiplied with the ready pods.
func (w *writer) noneReady() string {
	if n := len(w.Pods); n > 1 {
		return fmt.Sprintf("none of %d pods is ready, so the count is not computed from it", n)
	}
	return "no pod is ready, so the count is not computed from it"
}

// ifTheSame is what the metric would ask for if all replicas counted. Pods that are not ready or do not exist will take
// a share of the same load: what it would ask for if they used as much as the others is not needed.
func (w *writer) ifTheSame(r *metric.Result) string {
	plain, n := projection.Plain(w.Decision, r), &r.Counts
	isStarting := n.Unready > 0 && (r.Ratio > 1 || w.limit == projection.FewerPods)
	isAbsent := r.Groups == nil || n.Pods() < int(w.Current)
	if plain == r.Replicas || plain <= 0 || w.limit == projection.MorePods || isStarting || isAbsent {
		return ""
	}
	return fmt.Sprintf("; if all %d used as much, it would ask for %d", w.Current, plain)
}

// assumed names the pods for which values are assumed.
func (w *writer) assumed(r *metric.Result) string {
	var parts []string
	if lacking := r.NoContainer - r.Counts.Lacking; lacking < r.Counts.Missing {
		parts = append(parts, w.withoutSample(r, lacking))
	}
	if r.NoContainer > 0 {
		parts = append(parts, w.withoutContainer(w.indexOf(r)))
	}
	if r.Counts.Unready > 0 && r.Ratio > 1 {
		parts = append(parts, w.unreadyText(r, ""))
	}
	if parts == nil {
		return "the samples may be of the start of new pods"
	}
	return strings.Join(parts, " and ")
}

// withoutSample is of the missing pods without those that lack the metric's container. Only a new pod gets its first
// sample yet.
func (w *writer) withoutSample(r *metric.Result, lacking int) string {
	yet := ""
	for i, g := range r.Groups {
		if g == metric.Missing && (i >= len(w.Pods) || w.age(i) < firstSample) {
			yet = " yet"
		}
	}
	if lacking > 0 {
		n := r.Counts.Missing - lacking
		return fmt.Sprintf("%s %s no sample%s", podsText(n), has(n), yet)
	}
	return w.podsIn(r, metric.Missing, "has no sample"+yet, "have no sample"+yet)
}

// age is for how long a pod has run; 0 if that is not known.
func (w *writer) age(pod int) time.Duration {
	if w.Pods[pod].StartTime.IsZero() {
		return 0
	}
	return w.At.Sub(w.Pods[pod].StartTime)
}

// firstSample is how long a pod may be without a sample after its start: metrics-server has one after two of its
// resolutions, which are 15 s by default and often a minute. Most pods have one after oftenSampled.
const (
	firstSample  = 3 * time.Minute
	oftenSampled = time.Minute
)

// withoutContainer is how many pods do not have the container that metric i names.
func (w *writer) withoutContainer(i int) string {
	r, name := &w.Metrics[i], w.Policy.Metrics[i].Container
	n, all := r.NoContainer, r.Counts.Pods()
	switch {
	case n == all && all == 1:
		return "the only pod has no container " + name
	case n == all:
		return fmt.Sprintf("none of %d pods has a container %s", all, name)
	}
	return fmt.Sprintf("%d of %d pods %s no container %s", n, all, has(n), name)
}

// indexOf is which metric the result is of.
func (w *writer) indexOf(r *metric.Result) int {
	for i := range w.Metrics {
		if &w.Metrics[i] == r {
			return i
		}
	}
	return w.index
}

// fewer is why fewer pods count than there are replicas.
func (w *writer) fewer(r *metric.Result) string {
	n := &r.Counts
	switch existing := n.Pods(); {
	case r.Groups == nil && (r.Base > 0 || w.Pods != nil):
		return w.onlyReady(r)
	case r.Groups == nil:
		return fmt.Sprintf("not all of the %d replicas are ready", w.Current)
	case existing < int(w.Current):
		return thereAre(existing) + fmt.Sprintf(" for %d replicas", w.Current) + w.whyFewer()
	case n.Lacking > 0:
		return w.withoutContainer(w.indexOf(r))
	case n.Unready > 0:
		return w.unreadyText(r, "count")
	}
	return fmt.Sprintf("only %d of %d replicas count", n.Counted+n.Unsampled, w.Current)
}

// whyFewer says where to look if pods should have been created long ago.
func (w *writer) whyFewer() string {
	const creation = time.Minute
	s := w.State
	if s == nil || s.Count.Replicas != w.Current || s.Count.ChangedAt.IsZero() || w.At.Sub(s.Count.ChangedAt) < creation {
		return ""
	}
	return " (kubectl get events may say why)"
}

// onlyReady is how many pods are ready, with which a value for all is multiplied.
func (w *writer) onlyReady(r *metric.Result) string {
	ready := int(r.Base)
	if ready == 0 {
		ready = w.readyPods()
	}
	if ready == 1 {
		return fmt.Sprintf("only 1 of %d replicas is ready", w.Current)
	}
	return fmt.Sprintf("only %d of %d replicas are ready", ready, w.Current)
}

// because is what asks for the count, with its value.
func (w *writer) because(p proposal.Proposal) string {
	switch p.Source {
	case proposal.Metric:
		return w.byMetric(p)
	case proposal.Surge:
		return w.bySurge()
	case proposal.Fallback:
		return w.byFallback(p)
	case proposal.Forecast:
		return w.byForecast()
	case proposal.Schedule:
		if w.Schedules.MinBy == nil {
			return fmt.Sprintf("it has no metrics, and minReplicas is %d", w.Bounds.MinReplicas)
		}
		return w.minText()
	}
	return "nothing asks for another count"
}

func (w *writer) byMetric(p proposal.Proposal) string {
	switch isRead := w.Metrics[p.Index].Failure == nil && !w.Metrics[p.Index].Pending; {
	case w.Current == 0:
		return w.fromZero(p, isRead)
	case w.Zero.IsCooledDown && w.Desired == 0:
		return "no metric has been active for the cooldown period"
	case !isRead:
		return fmt.Sprintf("%s asks for %d", w.metricName(p.Index), p.Replicas)
	case w.Desired == w.Current && w.Stabilized.Reason == behavior.ReadyForNewScale:
		return w.valueOf(p.Index) + w.needs(&w.Metrics[p.Index])
	}
	return w.valueOf(p.Index)
}

// fromZero is of a target without replicas.
func (w *writer) fromZero(p proposal.Proposal, isRead bool) string {
	switch z := &w.Zero; {
	case z.IsIdle:
		return w.inactive()
	case p.Replicas == 0 && isRead:
		return w.asks() + ", and replicas come once it asks for more"
	case z.IsActive && isRead:
		return fmt.Sprintf("%s is active, and asks for %d", w.metricName(p.Index), p.Replicas)
	case z.IsActive:
		return w.metricName(p.Index) + " is active"
	}
	return fmt.Sprintf("%s asks for %d", w.metricName(p.Index), p.Replicas)
}

func (w *writer) byFallback(p proposal.Proposal) string {
	text, before := w.metricName(p.Index)+" cannot be read", ""
	for i := range w.Fallbacks.Active {
		if f := &w.Fallbacks.Active[i]; f.Metric == p.Index && !w.IsHistoryUnknown {
			text += " since " + w.clock(f.Since)
			before = w.beforeFallback(f)
		}
	}
	if w.Metrics[p.Index].Failure != nil {
		text += " (" + w.cause(p.Index) + ")"
	}
	return text + ", and its fallback " + w.fallbackAsks(p.Index) + before
}

// beforeFallback is how many replicas there were before a fallback changed the count; empty if it has not, or if that
// is not known.
func (w *writer) beforeFallback(f *fallback.Active) string {
	isOfFallback := w.Desired == w.Current && w.Policy.Metrics[f.Metric].Fallback.Replicas == w.Current
	if f.From <= 0 || f.From == w.Current || !isOfFallback {
		return ""
	}
	return fmt.Sprintf("; before it there were %d", f.From)
}

// fallbackAsks is what the fallback of metric i does: "asks for 6".
func (w *writer) fallbackAsks(i int) string {
	return fallback.Asks(&w.Policy.Metrics[i].Fallback, &w.Metrics[i], w.Current)
}

// inactive is of a target at zero: why the only metric that could bring a replica is not active, or that none of them
// is.
func (w *writer) inactive() string {
	const none = "no metric is active, and a replica comes once one is"
	only, n := 0, 0
	for i := range w.Policy.Metrics {
		if w.Policy.Metrics[i].HasValueWithoutPods() {
			only, n = i, n+1
		}
	}
	if n != 1 || only >= len(w.Metrics) {
		return none
	}
	spec, r, name := &w.Policy.Metrics[only], &w.Metrics[only], w.metricName(only)
	switch {
	case spec.Type.ReportsActivity() && r.Activity == metric.Inactive:
		if spec.ShortName() != "" {
			name = "the scaler of " + name
		}
		return name + " reports that it is not active, and a replica comes once it is"
	case spec.Type.ReportsActivity() || r.Failure != nil || r.Pending || spec.ActivationMilli == 0:
		return none
	}
	return fmt.Sprintf("%s is at %s and becomes active above its activationValue %s, which brings a replica", name,
		number(r.Total), number(spec.ActivationMilli))
}

// number is a value in milli-units.
func number(milli int64) string { return strconv.FormatFloat(float64(milli)/1000, 'f', -1, 64) }

// asks is what is asked for before all limits: "CPU asks for 3".
func (w *writer) asks() string { return w.asksFor(w.Winner()) }

func (w *writer) asksFor(p proposal.Proposal) string {
	switch p.Source {
	case proposal.None:
		return "nothing asks for a count"
	case proposal.Surge:
		return w.surgeAsks()
	case proposal.Fallback:
		return fmt.Sprintf("the fallback of %s %s", w.metricName(p.Index), w.fallbackAsks(p.Index))
	case proposal.Schedule:
		return fmt.Sprintf("minReplicas asks for %d", p.Replicas)
	case proposal.Forecast:
		return fmt.Sprintf("the forecast asks for %d", p.Replicas)
	}
	return w.metricAsks(p)
}

// metricAsks is what a metric asks for. Where its value does not ask for nothing, but the count comes to 0 or less, it
// is why.
func (w *writer) metricAsks(p proposal.Proposal) string {
	r, name := &w.Metrics[p.Index], w.metricName(p.Index)
	switch {
	case p.Replicas > 0 && r.Verdict != metric.NothingReady:
		return fmt.Sprintf("%s asks for %s", name, countText(p.Replicas))
	case w.Zero.IsIdle:
		return "no metric is active"
	case r.Verdict == metric.NothingReady:
		return w.valueOf(p.Index) + ", but " + w.noneReady()
	case r.Ratio > 0 && p.Replicas < 0:
		return fmt.Sprintf("%s asks for more than fits into a replica count, which comes to %d", name, p.Replicas)
	case r.Ratio < 0:
		return fmt.Sprintf("the value of %s is negative and asks for %d", name, p.Replicas)
	case r.Ratio > 0 && r.Groups == nil && w.Current > 0:
		return w.valueOf(p.Index) + ", but no pod is ready, which comes to 0"
	}
	return name + " asks for 0"
}

// countText is a replica count. The largest stands for all that are larger.
func countText(n int32) string {
	if n == math.MaxInt32 {
		return fmt.Sprintf("%d or more", n)
	}
	return fmt.Sprint(n)
}
