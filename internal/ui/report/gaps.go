package report

import (
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/explain/loadreport"
)

// Missing says which part of a history is missing.
type Missing string

// The parts.
const (
	// All: nothing is recorded.
	All Missing = "All"
	// Load: the counts are recorded, and the load was unknown; Counts is the reverse.
	Load   Missing = "Load"
	Counts Missing = "Counts"
	// LoadAndCounts: there is a record, in which both are unknown.
	LoadAndCounts Missing = "LoadAndCounts"
)

// Gap is a time that the history lacks.
type Gap struct {
	From    time.Time `json:"from"`
	To      time.Time `json:"to"`
	Missing Missing   `json:"missing"`
}

// shortestGap is the shortest gap at both ends of a history: two decisions are no further apart by default.
const shortestGap = 30 * time.Second

// gapsOf returns the gaps of a history, oldest first.
func gapsOf(h *loadreport.Output) []Gap {
	gaps := []Gap{}
	add := func(from, to time.Time, missing Missing) {
		if last := len(gaps) - 1; last >= 0 && gaps[last].Missing == missing && gaps[last].To.Equal(from) {
			gaps[last].To = to
			return
		}
		gaps = append(gaps, Gap{From: from, To: to, Missing: missing})
	}
	step := time.Duration(h.ResolutionSeconds) * time.Second
	known := h.From
	for i := range h.Points {
		p := &h.Points[i]
		if away := p.Time.Sub(known); away > 0 && (i > 0 || away >= max(step, shortestGap)) {
			add(known, p.Time, All)
		}
		known = p.Time.Add(step)
		if missing := missingOf(p); missing != "" {
			add(p.Time, known, missing)
		}
	}
	if h.To.Sub(known) >= max(step, shortestGap) {
		add(known, h.To, All)
	}
	return gaps
}

func missingOf(p *loadreport.OutputPoint) Missing {
	switch hasCounts := p.Wanted != nil && p.Ready != nil; {
	case p.Load == nil && !hasCounts:
		return LoadAndCounts
	case p.Load == nil:
		return Load
	case !hasCounts:
		return Counts
	}
	return ""
}
