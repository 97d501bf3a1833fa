package containerusage

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/quantity"
)

const (
	maxBytes   = 256 << 20
	maxSamples = 5_000_000
)

var columns = []string{"time", "namespace", "pod", "container", "cpu", "memory"}

// ReadCSV reads samples: a header with the columns time, namespace, pod, container, cpu
// and memory in any order, then a line for each sample. Times are RFC 3339 or seconds
// since 1970, amounts Kubernetes' quantities.
func ReadCSV(r io.Reader, name string) (*Samples, error) {
	limited := &io.LimitedReader{R: r, N: maxBytes}
	lines := csv.NewReader(limited)
	header, err := lines.Read()
	if err != nil {
		return nil, fmt.Errorf("%s: reading the header: %w", name, err)
	}
	var places [6]int
	for i, want := range columns {
		at, ok := column(header, want)
		if !ok {
			return nil, fmt.Errorf("%s: the header has no column %q; want time,namespace,pod,container,cpu,memory", name, want)
		}
		places[i] = at
	}
	samples := &Samples{Source: name}
	for {
		record, err := lines.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		line, _ := lines.FieldPos(0)
		sample, err := parse(record, places)
		if err != nil {
			return nil, fmt.Errorf("%s: line %d: %w", name, line, err)
		}
		samples.All = append(samples.All, sample)
		if len(samples.All) > maxSamples {
			return nil, fmt.Errorf("%s: more than %d samples", name, maxSamples)
		}
	}
	switch {
	case limited.N <= 0:
		return nil, fmt.Errorf("%s: more than %d MiB", name, maxBytes>>20)
	case len(samples.All) == 0:
		return nil, fmt.Errorf("%s: there is no sample in it", name)
	}
	samples.IsMoment = Length(samples.All) == 0
	return samples, nil
}

func parse(record []string, places [6]int) (s Sample, err error) {
	if s.Time, err = parseTime(record[places[0]]); err != nil {
		return s, fmt.Errorf("time: %w", err)
	}
	s.Namespace, s.Pod, s.Container = record[places[1]], record[places[2]], record[places[3]]
	cpu, err := quantity.Parse(record[places[4]])
	if err != nil {
		return s, fmt.Errorf("cpu: %.40q: %w", record[places[4]], err)
	}
	memory, err := quantity.Parse(record[places[5]])
	if err != nil {
		return s, fmt.Errorf("memory: %.40q: %w", record[places[5]], err)
	}
	if cpu.Sign() < 0 || memory.Sign() < 0 {
		return s, errors.New("an amount is less than 0")
	}
	s.CPUMilli, s.MemoryBytes = cpu.MilliValue(), memory.Value()
	return s, nil
}

func parseTime(text string) (time.Time, error) {
	if seconds, err := strconv.ParseInt(text, 10, 64); err == nil {
		return time.Unix(seconds, 0).UTC(), nil
	}
	return time.Parse(time.RFC3339, text)
}
