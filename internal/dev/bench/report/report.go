// Package report prints what benchmarks measure: medians with their spread, aligned tables, JSON files, and the
// progress of long measurements.
package report

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
)

// Spread is the spread of one number over several runs.
type Spread struct {
	// Runs are the values in the order in which they were measured.
	Runs []float64
}

// Of returns the spread of measured values. It omits NaN, from runs without a measurement.
func Of(values ...float64) Spread {
	isNoNumber := func(v float64) bool { return math.IsNaN(v) || math.IsInf(v, 0) }
	return Spread{Runs: slices.DeleteFunc(slices.Clone(values), isNoNumber)}
}

// Median is the middle of the runs, the mean of the two in the middle if their number is even; NaN without runs.
func (s Spread) Median() float64 { return Median(s.Runs) }

// Least and Most are the ends of the spread; NaN without runs.
func (s Spread) Least() float64 { return Quantile(s.Runs, 0) }

// Most is the upper end of the spread.
func (s Spread) Most() float64 { return Quantile(s.Runs, 1) }

// String is the median and, where the runs differ from it, the spread behind it: "12.3 (11.9 to 14.0)".
func (s Spread) String() string {
	if len(s.Runs) == 0 {
		return "-"
	}
	median, decimals := s.Median(), decimalsFor(s.Median())
	least, most := number(s.Least(), decimals), number(s.Most(), decimals)
	if text := number(median, decimals); least != text || most != text {
		return fmt.Sprintf("%s (%s to %s)", text, least, most)
	}
	return number(median, decimals)
}

// MarshalJSON writes the median, the spread and the runs; null without runs.
func (s Spread) MarshalJSON() ([]byte, error) {
	if len(s.Runs) == 0 {
		return []byte("null"), nil
	}
	runs := make([]float64, len(s.Runs))
	for i, run := range s.Runs {
		runs[i] = significant(run)
	}
	text, err := json.Marshal(struct {
		Median float64   `json:"median"`
		Min    float64   `json:"min"`
		Max    float64   `json:"max"`
		Runs   []float64 `json:"runs"`
	}{significant(s.Median()), significant(s.Least()), significant(s.Most()), runs})
	if err != nil {
		return nil, fmt.Errorf("spread of %v: %w", s.Runs, err)
	}
	return text, nil
}

// significant keeps six digits: no measurement here is better.
func significant(value float64) float64 {
	rounded, err := strconv.ParseFloat(strconv.FormatFloat(value, 'g', 6, 64), 64)
	if err != nil {
		return value
	}
	return rounded
}

// Median is the middle of values, which stay as they are; NaN if there are none.
func Median(values []float64) float64 {
	if len(values) == 0 {
		return math.NaN()
	}
	sorted := slices.Sorted(slices.Values(values))
	middle := len(sorted) / 2
	if len(sorted)%2 == 0 {
		return (sorted[middle-1] + sorted[middle]) / 2
	}
	return sorted[middle]
}

// Quantile is the nearest rank: the least of values that at least the fraction q of them do not exceed. It is always
// one of them, so that a p99 is something that happened; NaN if there are none.
func Quantile(values []float64, q float64) float64 {
	if len(values) == 0 || math.IsNaN(q) {
		return math.NaN()
	}
	sorted := slices.Sorted(slices.Values(values))
	rank := int(math.Ceil(q * float64(len(sorted))))
	return sorted[min(max(rank-1, 0), len(sorted)-1)]
}

// decimalsFor gives three significant digits, and no more than three decimals.
func decimalsFor(value float64) int {
	switch size := math.Abs(value); {
	case size >= 100 || size == 0:
		return 0
	case size >= 10:
		return 1
	case size >= 1:
		return 2
	default:
		return 3
	}
}

func number(value float64, decimals int) string { return fmt.Sprintf("%.*f", decimals, value) }

// Number is a value with three significant digits; "-" if it is none.
func Number(value float64) string {
	if math.IsNaN(value) || math.IsInf(value, 0) {
		return "-"
	}
	return number(value, decimalsFor(value))
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

// WriteJSON writes value to a file, as a whole or not at all, and makes its folder.
func WriteJSON(path string, value any) error {
	text, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		return fmt.Errorf("results for %s: %w", path, err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("folder of results: %w", err)
	}
	file, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*")
	if err != nil {
		return fmt.Errorf("write results: %w", err)
	}
	_, err = file.Write(append(text, '\n'))
	if err = errors.Join(err, file.Chmod(0o644), file.Close()); err == nil {
		err = os.Rename(file.Name(), path)
	}
	if err != nil {
		return fmt.Errorf("write results: %w", errors.Join(err, os.Remove(file.Name())))
	}
	return nil
}
