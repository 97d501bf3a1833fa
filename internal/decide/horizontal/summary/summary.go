// Package summary has a decision in one sentence, in the words of somebody on call: what happens to the replica count,
// why, what comes next and when.
package summary

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/behavior"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/mode"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/projection"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/proposal"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/schedules"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/trigger"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/zero"
)

// Input is what a sentence is made of. Without one of the others the sentence leaves out what follows from it.
type Input struct {
	Decision *horizontal.Decision
	// State is the settled one after the decision. It is only read.
	State *horizontal.State
	// IsHistoryUnknown says that the decision was made without knowing what came before it.
	IsHistoryUnknown bool
	// Pods are the observation's, for their names.
	Pods []metric.Pod
	// WriteError is why the replica count could not be written; empty if it was, or was not to be.
	WriteError string
	// LimitedSince is since when the count has been the most replicas while more is asked for; zero if that is not known.
	LimitedSince time.Time
	// SyncPeriod is the object's; zero for the default.
	SyncPeriod time.Duration
	// Elsewhere has the metrics that only the controller reads, where the decision is made without it, each with why it
	// cannot read the metric by the object's status; empty if it can.
	Elsewhere map[int]string
	// ShownDesired is the count that the object's status has, and ShownForecast the one that its forecast asks for by it;
	// 0 if there is none.
	ShownDesired, ShownForecast int32
	// TargetKind is the kind of the target, and OtherWriter the other writer of its replica count.
	TargetKind, OtherWriter string
	// Unread are the pods' nodes whose samples of CPU and memory cannot be read.
	Unread UnreadNodes
}

// UnreadNodes are nodes that give no samples.
type UnreadNodes struct {
	// Nodes is how many there are; 0 if that is not known. Error is the first one's; empty if all nodes can be read.
	Nodes int
	Error string
}

// Sentence is a decision in one sentence.
type Sentence struct {
	Text string
	// Limits are those that it names, and a window behind minReplicas: without all of them the count would be another one.
	// It has none where the count is what is asked for.
	Limits []projection.Limit
	// Next is the change that it announces; nil if it announces none.
	Next *projection.Change
}

// Of is the decision in one sentence.
func Of(in Input) Sentence {
	w := writerOf(in)
	if w.mayAnnounce() {
		if next, found := projection.NextChange(w.Policy, w.State, w.Decision, in.SyncPeriod); found {
			w.next = &next
		}
	}
	text := w.text()
	text += w.expected(text) + w.unsampled(text)
	if !saysReadiness(text) {
		text += w.unready()
	}
	text += w.extra(text) + w.unread(text) + w.onlyElsewhere(text) + w.shownForecast(text)
	text += w.contradiction() + w.contested()
	return Sentence{Text: SentenceOf(text), Limits: w.named, Next: w.announced}
}

// saysReadiness reports whether the sentence says of pods whether they are ready. A metric's name may have the word.
func saysReadiness(text string) bool {
	return slices.ContainsFunc([]string{"is ready", "are ready", "not ready", "still starting"},
		func(words string) bool { return strings.Contains(text, words) })
}

// expected is what the forecast asks for where the windows keep as many replicas without it: it will raise the count
// again once they do not.
func (w *writer) expected(text string) string {
	asks := projection.ForecastAsks(w.Decision)
	if asks <= max(0, w.Winner().Replicas) || strings.Contains(text, "the forecast ") {
		return ""
	}
	return "; " + w.forecastAsks(asks)
}

// unsampled names the pods without a sample, where the count is the same with them. The first samples of new pods are
// on their way.
func (w *writer) unsampled(text string) string {
	r := w.winningMetric()
	if r == nil || r.Counts.Missing == 0 || r.NoContainer > 0 || strings.Contains(text, " no sample") {
		return ""
	}
	for i, g := range r.Groups {
		if g == metric.Missing && i < len(w.Pods) && w.age(i) >= oftenSampled {
			return "; " + w.withoutSample(r, 0) + w.countedAs(r)
		}
	}
	return ""
}

// extra says that pods count for which the target has no replicas, such as those of another workload.
func (w *writer) extra(text string) string {
	r := w.winningMetric()
	if r == nil || r.Groups == nil || w.State == nil || w.Desired != w.Current || w.Pods == nil {
		return ""
	}
	const deletion = time.Minute
	pods, isSaid := r.Counts.Pods()-r.Counts.Unready, strings.Contains(text, " replicas")
	if pods <= int(w.Current) || isSaid || w.At.Sub(w.State.Count.ChangedAt) < deletion {
		return ""
	}
	const others = "the selector may match those of another workload"
	return fmt.Sprintf("; there are %d replicas, but %d pods count: %s", w.Current, pods, others)
}

