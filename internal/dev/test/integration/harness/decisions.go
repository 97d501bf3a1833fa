package harness

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// Decision is a line of Plimsoll's log about an object that it has decided.
type Decision struct {
	At               time.Time
	Current, Desired int32
	// Scaled is true if the count was written.
	Scaled bool
	// Error is the error of the reconciliation; empty when there was none.
	Error string
}

// Decisions are all that Plimsoll has decided about a HorizontalPodAutoscaler, as its log shows.
func (s *Namespace) Decisions(name string) []Decision {
	s.t.Helper()
	lines, err := s.LogLines(s.Name + "/" + name)
	if err != nil {
		s.t.Fatal(err)
	}
	var decisions []Decision
	for _, fields := range lines {
		if fields["msg"] != "decided" && fields["msg"] != "scaled" || fields["object"] != s.Name+"/"+name {
			continue
		}
		d, err := decisionOf(fields)
		if err != nil {
			s.t.Fatalf("log line %v: %v", fields, err)
		}
		decisions = append(decisions, d)
	}
	return decisions
}

// AwaitDecisions waits until Plimsoll has decided this many times more about a HorizontalPodAutoscaler. The first one
// may have been under way before, so that two are needed for a decision on the current state.
func (s *Namespace) AwaitDecisions(name string, more int) {
	s.t.Helper()
	before := len(s.Decisions(name))
	s.Eventually(fmt.Sprintf("%d more decisions about %s", more, name), func(context.Context) error {
		if n := len(s.Decisions(name)) - before; n < more {
			return fmt.Errorf("%d decisions", n)
		}
		return nil
	})
}

// LogLines are the lines of Plimsoll's log that contain the text, by their keys.
func (s *Namespace) LogLines(words string) ([]map[string]string, error) {
	return s.LogLinesOf(plimsollName, words)
}

// LogLinesOf is LogLines of the program of that name.
func (s *Namespace) LogLinesOf(program, words string) ([]map[string]string, error) {
	content, err := os.ReadFile(s.Cluster.LogPath(program))
	if err != nil {
		return nil, fmt.Errorf("log of %s: %w", program, err)
	}
	var lines []map[string]string
	for line := range strings.Lines(string(content)) {
		// A line that is being written is not one yet.
		if strings.HasSuffix(line, "\n") && strings.Contains(line, words) {
			lines = append(lines, fieldsOf(line))
		}
	}
	return lines, nil
}

// fieldsOf reads slog's text: key=value or key="quoted value".
func fieldsOf(line string) map[string]string {
	fields := map[string]string{}
	for line = strings.TrimSpace(line); line != ""; line = strings.TrimLeft(line, " ") {
		key, rest, found := strings.Cut(line, "=")
		if !found {
			return fields
		}
		quoted, err := strconv.QuotedPrefix(rest)
		if err == nil {
			fields[key], _ = strconv.Unquote(quoted)
			line = rest[len(quoted):]
			continue
		}
		fields[key], line, _ = strings.Cut(rest, " ")
	}
	return fields
}

func decisionOf(fields map[string]string) (Decision, error) {
	d := Decision{Scaled: fields["msg"] == "scaled", Error: fields["error"]}
	var err error
	if d.At, err = time.Parse(time.RFC3339Nano, fields["time"]); err != nil {
		return d, err
	}
	if d.Current, err = count(fields["current"]); err != nil {
		return d, err
	}
	d.Desired, err = count(fields["desired"])
	return d, err
}

func count(text string) (int32, error) {
	n, err := strconv.ParseInt(text, 10, 32)
	return int32(n), err
}
