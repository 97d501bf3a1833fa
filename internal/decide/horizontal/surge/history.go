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
	// Confirmation is how long after its last request the surge must show in the stable
	// window: the window's length, and some seconds for the age of samples. Half of it or twice changes the campaign's
	// sums with agents by at most 3 %, those with default kubelets by less than 0.1 %.
	Confirmation = averaging.StableWindow + 5*time.Second
	// latestJudgement is how long the stable window may still show the same load. Until
	// then a metric that fails for a moment delays the judgement.
	latestJudgement = 3 * Confirmation
	// firstDoubt is how long the surge window is ignored after a surge that was not
	// confirmed. It becomes twice as long with each further one, up to longestDoubt.
	firstDoubt, longestDoubt = 10 * time.Minute, 2 * time.Hour
	// Quorum is how many pods prove something together. What fewer show is worth fewMore
	// replicas more than what the stable window shows, until they have shown it for
	// fewFor, with no more than fewGap in between; then it is worth twice the count.
	Quorum  = 3
	fewMore = 1
	fewFor  = 4 * time.Second
	fewGap  = 4 * time.Second
	// morePods is by how much there must be more pods to see whether that helped.
	morePods = 1.25
)

// History is the last surge, and whether earlier ones turned out to be load. Work that each
// pod does by itself, such as renewing a cache, looks like a rising load, but more pods do
// not reduce it: it would multiply the replica count every time.
type History struct {
	// Since is when the surge window began to ask, Last when it last did, and Steady
	// since when it has without a gap. They are zero while no surge is to be confirmed.
	Since  time.Time `json:"since,omitzero"`
	Last   time.Time `json:"last,omitzero"`
	Steady time.Time `json:"steady,omitzero"`
	// Metric is the index of its metric and Source what that is, From the count before it,
	// and Proposed the most that it asked for. Snapshots of earlier versions have that as wish.
	Metric   int    `json:"metric,omitempty"`
	Source   string `json:"source,omitempty"`
	From     int32  `json:"from,omitempty"`
	Proposed int32  `json:"wish,omitempty"`
	// Pods is how many pods carried the load when it asked, and Ratio what they used of
	// the target.
	Pods  int     `json:"pods,omitempty"`
	Ratio float64 `json:"ratio,omitempty"`
	// Unconfirmed is how many surges in a row were not confirmed. Until DoubtedUntil no
	// surge raises the count.
	Unconfirmed  int       `json:"unconfirmed,omitempty"`
	DoubtedUntil time.Time `json:"doubtedUntil,omitzero"`
	// Raised is the count that a surge led to, and Without the one that there would be
	// without it; both are zero where that is the same.
	Raised  int32 `json:"raised,omitempty"`
	Without int32 `json:"without,omitempty"`
}

// Judge applies the history to the result, and adds the result to it. Current is the
// replica count as it is; the results are the stable window's of the specs, index for index.
func (m *History) Judge(now time.Time, r *Result, current int32, specs []source.Spec, results []metric.Result) {
	if current > m.Raised {
		// Another client raised it.
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

// helps reports whether the pods that came since the surge window last asked have taken
// over load: with n pods instead of m each would carry m/n of it. At least half of that
// is to be seen. As long as there are no more pods to speak of, nothing can be.
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

// conclude says whether a surge was one, once the stable window has had its time: it
// must ask for at least half of what the surge window added. As long as the metric
// cannot be computed this is not known. A surge that could not be judged within
// latestJudgement, or whose metric has left the spec or changed, is forgotten without a
// judgement: what the metric shows then may be another load.
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

// isBeforeItsWindow reports whether the stable window may not show the surge yet, as its samples are of the time
// before: averages of pods end at one moment, as long ago as a kubelet takes to renew samples. It waits no longer than
// that, as the clocks of nodes may be behind.
func (m *History) isBeforeItsWindow(now time.Time, r *metric.Result) bool {
	return !r.Oldest.IsZero() && r.Oldest.Before(m.Last.Add(averaging.StableWindow)) &&
		now.Sub(m.Last) < Confirmation+averaging.LongestRenewal
}

// forget ends the surge that is to be judged.
func (m *History) forget() {
	*m = History{Unconfirmed: m.Unconfirmed, DoubtedUntil: m.DoubtedUntil, Raised: m.Raised, Without: m.Without}
}

// sourceOf distinguishes a metric from another one at the same index.
func sourceOf(s *source.Spec) string {
	text := fmt.Sprintf("%s/%s/%s %s %d%% %dm", s.Type, s.Name, s.Container, s.Target.Type, s.Target.Percent,
		s.Target.Milli)
	if s.Identity == "" {
		return text
	}
	return text + " " + s.Identity
}

// needed is how many pods would carry at their target what all use together, by the
// stable window. Pods without samples are taken to be like the others.
func needed(r *metric.Result) float64 {
	return r.Ratio * float64(r.Counts.Counted+r.Counts.Missing+r.Counts.Unsampled)
}

// Decided records what the replica count would be without the surge window, where that
// differs. Lasting is what was asked for without it.
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