// winningMetric is the metric whose value the count follows; nil if there is none.
func (w *writer) winningMetric() *metric.Result {
	winner := w.Winner()
	isMetric := w.Branch == horizontal.BranchMetrics && winner.Source == proposal.Metric
	if !isMetric || winner.Index >= len(w.Metrics) || w.Metrics[winner.Index].Failure != nil {
		return nil
	}
	return &w.Metrics[winner.Index]
}

// unread names the metrics that cannot be read and that the text does not name: without them nothing is scaled down.
func (w *writer) unread(text string) string {
	if w.areAllUnreadSaid {
		return ""
	}
	var names []string
	for i := range w.Metrics {
		name, failure := w.metricName(i), w.Elsewhere[i]
		isUnread := w.Metrics[i].Failure != nil || failure != "" && w.Metrics[i].Pending
		if isUnread && !strings.Contains(text, name+" cannot be read") {
			names = append(names, name)
		}
	}
	switch len(names) {
	case 0:
		return ""
	case 1:
		return "; " + names[0] + " cannot be read"
	}
	return fmt.Sprintf("; %s and %d more cannot be read", names[0], len(names)-1)
}

// contested says that another writer sets the count too.
func (w *writer) contested() string {
	if w.State == nil || !w.State.Overrides.IsContested(w.At, trigger.LoweringPeriod) {
		return ""
	}
	return "; " + cmp.Or(w.OtherWriter, "another writer") + " sets the replica count too"
}

// Between is the sentence of a decision without its history, with which it may come to least or to most replicas.
func Between(in Input, least, most int32) string {
	w := writerOf(in)
	const format = "Comes to %d to %d replicas, depending on earlier decisions, which are not known here: %s"
	text := fmt.Sprintf(format, least, most, w.why())
	return SentenceOf(text + w.unread(text) + w.onlyElsewhere(text) + w.shownForecast(text))
}

// SentenceOf is the text with one full stop, and without line breaks, which the messages of servers may have.
func SentenceOf(text string) string {
	return strings.TrimRight(strings.Join(strings.Fields(text), " "), ". ") + "."
}

func writerOf(in Input) writer {
	w := writer{Input: in, Decision: in.Decision}
	w.limit, w.index = projection.Binding(in.Decision)
	return w
}

// writer writes the sentence about a decision.
type writer struct {
	Input
	*horizontal.Decision
	// limit is the one that binds, and index the metric that it is about.
	limit projection.Limit
	index int
	next  *projection.Change
	// named and announced are what the sentence has so far.
	named     []projection.Limit
	announced *projection.Change
	// said are the schedules whose end, or the end of whose ramp, it has. isContradictionSaid says that it has which of
	// two bounds of schedules applies.
	said                []*schedules.Schedule
	isContradictionSaid bool
	// areAllUnreadSaid says that it counts the metrics that cannot be read.
	areAllUnreadSaid bool
}

// mayAnnounce reports whether what follows can be known: the history is, and the count is written.
func (w *writer) mayAnnounce() bool {
	return w.State != nil && w.Mode() == mode.Active && w.WriteError == "" && w.Desired > 0
}

func (w *writer) text() string {
	switch refusal := w.Refusal; {
	case w.Branch == horizontal.BranchNoScale:
		return "Does nothing: " + w.noScale()
	case refusal.Reason != "":
		return fmt.Sprintf("Stays at %d: %s%s", w.Current, strings.TrimRight(refusal.Message, "."), w.ifActive())
	case w.WriteError != "" && w.Rescale:
		// The write may have been made all the same, after a timeout.
		return fmt.Sprintf("Tries to scale from %d to %d, but writing it to the target failed: %s", w.Current, w.Desired,
			w.WriteError)
	case w.Branch == horizontal.BranchPaused:
		return w.paused()
	case w.Branch == horizontal.BranchAwaiting && w.isReadElsewhere():
		return w.decidedElsewhere()
	case w.Mode() == mode.Preview && w.Desired != w.Current:
		return fmt.Sprintf("Stays at %d, as the mode is Preview; mode Active would scale to %d: %s", w.Current, w.Desired,
			w.why())
	}
	return w.decided()
}

// noResource is in the API server's response for a scale subresource that the kind does not have. For an object that
// does not exist, it has the object's name.
const noResource = "the server could not find the requested resource"

func (w *writer) noScale() string {
	switch isKind := strings.Contains(w.Target.Error, noResource); {
	case isKind && w.TargetKind != "":
		return "its target is of kind " + w.TargetKind + ", which cannot be scaled"
	case isKind:
		return "the kind of its target cannot be scaled"
	}
	return "the scale of its target cannot be read: " + w.Target.Error
}

