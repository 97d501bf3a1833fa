package scale

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/dev/bench/scale/population"
)

// logPeriod is the period of reading a log for new lines.
const logPeriod = 100 * time.Millisecond

// logFlags make Plimsoll write a line for every decision.
func logFlags() []string { return []string{"--v=1", "--logging-format=json"} }

// position is a place in a log.
type position struct {
	path   string
	offset int64
}

// endOf returns the current end of a log, which need not exist yet.
func endOf(path string) position {
	info, err := os.Stat(path)
	if err != nil {
		return position{path: path}
	}
	return position{path: path, offset: info.Size()}
}

// followLog reads the decisions of a program that logs each of them, from an offset of its log on, until ctx ends.
func followLog(ctx context.Context, from position, size population.Size, note func(object int, at time.Time)) error {
	file, err := os.Open(from.path)
	if err != nil {
		return fmt.Errorf("follow the log: %w", err)
	}
	defer file.Close()
	if _, err := file.Seek(from.offset, io.SeekStart); err != nil {
		return fmt.Errorf("follow the log: %w", err)
	}
	ticker := time.NewTicker(logPeriod)
	defer ticker.Stop()
	reader := bufio.NewReaderSize(file, 1<<20)
	var begun []byte // the start of an incomplete line
	for {
		text, err := reader.ReadBytes('\n')
		begun = append(begun, text...)
		switch {
		case err == nil:
			if object, at, ok := decisionIn(begun, size); ok {
				note(object, at)
			}
			begun = begun[:0]
			continue
		case !errors.Is(err, io.EOF):
			return fmt.Errorf("follow the log: %w", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}

// decisionIn reads a line about a decision; false for others.
func decisionIn(text []byte, size population.Size) (object int, at time.Time, ok bool) {
	if !bytes.Contains(text, []byte(`"decided"`)) && !bytes.Contains(text, []byte(`"scaled"`)) {
		return 0, time.Time{}, false
	}
	var line struct {
		Time   time.Time `json:"time"`
		Object string    `json:"object"`
	}
	if json.Unmarshal(text, &line) != nil {
		return 0, time.Time{}, false
	}
	namespace, name, isObject := strings.Cut(line.Object, "/")
	if !isObject {
		return 0, time.Time{}, false
	}
	object, ok = size.Find(namespace, name)
	return object, line.Time, ok
}
