package horizontal

import (
	"fmt"
	"strings"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/decide/arithmetic"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/behavior"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/projection"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/proposal"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/summary"
)

// limits are those that need no numbers.
var limits = map[projection.Limit]string{
	projection.Unusable:     "missing input, see conditions",
	projection.Maintenance:  "0 replicas of the target, which disables autoscaling",
	projection.Paused:       "the mode, which is Paused",
	projection.NewerSamples: "newer samples, which a scale-down needs",
	projection.SyncPeriod:   "the sync period: new samples alone lower the count once in it",
	projection.FirstReplica: "windows and rate policies of scaleUp, which let no more than the first replica come at once",
	projection.ActiveMetric: "an active metric, which needs a replica at least",
	projection.Inactive:     "no metric is active, so that their values ask for no replica",
}

// limitText is the limit that binds, and as far as it is known until when.
func (r *Result) limitText() string {
	d := &r.Decision
	limit, i := projection.Binding(d)
	if text, ok := limits[limit]; ok {
		return text
	}
	switch limit {
	case projection.None:
		return r.noLimitText()
	case projection.Tolerance:
		return r.toleranceText()
	case projection.Stabilization:
		return stabilizationLimit(&d.Stabilized, d.At)
	case projection.ScaleUpRate, projection.ScaleDownRate:
		return r.rateLimit(limit == projection.ScaleUpRate)
	case projection.MinReplicas:
		return fmt.Sprintf("minReplicas %d", d.Bounds.MinReplicas)
	case projection.MaxReplicas:
		return fmt.Sprintf("maxReplicas %d", d.Bounds.MaxReplicas)
	case projection.ScheduleMin:
		return fmt.Sprintf("minReplicas %d of %s", d.Bounds.MinReplicas, d.Schedules.MinBy.Describe())
	case projection.ScheduleMax:
		return fmt.Sprintf("maxReplicas %d of %s", d.Bounds.MaxReplicas, d.Schedules.MaxBy.Describe())
	case projection.Cooldown:
		return workload{r}.cooldownLimit()
	default:
		return r.podsLimit(limit, i)
	}
}

// toleranceText says that nothing is wrong: the metrics are close enough to their targets.
func (r *Result) toleranceText() string {
	t := r.Policy.Tolerance
	of := short(100*t.Up) + " %"
	if t.Down != t.Up {
		of = fmt.Sprintf("%s above the target and %s %% below it", of, short(100*t.Down))
	}
	return fmt.Sprintf("nothing: within the tolerance of %s (usage ratios from %s to %s)", of, short(1-t.Down),
		short(1+t.Up))
}

// noLimitText names what proposed the count if it was no metric.
func (r *Result) noLimitText() string {
	winner := r.Decision.Winner()
	if r.Decision.Branch != horizontal.BranchMetrics || winner.Source == proposal.Metric {
		return "no limit"
	}
	return "no limit; proposed by " + sourceText(winner)
}

func stabilizationLimit(s *behavior.Stabilized, now time.Time) string {
	what := "stabilization window of scaleDown"
	switch {
	case s.IsPassing:
		what = fmt.Sprintf("a surge, whose count is held for %s,", summary.DurationText(s.Window))
	case s.Reason == behavior.ScaleUpStabilized:
		what = "stabilization window of scaleUp"
	}
	return fmt.Sprintf("%s until %s, or longer if newer recommendations do not agree",
		what, summary.Clock(s.By.Time.Add(s.Window), now))
}

func (r *Result) rateLimit(up bool) string {
	rules, b := "scaleDown", r.Policy.Behavior
	if up {
		rules = "scaleUp"
	}
	switch {
	case r.Decision.Limited.IsDoublingHeld:
		return "one doubling until an answer is newer than the last scale-up"
	case b != nil && b.Rules(up).Select == behavior.SelectDisabled:
		return fmt.Sprintf("selectPolicy Disabled of %s", rules)
	default:
		return "rate policies of " + rules
	}
}

// podsLimit is a limit by the pods that count for metric i.
func (r *Result) podsLimit(limit projection.Limit, i int) string {
	result := &r.Decision.Metrics[i]
	text := ""
	switch limit {
	case projection.NoReadyPods:
		text = "no pod is ready"
	case projection.AssumedValues:
		text = assumedText(result)
	case projection.FewerPods:
		text = r.fewerPodsText(result)
	case projection.MorePods:
		n := result.Counts.Counted + result.Counts.Unsampled
		text = fmt.Sprintf("%s beyond the %d replicas; %s", podsText(n-int(r.Decision.Current), ""), r.Decision.Current,
			askedText(result))
	}
	if len(r.Decision.Metrics) > 1 {
		text += fmt.Sprintf(" (metric %d)", i+1)
	}
	return text
}

// assumedText is for which pods values are assumed, and what they make of the ratio.
func assumedText(result *metric.Result) string {
	n := &result.Counts
	var of []string
	if n.Missing > 0 {
		of = append(of, podsText(n.Missing, "missing "))
	}
	if n.Unready > 0 && result.Ratio > 1 {
		of = append(of, podsText(n.Unready, "unready "))
	}
	return fmt.Sprintf("values assumed for %s: usage ratio %s instead of %s", strings.Join(of, " and "),
		short(result.Adjusted), short(result.Ratio))
}

// fewerPodsText is how many replicas do not exist, or do not count.
func (r *Result) fewerPodsText(result *metric.Result) string {
	current, n := int(r.Decision.Current), &result.Counts
	counted := n.Counted + n.Unsampled
	switch existing := n.Pods(); {
	case result.Groups == nil:
		return fmt.Sprintf("fewer pods are ready than the target has replicas (%d)", current)
	case existing < current:
		return fmt.Sprintf("%d of %d replicas %s; %s", current-existing, current, lackText(current-existing, n.Ignored),
			askedText(result))
	default:
		return fmt.Sprintf("%d of %d replicas do not count; %s", current-counted, current, askedText(result))
	}
}

// lackText is why so many replicas are not there, where some pods are ignored.
func lackText(lacking, ignored int) string {
	const ended = "do not count: pods that failed, finished or are being deleted"
	switch {
	case ignored == 0:
		return "do not exist (yet)"
	case ignored < lacking:
		return ended + ", and some that do not exist (yet)"
	}
	return ended
}

// askedText is what the pods that count ask for.
func askedText(result *metric.Result) string {
	n := result.Counts.Counted + result.Counts.Unsampled
	asked := arithmetic.Saturate.Ceil32(result.Ratio * float64(n))
	if result.Base > 0 {
		asked = result.Replicas
	}
	if n == 1 {
		return fmt.Sprintf("the 1 pod that counts asks for %d", asked)
	}
	return fmt.Sprintf("the %d pods that count ask for %d", n, asked)
}

// podsText is "1 missing pod" or "2 missing pods".
func podsText(n int, kind string) string {
	if n == 1 {
		return fmt.Sprintf("1 %spod", kind)
	}
	return fmt.Sprintf("%d %spods", n, kind)
}
