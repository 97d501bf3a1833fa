package present

import (
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/simulate/score"
)

// row is a line of the score table.
type row struct {
	// name is for people, field the name in CSV.
	name, field string
	value       func(s *score.Score) float64
	text        func(v float64, s *score.Score) string
}

// rows are what a score says, in the order in which people ask: what it costs, whether
// it was enough, what users noticed, how restless it was.
var rows = []row{
	{"pod-hours", "pod_hours", func(s *score.Score) float64 { return s.PodHours }, number},
	{"node-hours", "node_hours", func(s *score.Score) float64 { return s.NodeHours }, nodes},
	{"cost", "cost", func(s *score.Score) float64 { return s.Cost }, number},
	{"short of capacity, % of the time", "short_percent", func(s *score.Score) float64 { return s.ShortPercent }, percent},
	{"  lacking then, % of the load", "short_depth_percent", func(s *score.Score) float64 { return s.ShortDepthPercent },
		percent},
	{"  longest", "longest_short_seconds", func(s *score.Score) float64 { return s.LongestShortSeconds }, seconds},
	{"θU, too few pods by, %", "theta_u", func(s *score.Score) float64 { return s.ThetaU }, percent},
	{"θO, too many pods by, %", "theta_o", func(s *score.Score) float64 { return s.ThetaO }, percent},
	{"τU, too few, % of the time", "tau_u", func(s *score.Score) float64 { return s.TauU }, percent},
	{"τO, too many, % of the time", "tau_o", func(s *score.Score) float64 { return s.TauO }, percent},
	{"υ, instability, %", "instability", func(s *score.Score) float64 { return s.Instability }, percent},
	{"requests", "requests", func(s *score.Score) float64 { return s.Requests }, whole},
	{"  lost, %", "lost_percent", func(s *score.Score) float64 { return s.LostPercent }, percent},
	{"  slow, %", "slow_percent", func(s *score.Score) float64 { return s.SlowPercent }, percent},
	{"latency p50", "p50_seconds", func(s *score.Score) float64 { return s.P50Seconds }, latency},
	{"latency p99", "p99_seconds", func(s *score.Score) float64 { return s.P99Seconds }, latency},
	{"scale actions", "actions", func(s *score.Score) float64 { return float64(s.Actions) }, actions},
	{"  turned round", "reverses", func(s *score.Score) float64 { return float64(s.Reverses) }, whole},
	{"surges", "surges", func(s *score.Score) float64 { return float64(s.Surges) }, whole},
	{"  recovered after, median", "median_recovery_seconds",
		func(s *score.Score) float64 { return s.MedianRecoverySeconds }, recovery},
	{"  recovered after, worst", "worst_recovery_seconds", func(s *score.Score) float64 { return s.WorstRecoverySeconds },
		recovery},
	{"  never recovered", "unrecovered", func(s *score.Score) float64 { return float64(s.Unrecovered) }, whole},
}

func number(v float64, _ *score.Score) string {
	switch {
	case v >= 1000:
		return strconv.FormatFloat(v, 'f', 0, 64)
	case v >= 100:
		return strconv.FormatFloat(v, 'f', 1, 64)
	}
	return strconv.FormatFloat(v, 'f', 2, 64)
}

func nodes(v float64, s *score.Score) string {
	if v == 0 {
		return "-"
	}
	return number(v, s)
}

func percent(v float64, _ *score.Score) string {
	if v > 0 && v < 0.01 {
		return "<0.01"
	}
	return strconv.FormatFloat(v, 'f', 2, 64)
}

func whole(v float64, _ *score.Score) string { return strconv.FormatFloat(math.Round(v), 'f', 0, 64) }

func seconds(v float64, _ *score.Score) string {
	return (time.Duration(v*10) * time.Second / 10).String()
}

func latency(v float64, _ *score.Score) string {
	if v < 1 {
		return strconv.FormatFloat(v*1000, 'f', 0, 64) + "ms"
	}
	return strconv.FormatFloat(v, 'f', 1, 64) + "s"
}

func actions(v float64, s *score.Score) string {
	return fmt.Sprintf("%.0f (%d up, %d down)", v, s.Ups, s.Downs)
}

func recovery(v float64, s *score.Score) string {
	if len(s.RecoverySeconds) == 0 {
		return "-"
	}
	return seconds(v, s)
}
