package vertical

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/summary"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/conflict"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/divergence"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/estimate"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/reason"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/recommend"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/update"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/update/report"
	observevertical "github.com/plimsoll-dev/plimsoll/internal/observe/vertical"
	"github.com/plimsoll-dev/plimsoll/internal/output"
	"github.com/plimsoll-dev/plimsoll/internal/snapshot"
	snapshotvertical "github.com/plimsoll-dev/plimsoll/internal/snapshot/vertical"
)

// Style has the settings of the printed text.
type Style struct {
	output.Form
	// Verbose prints all that led to the recommendations, and every pod.
	Verbose bool
}

// WriteText writes the explanation as text.
func (e *Explanation) WriteText(w io.Writer, style Style) error {
	p := &output.Page{}
	p.Title(e.Summary())
	lines := e.numbers()
	if style.Verbose {
		lines = e.Lines()
	}
	return output.WriteLines(w, append(p.All(), lines...), style.Form)
}

// Lines are all that it says beside the sentence.
func (e *Explanation) Lines() []output.Line {
	p := &output.Page{}
	k := e.Step
	p.Heading("%s  VerticalPodAutoscaler %s/%s", k.Snapshot.Time.Format(time.RFC3339), k.Object.Namespace,
		k.Object.Name)
	e.explainDivergences(p)
	p.Add("target", "%s", e.targetText())
	if problem := k.Snapshot.Target.Problem; problem != "" {
		p.Add("problem", "%s", problem)
	}
	for _, text := range e.Features {
		p.Add("feature", "%s", text)
	}
	for _, damage := range e.Damaged {
		p.Add("checkpoint", "cannot be read: %s", damage)
	}
	if len(e.Recommended.Traces) == 0 {
		p.Add("samples", "nothing%s", e.nothing())
	}
	for i := range e.Recommended.Traces {
		e.explainContainer(p, &e.Recommended.Traces[i])
	}
	for i := range e.Published {
		if rec := &e.Published[i]; e.Recommended.TraceOf(rec.Container) == nil {
			p.Add("container", "%s: no checkpoint has samples of it; published %s", rec.Container, e.recommendedText(rec))
		}
	}
	for _, c := range e.Conflicts {
		p.Add("conflict", "%s", conflictText(&c))
	}
	for _, c := range e.Recommended.Conditions {
		p.Add("condition", "%s %s %s %s", c.Type, c.Status, c.Reason, c.Message)
	}
	for i := range e.Update.Pods {
		e.explainPod(p, &e.Update.Pods[i])
	}
	e.explainUpdater(p)
	return p.All()
}

func (e *Explanation) targetText() string {
	target, pods := "none", "1 pod"
	if ref := e.Step.Object.Spec.TargetRef; ref != nil {
		target = ref.Kind + "/" + ref.Name
	}
	if n := len(e.Step.Pods); n != 1 {
		pods = fmt.Sprintf("%d pods", n)
	}
	return fmt.Sprintf("%s: %s; mode %s", target, pods, e.Mode)
}

func conflictText(c *conflict.Conflict) string {
	return fmt.Sprintf("the %s has a utilization target on %s of container %s", c.Horizontal, c.Resource, c.Container)
}

func (e *Explanation) explainContainer(p *output.Page, t *recommend.Trace) {
	p.Add("container", "%s: %d samples of CPU", t.Container, t.Samples)
	published, isPublished := vertical.RecommendationOf(e.Published, t.Container)
	for r := range vertical.Resource(vertical.Resources) {
		if why := notRecommended(t, r); why != "" {
			p.Add("  "+r.String(), "%s", why)
			continue
		}
		p.Add("  "+r.String(), "confidence %.2f (days of history with one sample per minute)", t.Confidence[r])
		for _, bound := range []estimate.Bound{estimate.Target, estimate.Lower, estimate.Upper} {
			p.Add("    "+strings.TrimSuffix(bound.String(), "Bound"), "%s", stepsText(r, &t.Estimates[r][bound], t.Floor[r]))
		}
		if isPublished {
			p.Add("    published", "%s%s", rangeText(published, r),
				differenceText(published, r, &t.Estimates[r][estimate.Target]))
		}
	}
}

// notRecommended is why a resource has no recommendation; empty if it has one.
func notRecommended(t *recommend.Trace, r vertical.Resource) string {
	switch {
	case t.Skipped[r]:
		return "not recommended: a horizontal autoscaler has a utilization target on it"
	case t.Unmeasured[r]:
		return "not recommended: there is no sample yet"
	case !t.Controlled[r]:
		return "not controlled"
	}
	return ""
}

