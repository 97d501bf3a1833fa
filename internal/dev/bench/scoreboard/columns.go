package scoreboard

import (
	"math"

	"github.com/plimsoll-dev/plimsoll/internal/simulate/score"
)

// column is one measure of the table.
type column struct {
	head string
	of   func(s *score.Score) float64
	// decimals are shown.
	decimals int
}

var columns = []column{
	{"pod-hours", func(s *score.Score) float64 { return s.PodHours }, 1},
	{"short, % of time", func(s *score.Score) float64 { return s.ShortPercent }, 3},
	{"longest, s", func(s *score.Score) float64 { return s.LongestShortSeconds }, 0},
	{"lost, %", func(s *score.Score) float64 { return s.LostPercent }, 3},
	{"slow, %", func(s *score.Score) float64 { return s.SlowPercent }, 3},
	{"p99, ms", func(s *score.Score) float64 { return 1000 * s.P99Seconds }, 0},
	{"θU, %", func(s *score.Score) float64 { return s.ThetaU }, 2},
	{"θO, %", func(s *score.Score) float64 { return s.ThetaO }, 1},
	{"τU, %", func(s *score.Score) float64 { return s.TauU }, 1},
	{"τO, %", func(s *score.Score) float64 { return s.TauO }, 1},
	{"υ, %", func(s *score.Score) float64 { return s.Instability }, 2},
	{"actions a day", func(s *score.Score) float64 { return float64(s.Actions) * 24 / s.Hours }, 0},
	{"turned round a day", func(s *score.Score) float64 { return float64(s.Reverses) * 24 / s.Hours }, 0},
	{"recovery, s", recovery, 0},
	{"worst, s", worst, 0},
}

// recovery is missing where there was no surge.
func recovery(s *score.Score) float64 {
	if len(s.RecoverySeconds) == 0 {
		return math.NaN()
	}
	return s.MedianRecoverySeconds
}

func worst(s *score.Score) float64 {
	if len(s.RecoverySeconds) == 0 {
		return math.NaN()
	}
	return s.WorstRecoverySeconds
}
