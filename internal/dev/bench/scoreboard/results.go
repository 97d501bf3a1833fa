package scoreboard

import (
	"math"

	"github.com/plimsoll-dev/plimsoll/internal/dev/bench/report"
	"github.com/plimsoll-dev/plimsoll/internal/simulate/score"
)

// Results are the scores.
type Results struct {
	Machine        report.Machine `json:"machine"`
	TargetPercent  int32          `json:"targetPercent"`
	MinReplicas    int32          `json:"minReplicas"`
	MaxReplicas    int32          `json:"maxReplicas"`
	Seeds          int            `json:"seeds"`
	ScoreFromHours float64        `json:"scoreFromHours"`
	// Days are all that were played, and ElapsedSeconds how long that took.
	Days           float64  `json:"days"`
	ElapsedSeconds float64  `json:"elapsedSeconds"`
	Sides          []string `json:"sides"`
	Boards         []Board  `json:"boards"`
}

// Board is all loads with one time to ready and one age of samples.
type Board struct {
	ReadySeconds float64   `json:"readySeconds"`
	Samples      Samples   `json:"samples"`
	Loads        []Load    `json:"loads"`
	Summaries    []Summary `json:"summaries"`
}

// Load has the results of one load: by side, seed by seed.
type Load struct {
	Name string `json:"name"`
	// Hours are the scored hours.
	Hours  float64                  `json:"hours"`
	Scores map[string][]score.Score `json:"scores"`
}

// Summary has the results of one side with all loads.
type Summary struct {
	Side string `json:"side"`
	// ShortSecondsADay is the time short of capacity.
	ShortSecondsADay report.Figure `json:"shortSecondsADay"`
	// RatioOfSums is the time short of capacity of all loads together, relative to upstream's; MedianRatio and MeanRatio,
	// which is the geometric mean, are of the ratios of RatioLoads loads (see Load.shortRatio).
	RatioOfSums report.Figure `json:"ratioOfSums"`
	MedianRatio report.Figure `json:"medianRatio"`
	MeanRatio   report.Figure `json:"meanRatio"`
	RatioLoads  int           `json:"ratioLoads"`
	// MostAdded is the load with the most time short of capacity more than Base, in seconds a day, and MostAddedError
	// the standard error of that; missing with one seed.
	MostAdded      Extreme       `json:"mostAdded"`
	MostAddedError report.Figure `json:"mostAddedError"`
	// PodHoursPercent is the increase of pod-hours over Base, the mean of the loads; MostPodHours the largest.
	PodHoursPercent report.Figure `json:"podHoursPercent"`
	MostPodHours    Extreme       `json:"mostPodHours"`
}

// Extreme is a figure and whose it is.
type Extreme struct {
	Load   string        `json:"load"`
	Figure report.Figure `json:"figure"`
}

// leastSeconds is the resolution of the time short of capacity, with all seeds together.
const leastSeconds = 1

// shortSeconds is a side's time short of capacity, with all seeds together.
func (l *Load) shortSeconds(side string) float64 {
	sum := 0.0
	for i := range l.Scores[side] {
		s := &l.Scores[side][i]
		sum += s.ShortPercent / 100 * s.Hours * 3600
	}
	return sum
}

// days are the scored days, with all seeds together.
func (l *Load) days(side string) float64 {
	sum := 0.0
	for i := range l.Scores[side] {
		sum += l.Scores[side][i].Hours / 24
	}
	return sum
}

// shortRatio is a side's time short of capacity in parts of upstream's; NaN where upstream's is less than a second. A
// side's counts as a second at least: a ratio of 0 would make any geometric mean 0.
func (l *Load) shortRatio(side string) float64 {
	upstream := l.shortSeconds(Upstream)
	if upstream < leastSeconds-1e-6 {
		return math.NaN()
	}
	return max(leastSeconds, l.shortSeconds(side)) / upstream
}

// podHoursPercent is the increase of a side's pod-hours over Base.
func (l *Load) podHoursPercent(side string) float64 {
	mine, base := 0.0, 0.0
	for i := range l.Scores[side] {
		mine += l.Scores[side][i].PodHours
		base += l.Scores[Base][i].PodHours
	}
	return 100 * (mine/base - 1)
}

// added is the increase of a side's seconds short of capacity a day over Base, and the standard error of that mean of
// the seeds' differences: sqrt(sum((d - mean(d))^2) / (n - 1) / n), NaN with one seed.
func (l *Load) added(side string) (mean, standardError float64) {
	n := float64(len(l.Scores[side]))
	differences := make([]float64, len(l.Scores[side]))
	for i := range differences {
		differences[i] = 864 * (l.Scores[side][i].ShortPercent - l.Scores[Base][i].ShortPercent)
		mean += differences[i] / n
	}
	squares := 0.0
	for _, d := range differences {
		squares += (d - mean) * (d - mean)
	}
	return mean, math.Sqrt(squares / (n - 1) / n)
}

func (b *Board) summarize(sides []string) {
	b.Summaries = nil
	for _, side := range sides {
		b.Summaries = append(b.Summaries, b.summary(side))
	}
}

func (b *Board) summary(side string) Summary {
	none := Extreme{Figure: report.Figure(math.Inf(-1))}
	s := Summary{Side: side, MostAdded: none, MostPodHours: none}
	var ratios []float64
	short, upstream, days, logs, hours := 0.0, 0.0, 0.0, 0.0, 0.0
	for i := range b.Loads {
		l := &b.Loads[i]
		short, upstream, days = short+l.shortSeconds(side), upstream+l.shortSeconds(Upstream), days+l.days(side)
		if ratio := l.shortRatio(side); !math.IsNaN(ratio) {
			ratios, logs = append(ratios, ratio), logs+math.Log(ratio)
		}
		if added, standardError := l.added(side); s.MostAdded.raise(l.Name, added) {
			s.MostAddedError = report.Figure(standardError)
		}
		percent := l.podHoursPercent(side)
		hours += percent
		s.MostPodHours.raise(l.Name, percent)
	}
	s.ShortSecondsADay, s.RatioOfSums = report.Figure(short/days), report.Figure(short/upstream)
	s.MedianRatio, s.RatioLoads = report.Figure(report.Median(ratios)), len(ratios)
	s.MeanRatio = report.Figure(math.Exp(logs / float64(len(ratios))))
	s.PodHoursPercent = report.Figure(hours / float64(len(b.Loads)))
	return s
}

// raise adds a load's figure, and reports whether it is the largest yet.
func (e *Extreme) raise(load string, figure float64) bool {
	if !(figure > float64(e.Figure)) {
		return false
	}
	*e = Extreme{load, report.Figure(figure)}
	return true
}

// medianOf is the median of the seeds; NaN if none has a value.
func medianOf(scores []score.Score, of func(s *score.Score) float64) float64 {
	return report.Over(scores, of).Median()
}