// stepsText is the way of a number: percentile, margin, confidence, floor, rounding,
// caps; steps that change nothing are left out.
func stepsText(r vertical.Resource, s *estimate.Estimate, floor vertical.Amount) string {
	text := fmt.Sprintf("p%g of usage %s, with safety margin %s", 100*s.Percentile, amount(r, s.Used),
		amount(r, s.WithMargin))
	if s.Widened != s.WithMargin {
		text += fmt.Sprintf(", × %.3g for the confidence %s", s.Factor, amount(r, s.Widened))
	}
	if s.Floored != s.Widened {
		text += fmt.Sprintf(", at least %s", amount(r, floor))
	}
	if s.Rounded != s.Floored {
		text += fmt.Sprintf(", rounded %s", amount(r, s.Rounded))
	}
	if s.Capped != s.Rounded {
		text += fmt.Sprintf(", %s by %s", amount(r, s.Capped), capText(r, s.CappedBy))
	}
	return text
}

func capText(r vertical.Resource, by estimate.Cap) string {
	if by == estimate.ByRecommender {
		return fmt.Sprintf("the recommender's --%s-%s", by, r)
	}
	return by.String()
}

// differenceText is why another target is published than the checkpoints lead to.
func differenceText(published *vertical.Recommendation, r vertical.Resource, computed *estimate.Estimate) string {
	if target, has := published.Target.Get(r); has && target == computed.Capped {
		return ""
	}
	return "; by other samples than the checkpoint has, or published before it"
}

func rangeText(rec *vertical.Recommendation, r vertical.Resource) string {
	target, ok := rec.Target.Get(r)
	if !ok {
		return "nothing"
	}
	bound := func(amounts vertical.Amounts) string {
		if value, has := amounts.Get(r); has {
			return amount(r, value)
		}
		return "none"
	}
	return fmt.Sprintf("%s, lower bound %s, upper bound %s", amount(r, target), bound(rec.Lower), bound(rec.Upper))
}

// amount is for people: memory in Mi, where status has bytes.
func amount(r vertical.Resource, a vertical.Amount) string {
	if r == vertical.Memory {
		const mebi = 1 << 20
		return strconv.FormatFloat(math.Round(10*float64(a)/mebi)/10, 'f', -1, 64) + "Mi"
	}
	return observevertical.QuantityOf(r, vertical.Amounts{}.With(r, a)).String()
}

// done says what an action does to a pod.
var done = map[update.Kind]string{
	update.Evict: "evicted", update.Resize: "resized in place", update.Unboost: "resized in place",
}

// explainPod says what the updater would do, and why not; and what it did last.
func (e *Explanation) explainPod(p *output.Page, v *update.Verdict) {
	p.Add("pod", "%s requests %s", v.Pod.Name, RequestsText(v))
	for _, sentence := range e.PodSentences(v) {
		p.Add("", "%s", sentence)
	}
}

// RequestsText is what a pod's containers request: "app cpu 100m and memory 128Mi, proxy nothing".
func RequestsText(v *update.Verdict) string {
	var requests []string
	for i := range v.Pod.Containers {
		c := &v.Pod.Containers[i]
		requests = append(requests, c.Name+" "+amountsText(c.Requests)+resizeText(v.Pod, c))
	}
	return strings.Join(requests, ", ")
}

// resizeText is what the spec requests instead until a resize in place is done: " (the spec asks for cpu 203m and
// memory 250Mi, which the node cannot do)"; empty if it requests the same.
func resizeText(pod *vertical.Pod, c *vertical.PodContainer) string {
	isSame := true
	for r := range vertical.Resource(vertical.Resources) {
		now, _ := c.Requests.Get(r)
		then, _ := c.Spec.Requests.Get(r)
		isSame = isSame && now == then
	}
	if isSame {
		return ""
	}
	progress := map[vertical.ResizeStatus]string{
		vertical.ResizeDeferred:   ", for which the node has no room now",
		vertical.ResizeInfeasible: ", which the node cannot do",
		vertical.ResizeInProgress: ", and the resize is in progress",
		vertical.ResizeError:      ", and the resize failed and is tried again",
	}
	return fmt.Sprintf(" (the spec asks for %s%s)", amountsText(c.Spec.Requests), progress[pod.Resize])
}

// PodSentences say what the updater would do with a pod, and why not; and what it did last.
func (e *Explanation) PodSentences(v *update.Verdict) []string {
	var said []string
	say := func(format string, values ...any) { said = append(said, fmt.Sprintf(format, values...)) }
	if e.Unboosted[v.Pod.UID] {
		say("would be %s now: %s", done[update.Unboost], report.Sentence(reason.BoostExpired))
	}
	switch {
	case v.Action != update.Nothing:
		say("would be %s by the next pass: %s", done[v.Action], e.because(v))
	case v.Reason != reason.None:
		say("needs an update: %s; blocked: %s", e.because(v),
			cmp.Or(report.Sentence(v.BlockedBy), "not reached yet"))
	default:
		say("not updated: %s", report.Sentence(v.BlockedBy))
	}
	said = append(said, e.capSentences(v)...)
	for _, note := range v.CheckResults {
		if note != v.BlockedBy {
			say("resize check: %s", report.Sentence(note))
		}
	}
	if was := e.verdictBefore(v.Pod.UID); was != nil {
		say("last pass, at %s: %s", e.clock(e.Step.Snapshot.Updater.Time), wasText(was))
	}
	return said
}

