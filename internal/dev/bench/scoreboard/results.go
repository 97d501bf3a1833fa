package scoreboard

import (
	"encoding/json"
	"math"
	"slices"

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
	ShortSecondsADay Figure `json:"shortSecondsADay"`
	// RatioOfSums is the time short of capacity of all loads together, relative to upstream's; MedianRatio and MeanRatio,
	// which is the geometric mean, are of the ratios of RatioLoads loads (see Load.shortRatio).
	RatioOfSums Figure `json:"ratioOfSums"`
	MedianRatio Figure `json:"medianRatio"`
	MeanRatio   Figure `json:"meanRatio"`
	RatioLoads  int    `json:"ratioLoads"`
	// MostAdded is the load with the most time short of capacity more than Base, in seconds a day, and MostAddedError
	// the standard error of that; missing with one seed.
	MostAdded      Extreme `json:"mostAdded"`
	MostAddedError Figure  `json:"mostAddedError"`
	// PodHoursPercent is the increase of pod-hours over Base, the mean of the loads; MostPodHours the largest.
	PodHoursPercent Figure  `json:"podHoursPercent"`
	MostPodHours    Extreme `json:"mostPodHours"`
}

// Extreme is a figure and whose it is.
type Extreme struct {
	Load   string `json:"load"`
	Figure Figure `json:"figure"`
}

// Figure is a number that may be missing, as NaN.
type Figure float64

// MarshalJSON gives null for what is missing, as JSON has no NaN.
func (f Figure) MarshalJSON() ([]byte, error) {
	if math.IsNaN(float64(f)) || math.IsInf(float64(f), 0) {
		return []byte("null"), nil
	}
	return json.Marshal(float64(f))
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
	s := Summary{
		Side: side, MostAdded: Extreme{Figure: Figure(math.Inf(-1))}, MostPodHours: Extreme{Figure: Figure(math.Inf(-1))},
	}
	var ratios []float64
	short, upstream, days, logs, hours := 0.0, 0.0, 0.0, 0.0, 0.0
	for i := range b.Loads {
		l := &b.Loads[i]
		short, upstream, days = short+l.shortSeconds(side), upstream+l.shortSeconds(Upstream), days+l.days(side)
		if ratio := l.shortRatio(side); !math.IsNaN(ratio) {
			ratios, logs = append(ratios, ratio), logs+math.Log(ratio)
		}
		if added, standardError := l.added(side); s.MostAdded.raise(l.Name, added) {
			s.MostAddedError = Figure(standardError)
		}
		percent := l.podHoursPercent(side)
		hours += percent
		s.MostPodHours.raise(l.Name, percent)
	}
	s.ShortSecondsADay, s.RatioOfSums = Figure(short/days), Figure(short/upstream)
	s.MedianRatio, s.RatioLoads = Figure(middle(ratios)), len(ratios)
	s.MeanRatio = Figure(math.Exp(logs / float64(len(ratios))))
	s.PodHoursPercent = Figure(hours / float64(len(b.Loads)))
	return s
}

// raise adds a load's figure, and reports whether it is the largest yet.
func (e *Extreme) raise(load string, figure float64) bool {
	if !(figure > float64(e.Figure)) {
		return false
	}
	*e = Extreme{load, Figure(figure)}
	return true
}

// medianOf is the median of the seeds; NaN if none has a value.
func medianOf(scores []score.Score, of func(s *score.Score) float64) float64 {
	var values []float64
	for i := range scores {
		if v := of(&scores[i]); !math.IsNaN(v) {
			values = append(values, v)
		}
	}
	return middle(values)
}

// middle is the median; NaN if there is nothing.
func middle(values []float64) float64 {
	if len(values) == 0 {
		return math.NaN()
	}
	return score.Median(slices.Sorted(slices.Values(values)))
}
