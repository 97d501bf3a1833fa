package report

import (
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/explain/loadreport"
)

// Missing is what a history lacks.
type Missing string

// What may be missing.
const (
	// All says that nothing is recorded.
	All Missing = "All"
	// Load says that the counts are recorded, and that no load was known; Counts is the reverse.
	Load   Missing = "Load"
	Counts Missing = "Counts"
	// LoadAndCounts says that it is recorded that neither was known.
	LoadAndCounts Missing = "LoadAndCounts"
)

// Gap is a time of which something is missing.
type Gap struct {
	From    time.Time `json:"from"`
	To      time.Time `json:"to"`
	Missing Missing   `json:"missing"`
}

// shortestGap is the shortest time that counts at both ends of a history: decisions are at most so far apart by
// default.
const shortestGap = 30 * time.Second

// gapsOf returns the parts of a history's time of which something is missing, oldest first.
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