func (e *Explanation) clock(t time.Time) string { return summary.Clock(t, e.Step.Snapshot.Time) }

// verdictBefore is what the updater's last pass came to with the pod; nil if it had
// nothing to do with it.
func (e *Explanation) verdictBefore(uid string) *snapshotvertical.PodVerdict {
	if e.Step.Snapshot.Updater == nil {
		return nil
	}
	pods := e.Step.Snapshot.Updater.Pods
	if at := slices.IndexFunc(pods, func(v snapshotvertical.PodVerdict) bool { return v.UID == uid }); at >= 0 {
		return &pods[at]
	}
	return nil
}

func wasText(v *snapshotvertical.PodVerdict) string {
	for kind, text := range done {
		if v.Action == kind.String() {
			return text
		}
	}
	return "not updated: " + sentence(v.BlockedBy)
}

// sentence is that of a reason by its name. One that this program does not know is
// printed as it is.
func sentence(name string) string {
	if r, ok := reasonOf(name); ok {
		return report.Sentence(r)
	}
	return cmp.Or(name, "not reached")
}

// reasonOf is the reason of a name; false for one that this program does not know.
func reasonOf(name string) (reason.Reason, bool) {
	for _, r := range reason.All() {
		if r.String() == name {
			return r, true
		}
	}
	return reason.None, false
}

// explainDivergences says that the file was decided otherwise where it comes from.
func (e *Explanation) explainDivergences(p *output.Page) {
	saved := e.Step.Snapshot.Annotations[snapshot.DivergencesAnnotation]
	// Compared as sets: an earlier version may have written other names.
	if set, err := divergence.Parse(saved); saved != "" && (err != nil || set != e.Divergences) {
		p.Add("divergences", "%s here; %s when the snapshot was saved", e.Divergences, saved)
	}
}

// explainUpdater prints the updater's history, and when its next pass is.
func (e *Explanation) explainUpdater(p *output.Page) {
	label := "updater"
	for _, sentence := range e.UpdaterSentences() {
		p.Add(label, "%s", sentence)
		label = ""
	}
}

// UpdaterSentences say what is known of the updater's history, and when its next pass is. There are none where the mode
// needs no updater.
func (e *Explanation) UpdaterSentences() []string {
	var said []string
	say := func(format string, values ...any) { said = append(said, fmt.Sprintf(format, values...)) }
	updater := e.Step.Snapshot.Updater
	switch {
	case updater == nil && !e.Mode.Disrupts():
		return nil
	case updater == nil:
		say("state unknown: %s; assumed to have just started", cmp.Or(e.Step.Snapshot.UpdaterUnknown, "the file has none"))
		if e.Mode.ResizesInPlace() && len(e.Update.ToUpdate) > 0 {
			say("the requests of other pods on the nodes are unknown: a resize may not fit")
		}
		return said
	case updater.LeaseStale:
		say("skips its passes: %s", report.Sentence(reason.LeaseStale))
		return said
	}
	next := "due"
	if in := updater.Time.Add(updater.Interval.Duration).Sub(e.Step.Snapshot.Time).Round(time.Second); in > 0 {
		next = "in about " + summary.DurationText(in)
	}
	last := "no pass yet"
	if !updater.Time.IsZero() {
		last = "last pass at " + e.clock(updater.Time)
	}
	say("state read from the controller; %s, next pass %s", last, next)
	if updater.EvictionsStopped != "" {
		say("evicts nothing in the whole cluster: %s", sentence(updater.EvictionsStopped))
	}
	if left := updater.EvictionsLeft; left != nil {
		say("--max-eviction-percent leaves %d evictions in the whole cluster for now", *left)
	}
	if e.Update.Circuit != reason.None {
		why := report.Sentence(e.Update.Circuit)
		if len(e.Update.Troubled) > 0 {
			why += ": " + strings.Join(e.Update.Troubled, ", ")
		}
		say("stopped since %s: %s", e.clock(updater.State.Circuit.Since), why)
	}
	return said
}

func amountsText(a vertical.Amounts) string {
	var parts []string
	for r := range vertical.Resource(vertical.Resources) {
		if value, ok := a.Get(r); ok {
			parts = append(parts, r.String()+" "+amount(r, value))
		}
	}
	if len(parts) == 0 {
		return "nothing"
	}
	return strings.Join(parts, " and ")
}
