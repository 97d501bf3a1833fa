package surge

import (
	"fmt"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/decide/arithmetic"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/averaging"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric/source"
)

const (
	// Confirmation is the time after its last proposal within which the surge must show in the stable window: the window's
	// length, and some seconds for the age of samples. Half of it or twice changes the campaign's sums with agents by at
	// most 3 %, those with default kubelets by less than 0.1 %.
	Confirmation = averaging.StableWindow + 5*time.Second
	// latestJudgement is the time for which the stable window may still show the same load. Until then the failure of a
	// metric delays the judgement.
	latestJudgement = 3 * Confirmation
	// firstDoubt is the time for which the surge window is ignored after a surge that was not confirmed. It doubles with
	// each further one, up to longestDoubt.
	firstDoubt, longestDoubt = 10 * time.Minute, 2 * time.Hour
	// Quorum is the number of pods that suffice as evidence. Fewer may raise the count by fewMore replicas above the
	// stable window's proposal, until they have shown the surge for fewFor, with gaps of at most fewGap; then they may
	// double the count. Half of fewFor or twice changes the campaign's sums by less than 0.5 %.
	Quorum  = 3
	fewMore = 1
	fewFor  = 4 * time.Second
	fewGap  = 4 * time.Second
	// morePods is the factor by which the number of pods must have grown to judge whether more pods help. With 1.1 and 1.5
	// the campaign's sums with agents differ by at most 2 %, those with default kubelets not at all.
	morePods = 1.25
)

// History has the last surge, and whether earlier ones turned out to be load. Work that each pod does by itself, such
// as renewing a cache, looks like a rising load, but more pods do not reduce it: it would multiply the replica count
// every time.
type History struct {
	// Since is when the surge window's first proposal was, Last when its last one was, and Steady since when it has
	// proposed without a gap. They are zero while no surge awaits confirmation.
	Since  time.Time `json:"since,omitzero"`
	Last   time.Time `json:"last,omitzero"`
	Steady time.Time `json:"steady,omitzero"`
	// Metric is the index of its metric and Source identifies that, From is the count before it, and Proposed the largest
	// count that it proposed. Snapshots of earlier versions call that wish.
	Metric   int    `json:"metric,omitempty"`
	Source   string `json:"source,omitempty"`
	From     int32  `json:"from,omitempty"`
	Proposed int32  `json:"wish,omitempty"`
	// Pods is the number of pods that carried the load at its proposal, and Ratio their use as a multiple of the target.
	Pods  int     `json:"pods,omitempty"`
	Ratio float64 `json:"ratio,omitempty"`
	// Unconfirmed is the number of surges in a row that were not confirmed. Until DoubtedUntil no surge raises the count.
	Unconfirmed  int       `json:"unconfirmed,omitempty"`
	DoubtedUntil time.Time `json:"doubtedUntil,omitzero"`
	// Raised is the count that a surge led to, and Without the one that there would be without it; both are zero if these
	// are equal.
	Raised  int32 `json:"raised,omitempty"`
	Without int32 `json:"without,omitempty"`
}

// Judge applies the history to the result, and adds the result to it. current is the present replica count; results are
// those of the stable window, in the order of the specs.
func (m *History) Judge(now time.Time, r *Result, current int32, specs []source.Spec, results []metric.Result) {
	if current > m.Raised {
		// Another writer raised the count.
		m.Raised, m.Without = 0, 0
	}
	m.conclude(now, specs, results)
	isDoubted := now.Before(m.DoubtedUntil)
	r.Suspicious = r.Suspicious && !isDoubted
	if !r.Proposes() {
		return
	}
	if m.Since.IsZero() {
		m.Since, m.Metric, m.Source, m.From, m.Proposed = now, r.Metric, sourceOf(&specs[r.Metric]), current, 0
		m.Pods, m.Ratio = r.carrying(), r.Ratio
	}
	if now.Sub(m.Last) > fewGap {
		m.Steady = now
	}
	m.Last = now
	stable := max(current, results[r.Metric].Replicas)
	if r.Counted < Quorum {
		r.cap(arithmetic.Saturate.Trunc32(2*float64(stable)), stable, NotHigher)
	}
	if !m.helps(r) {
		r.cap(m.Proposed, stable, Unhelped)
	}
	m.Proposed = max(m.Proposed, r.Replicas)
	if r.Counted < Quorum && now.Sub(m.Steady) < fewFor {
		r.cap(arithmetic.Saturate.Ceil32(needed(&results[r.Metric])+fewMore), stable, Brief)
	}
	if r.Proposes() && isDoubted {
		r.Verdict = Doubted
	}
}

