// Package doctor has the facts about a cluster that `plimsoll doctor` examines before and after an installation, the
// findings, and how these are printed: as text, as JSON and as YAML. Package read collects the facts, and package judge
// makes findings of them.
package doctor

import "fmt"

// Level says how bad a finding is.
type Level uint8

// The levels, from good to bad.
const (
	// OK is the level of what is as it should be.
	OK Level = iota
	// Unknown is the level of what could not be read.
	Unknown
	// Warning is the level of what works, and can be expected to fail or to surprise.
	Warning
	// Problem is the level of what does not work.
	Problem
)

var levels = [...]string{OK: "ok", Unknown: "unknown", Warning: "warning", Problem: "problem"}

// String is the level's name.
func (l Level) String() string { return levels[l] }

// ParseLevel is the level of a name.
func ParseLevel(name string) (Level, error) {
	for level, text := range levels {
		if text == name {
			return Level(level), nil
		}
	}
	return OK, fmt.Errorf("%q, want problem, warning or unknown", name)
}

// Finding is a result of a check, about one object or the cluster.
type Finding struct {
	Check string
	Level Level
	// Object is the kind, namespace and name; empty for the cluster as a whole.
	Object string
	// What is the case, Why it matters, and what to Do. Only What is there if all is well.
	What, Why, Do string
	// Command is one to type, if there is one that does it or shows more.
	Command string
}

// Report is the result of an examination.
type Report struct {
	Findings []Finding
}

// Worst is the worst level of all findings.
func (r *Report) Worst() Level {
	worst := OK
	for i := range r.Findings {
		worst = max(worst, r.Findings[i].Level)
	}
	return worst
}

// Count is how many findings have the level.
func (r *Report) Count(level Level) int {
	n := 0
	for i := range r.Findings {
		if r.Findings[i].Level == level {
			n++
		}
	}
	return n
}
