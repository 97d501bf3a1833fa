package present

import (
	"fmt"
	"math"
	"strconv"
	"strings"
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

// briefRow is a line of the short table.
type briefRow struct {
	name string
	text func(s *score.Score) string
}

// brief are the rows that answer whether it was enough, what users noticed, what it cost, and how restless it was.
var brief = []briefRow{
	{"time short of capacity", short},
	{"requests lost", func(s *score.Score) string { return percent(s.LostPercent, s) + " %" }},
	{"pod-hours", func(s *score.Score) string { return number(s.PodHours, s) }},
	{"changes", func(s *score.Score) string { return actions(float64(s.Actions), s) }},
	{"worst minute", worstMinute},
	{"recovery from surges", recoveries},
}

// atMaxRows say for how long maxReplicas was too few. They are shown where it was for any run.
var atMaxRows = []briefRow{
	{"time above the target", func(s *score.Score) string { return percent(s.AboveTargetPercent, s) + " %" }},
	{"  at maxReplicas", func(s *score.Score) string { return percent(s.AboveAtMaxPercent, s) + " %" }},
}

// lostRow is the one that says nothing of a queue, which loses no requests; waitRow is what users notice of that.
const lostRow = 1

var waitRow = briefRow{"99 % of requests within", func(s *score.Score) string { return latency(s.P99Seconds, s) }}

func short(s *score.Score) string {
	if s.ShortPercent == 0 {
		return "none"
	}
	return fmt.Sprintf("%s %% (at most %s)", percent(s.ShortPercent, s), seconds(s.LongestShortSeconds, s))
}

func worstMinute(s *score.Score) string {
	if s.WorstMinutePercent == 0 {
		return "none short"
	}
	return fmt.Sprintf("%.0f %% short, at %s", max(1, s.WorstMinutePercent), seconds(s.WorstMinuteSeconds, s))
}

func recoveries(s *score.Score) string {
	switch n := len(s.RecoverySeconds); {
	case s.Surges == 0:
		return "no surge"
	case n == 0:
		return "never"
	case s.Unrecovered > 0:
		return fmt.Sprintf("%s (%d of %d never)", seconds(s.MedianRecoverySeconds, s), s.Unrecovered, s.Surges)
	case n == 1:
		return seconds(s.MedianRecoverySeconds, s)
	}
	return fmt.Sprintf("%s (at most %s)", seconds(s.MedianRecoverySeconds, s), seconds(s.WorstRecoverySeconds, s))
}

// rows are all that a score says, in the order in which people ask: what it costs, whether it was enough, what users
// noticed, how restless it was.
var rows = []row{
	{"pod-hours", "pod_hours", func(s *score.Score) float64 { return s.PodHours }, number},
	{"node-hours", "node_hours", func(s *score.Score) float64 { return s.NodeHours }, nodes},
	{"cost", "cost", func(s *score.Score) float64 { return s.Cost }, number},
	{"short of capacity, % of the time", "short_percent", func(s *score.Score) float64 { return s.ShortPercent }, percent},
	{"  missing then, % of the load", "short_depth_percent", func(s *score.Score) float64 { return s.ShortDepthPercent },
		percent},
	{"  longest", "longest_short_seconds", func(s *score.Score) float64 { return s.LongestShortSeconds }, seconds},
	{"  worst minute, % of the load", "worst_minute_percent",
		func(s *score.Score) float64 { return s.WorstMinutePercent }, percent},
	{"  worst minute, began at", "worst_minute_seconds", func(s *score.Score) float64 { return s.WorstMinuteSeconds },
		seconds},
	{"above the target, % of the time", "above_target_percent",
		func(s *score.Score) float64 { return s.AboveTargetPercent }, percent},
	{"  at maxReplicas, % of the time", "above_at_max_percent",
		func(s *score.Score) float64 { return s.AboveAtMaxPercent }, percent},
	{"pods missing, % of those needed", "theta_u", func(s *score.Score) float64 { return s.ThetaU }, percent},
	{"pods too many, % of those needed", "theta_o", func(s *score.Score) float64 { return s.ThetaO }, percent},
	{"too few pods, % of the time", "tau_u", func(s *score.Score) float64 { return s.TauU }, percent},
	{"too many pods, % of the time", "tau_o", func(s *score.Score) float64 { return s.TauO }, percent},
	{"instability, % of the time", "instability", func(s *score.Score) float64 { return s.Instability }, percent},
	{"requests", "requests", func(s *score.Score) float64 { return s.Requests }, whole},
	{"  lost, %", "lost_percent", func(s *score.Score) float64 { return s.LostPercent }, percent},
	{"  slow, %", "slow_percent", func(s *score.Score) float64 { return s.SlowPercent }, percent},
	{"latency, median", "p50_seconds", func(s *score.Score) float64 { return s.P50Seconds }, latency},
	{"latency, 99th percentile", "p99_seconds", func(s *score.Score) float64 { return s.P99Seconds }, latency},
	{"changes", "actions", func(s *score.Score) float64 { return float64(s.Actions) }, actions},
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

// seconds is a time without units that are 0: 5m and not 5m0s.
func seconds(v float64, _ *score.Score) string {
	text := (time.Duration(v*10) * time.Second / 10).String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
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
