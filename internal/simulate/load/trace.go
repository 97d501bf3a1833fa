package load

import (
	"bufio"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/workloadmodel"
)

// What is read at most: a trace of five years at a minute each, and no more bytes
// than such a one has, however well they are packed.
const (
	maxRows      = 3_000_000
	maxBytes     = 256 << 20
	maxLineBytes = 4096
	// maxUnix is the year 9999, maxSeconds a hundred years.
	maxUnix    = 253_402_300_799
	maxSeconds = 100 * 366 * 86400
	// maxValue keeps sums finite.
	maxValue = 1e15
)

// openTrace reads a trace from a file, gzip'd if its name ends in .gz.
func openTrace(name string) (*Load, error) {
	file, err := os.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil,
			fmt.Errorf("load %q: no such file; a shape begins with step:, ramp:, sine:, poisson: or generated: instead", name)
	}
	if err != nil {
		return nil, fmt.Errorf("load: %w", err)
	}
	defer file.Close()
	return ReadTrace(name, file)
}

// ReadTrace reads a trace: lines of timestamp,value in Unix seconds or as in RFC 3339, oldest first,
// under a heading that may be missing.
func ReadTrace(name string, r io.Reader) (*Load, error) {
	if strings.HasSuffix(name, ".gz") {
		unpacked, err := gzip.NewReader(r)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		r = unpacked
	}
	t := trace{limited: &io.LimitedReader{R: r, N: maxBytes}}
	if err := t.read(); err != nil {
		return nil, fmt.Errorf("%s:%d: %w", name, t.line, err)
	}
	shape, err := t.shape()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return &Load{
		Name: name, Length: t.length(), Peak: t.peak, Burstiness: math.NaN(), Start: time.Unix(int64(t.seconds[0]), 0).UTC(),
		shape: shape, speedUp: 1, gaps: t.gaps, rows: t.rows(),
	}, nil
}

// trace is one that is being read.
type trace struct {
	limited *io.LimitedReader
	line    int
	seconds []float64
	values  []float64
	peak    float64
	gaps    []gap
}

func (t *trace) read() error {
	lines := bufio.NewScanner(t.limited)
	lines.Buffer(make([]byte, 0, maxLineBytes), maxLineBytes)
	for lines.Scan() {
		t.line++
		text := strings.TrimSpace(lines.Text())
		if text == "" || strings.HasPrefix(text, "#") || t.line == 1 && isHeading(text) {
			continue
		}
		if len(t.values) == maxRows {
			return fmt.Errorf("more than %d rows", maxRows)
		}
		if err := t.take(text); err != nil {
			return err
		}
	}
	if err := lines.Err(); err != nil {
		t.line++
		return err
	}
	if t.limited.N <= 0 {
		return fmt.Errorf("more than %d MiB", maxBytes>>20)
	}
	if len(t.values) < 2 {
		return fmt.Errorf("%d rows of timestamp,value, want at least 2", len(t.values))
	}
	return nil
}

// isHeading reports a heading: its first field is no time.
func isHeading(text string) bool {
	first, _, _ := strings.Cut(text, ",")
	_, err := secondsOf(first)
	return err != nil
}

// secondsOf returns the Unix seconds of a timestamp, which may be a time as in RFC 3339.
func secondsOf(timestamp string) (float64, error) {
	text := strings.TrimSpace(timestamp)
	if at, err := time.Parse(time.RFC3339, text); err == nil {
		return float64(at.Unix()) + time.Duration(at.Nanosecond()).Seconds(), nil
	}
	return strconv.ParseFloat(text, 64)
}

func (t *trace) take(text string) error {
	first, second, found := strings.Cut(text, ",")
	if !found {
		return fmt.Errorf("%q is not of the form timestamp,value", shortened(text))
	}
	at, err := secondsOf(first)
	if err != nil || !(at >= 0 && at <= maxUnix) {
		return fmt.Errorf("timestamp %q: want Unix seconds, or a time such as 2006-01-02T15:04:05Z", shortened(first))
	}
	value, err := strconv.ParseFloat(strings.TrimSpace(second), 64)
	if err != nil || !(value >= 0 && value <= maxValue) {
		return fmt.Errorf("value %q: want a number from 0 to %g", shortened(second), float64(maxValue))
	}
	if n := len(t.seconds); n > 0 && at <= t.seconds[n-1] {
		return fmt.Errorf("timestamp %s is not after the one before it; want the oldest first", first)
	}
	if len(t.seconds) > 0 && at-t.seconds[0] > maxSeconds {
		return fmt.Errorf("timestamp %s is more than a hundred years after the first", first)
	}
	t.seconds, t.values, t.peak = append(t.seconds, at), append(t.values, value), max(t.peak, value)
	return nil
}

func shortened(text string) string {
	if len(text) > 40 {
		return text[:40] + "…"
	}
	return text
}

// step is the most common interval between rows.
func (t *trace) step() float64 {
	gaps := make([]float64, len(t.seconds)-1)
	for i := range gaps {
		gaps[i] = t.seconds[i+1] - t.seconds[i]
	}
	slices.Sort(gaps)
	return gaps[len(gaps)/2]
}

func (t *trace) length() time.Duration {
	return since(t.seconds[0], t.seconds[len(t.seconds)-1]+t.step())
}

func since(from, to float64) time.Duration {
	return time.Duration(math.Round((to - from) * float64(time.Second)))
}

func (t *trace) rows() []time.Duration {
	rows := make([]time.Duration, len(t.seconds))
	for i, at := range t.seconds {
		rows[i] = since(t.seconds[0], at)
	}
	return rows
}

// shape repeats each value for a step. What is longer is a gap.
func (t *trace) shape() (workloadmodel.Shape, error) {
	step := t.step()
	points := make([]workloadmodel.Point, 0, len(t.values)+1)
	for i, at := range t.seconds {
		points = append(points, workloadmodel.Point{At: since(t.seconds[0], at), RequestsPerSecond: t.values[i]})
		if i+1 < len(t.seconds) && t.seconds[i+1]-at > 1.5*step {
			missing := gap{from: since(t.seconds[0], at+step), to: since(t.seconds[0], t.seconds[i+1])}
			points, t.gaps = append(points, workloadmodel.Point{At: missing.from}), append(t.gaps, missing)
		}
	}
	return workloadmodel.NewSteps(points)
}