// paused is the sentence of mode Paused.
func (w *writer) paused() string {
	w.named = append(w.named, projection.Paused)
	if w.Rescale {
		replicas, limited := *w.Policy.WorkloadAutoscaler.PausedReplicas, ""
		if replicas > w.Desired {
			limited = ", more than maxReplicas"
		}
		return fmt.Sprintf("Scales from %d to %d: the mode is Paused, with paused.replicas %d%s%s", w.Current, w.Desired,
			replicas, limited, w.ifActive())
	}
	if w.Current == 0 && w.ActiveDesired == 0 && !zero.MayBe(w.Policy.Metrics, w.Policy.MinReplicas) {
		return "Stays at 0: the mode is Paused; mode Active would leave it at 0 too, until somebody scales it up"
	}
	if replicas := w.Policy.WorkloadAutoscaler.PausedReplicas; replicas != nil && *replicas == w.Current {
		return fmt.Sprintf("Stays at %d: the mode is Paused, with paused.replicas %d%s", w.Current, w.Current, w.ifActive())
	}
	return fmt.Sprintf("Stays at %d: the mode is Paused%s", w.Current, w.ifActive())
}

// ifActive is what mode Active would lead to, where that is something else.
func (w *writer) ifActive() string {
	switch w.ActiveDesired {
	case w.Desired:
		if w.Refusal.Reason == "" || w.Desired == w.Current {
			return ""
		}
		if a := w.Policy.WorkloadAutoscaler; a != nil && a.Mode == mode.Preview {
			return fmt.Sprintf("; the mode is Preview, and mode Active would scale to %d", w.Desired)
		}
		return fmt.Sprintf("; it would scale to %d now", w.Desired)
	case w.Current:
		return fmt.Sprintf("; mode Active would stay at %d", w.Current)
	}
	return fmt.Sprintf("; mode Active would scale to %d", w.ActiveDesired) + w.activeRate()
}

// activeRate is why mode Active would not scale further; empty if it would scale to what is asked for.
func (w *writer) activeRate() string {
	limit := projection.ScaleUpRate
	switch {
	case w.Branch != horizontal.BranchPaused:
		return ""
	case w.Limited.Reason == behavior.ScaleDownLimit:
		limit = projection.ScaleDownRate
	case w.Limited.Reason != behavior.ScaleUpLimit:
		return ""
	}
	named := w.named // The mode is what makes the count.
	text := ": " + w.limitedByRate(limit, w.Limited.RateLimit)
	w.named = named
	return text
}

// decided is the sentence of a decision that is carried out.
func (w *writer) decided() string {
	switch {
	case w.isLimitedByMax() && (w.Rescale || w.askedNow() > w.Desired):
		return w.limitedByMax()
	case w.isLimitedByMax():
		return w.heldAtMax()
	case w.isHeldByForecast():
		return fmt.Sprintf("Stays at %d: %s", w.Current, w.byForecast()) + w.then()
	case w.limit == projection.Stabilization && w.Desired == w.Current:
		return w.held("")
	}
	return w.what() + ": " + w.why() + w.then()
}

// what happens to the count.
func (w *writer) what() string {
	if w.Desired == w.Current {
		return fmt.Sprintf("Stays at %d%s", w.Current, w.raisedBySurge())
	}
	return fmt.Sprintf("Scales from %d to %d", w.Current, w.Desired)
}

// then is what comes next, if the sentence does not say it yet.
func (w *writer) then() string {
	switch {
	case w.announced != nil:
		return ""
	case w.isLastReplicaNext() && !slices.Contains(w.named, projection.Cooldown):
		return "; " + w.lastReplica()
	case w.next != nil && w.next.After.After(w.At):
		w.announced = w.next
		return fmt.Sprintf("; then %s after %s", w.nextCount(), w.clock(w.next.After))
	case w.next != nil:
		w.announced = w.next
		return fmt.Sprintf("; then %s with the next decision", w.nextCount())
	}
	return w.due()
}

// until is how long the count stays, and what it is then; empty if that is not known.
func (w *writer) until() string {
	if w.announced != nil || w.next == nil || !w.next.After.After(w.At) {
		return ""
	}
	w.announced = w.next
	return fmt.Sprintf(" until %s, then %s", w.clock(w.next.After), w.nextCount())
}

// nextCount is the count after the next change, or "between 2 and 6" if it depends on when the next decision is made.
func (w *writer) nextCount() string {
	switch w.next.Most - w.next.Least {
	case 0:
		return fmt.Sprint(w.next.Most)
	case 1:
		return fmt.Sprintf("%d or %d", w.next.Least, w.next.Most)
	}
	return fmt.Sprintf("between %d and %d", w.next.Least, w.next.Most)
}