func (r *Result) cap(most, stable int32, verdict Verdict) {
	if r.Replicas <= most {
		return
	}
	if r.Replicas = most; most <= stable {
		r.Verdict = verdict
	}
}

// helps reports whether the pods that came since the surge window last asked have taken over load: with n pods instead
// of m each would carry m/n of it. At least half of that reduction must show. It cannot while the number of pods has
// hardly grown.
func (m *History) helps(r *Result) bool {
	pods := r.carrying()
	if float64(pods) < morePods*float64(m.Pods) {
		m.Ratio = max(m.Ratio, r.Ratio)
		return true
	}
	if r.Ratio > m.Ratio*(1+float64(m.Pods)/float64(pods))/2 {
		return false
	}
	m.Pods, m.Ratio = pods, r.Ratio
	return true
}

// conclude judges a surge once the stable window must show it: that must propose at least half of what the surge window
// added. It cannot judge while the metric fails. A surge that could not be judged within latestJudgement, or whose
// metric was removed from the spec or changed, is dropped without a judgement: the metric may show another load then.
func (m *History) conclude(now time.Time, specs []source.Spec, results []metric.Result) {
	if m.Since.IsZero() || now.Sub(m.Last) < Confirmation {
		return
	}
	isThere := m.Metric < len(results) && (m.Source == "" || m.Source == sourceOf(&specs[m.Metric]))
	if !isThere || now.Sub(m.Last) > latestJudgement {
		m.forget()
		return
	}
	if results[m.Metric].Failure != nil || results[m.Metric].Pending || m.isBeforeItsWindow(now, &results[m.Metric]) {
		return
	}
	isConfirmed := 2*needed(&results[m.Metric]) >= float64(m.From)+float64(m.Proposed)
	m.forget()
	if isConfirmed {
		m.Raised, m.Without, m.Unconfirmed, m.DoubtedUntil = 0, 0, 0, time.Time{}
		return
	}
	if now.Sub(m.DoubtedUntil) > longestDoubt {
		m.Unconfirmed = 0
	}
	doubt := min(firstDoubt<<min(m.Unconfirmed, 8), longestDoubt)
	m.Unconfirmed, m.DoubtedUntil = m.Unconfirmed+1, now.Add(doubt)
}

// isBeforeItsWindow reports whether the stable window may not include the surge yet, because its samples are too old:
// averages of pods end at one moment, as long ago as a kubelet takes to renew samples. It waits no longer than that,
// because the clocks of nodes may be slow.
func (m *History) isBeforeItsWindow(now time.Time, r *metric.Result) bool {
	return !r.Oldest.IsZero() && r.Oldest.Before(m.Last.Add(averaging.StableWindow)) &&
		now.Sub(m.Last) < Confirmation+averaging.LongestRenewal
}

// forget ends the surge that is to be judged.
func (m *History) forget() {
	*m = History{Unconfirmed: m.Unconfirmed, DoubtedUntil: m.DoubtedUntil, Raised: m.Raised, Without: m.Without}
}

// sourceOf returns a text that distinguishes a metric from another one at the same index.
func sourceOf(s *source.Spec) string {
	text := fmt.Sprintf("%s/%s/%s %s %d%% %dm", s.Type, s.Name, s.Container, s.Target.Type, s.Target.Percent,
		s.Target.Milli)
	if s.Identity == "" {
		return text
	}
	return text + " " + s.Identity
}

// needed returns the number of pods that would carry the total use at their target, by the stable window. Pods without
// samples are assumed to be like the others.
func needed(r *metric.Result) float64 {
	return r.Ratio * float64(r.Counts.Counted+r.Counts.Missing+r.Counts.Unsampled)
}

// Decided records the replica count that there would be without the surge window, if it differs. lasting is the
// proposal without it.
func (m *History) Decided(current, desired, lasting int32, bySurge bool) {
	if m.Without == 0 {
		if !bySurge || desired <= current {
			return
		}
		m.Without = current
	}
	m.Raised, m.Without = desired, max(m.Without, lasting)
	if desired <= m.Without {
		m.Raised, m.Without = 0, 0
	}
}
