// Package loadreport prints the recorded load and replica counts of an autoscaler: for people as a plot with the
// changes of the replica count, and as JSON.
package loadreport

import (
	"fmt"
	"math"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/loadhistory"
	"github.com/plimsoll-dev/plimsoll/internal/observe"
)

// Source is the origin of a history.
type Source struct {
	// SavedAt is when the AutoscalerCheckpoint of the history, or of its older part, was written; zero if all is the
	// controller's.
	SavedAt time.Time
	// NoLeader is why the controller did not respond.
	NoLeader string
	// IsSinceStart is set if the controller responded, and has not read the checkpoint. NoCheckpoint is why explain has
	// not read that either.
	IsSinceStart bool
	NoCheckpoint string
}

// Report is the recorded load of one object in a time.
type Report struct {
	Object observe.Key
	Source Source
	// From and To bound that time. To is now.
	From, To time.Time
	Timeline loadhistory.Timeline
	// Changes are those of the wanted count, oldest first.
	Changes []Change
	// Metrics has the load of each metric if there are several, as recorded by the leader since its start.
	Metrics []Metric
}

// Metric is the load of one metric, in pods at its target, in the cells of the report's timeline; NaN where it is
// unknown.
type Metric struct {
	Name  string
	Loads []float64
}

// AddMetrics adds the load of each metric.
func (r *Report) AddMetrics(all []loadhistory.EncodedMetric) error {
	if len(all) > loadhistory.MostMetrics {
		return fmt.Errorf("the controller's answer has the loads by %d metrics, %d at most can be", len(all),
			loadhistory.MostMetrics)
	}
	for i := range all {
		h := loadhistory.OfMetric()
		if err := h.UnmarshalBinary(all[i].History); err != nil {
			return fmt.Errorf("the controller's answer about metric %q: %w", all[i].Name, err)
		}
		r.Metrics = append(r.Metrics, Metric{Name: all[i].Name, Loads: r.Timeline.LoadsOf(&h)})
	}
	return nil
}

// Change is a change of the wanted count.
type Change struct {
	// At is the start of the point with the new count: it changed within Every after that.
	At       time.Time
	Every    time.Duration
	From, To int32
	// Load is in pods at the target, NaN if unknown.
	Load  float64
	Ready int32
	// Limit is the limit of the new count.
	Limit loadhistory.Limit
}

// New returns the report of the time from one moment to another, which is now. It fails without a recorded load.
func New(object observe.Key, h *loadhistory.History, source Source, from, to time.Time) (*Report, error) {
	r := &Report{Object: object, Source: source, From: from, To: to, Timeline: loadhistory.TimelineOf(h, from, to)}
	if len(r.Timeline.Cells) == 0 {
		return nil, fmt.Errorf("nothing is recorded of %s %s in the last %v (%s)", object.Kind, object.NamespacedName,
			to.Sub(from), source.Text(to))
	}
	r.Changes = changesOf(h, r.Timeline.Start, to)
	return r, nil
}

// changesOf returns the changes in the finest available resolution.
func changesOf(h *loadhistory.History, from, to time.Time) []Change {
	var changes []Change
	wanted, isKnown := int32(0), false
	h.Points(from, to, func(p loadhistory.Point) bool {
		if p.Limit == loadhistory.NotRecorded {
			isKnown = false
			return true
		}
		if isKnown && p.Wanted != wanted {
			changes = append(changes, Change{
				At: p.At, Every: p.Every, From: wanted, To: p.Wanted, Load: p.Load, Ready: p.Ready, Limit: p.Limit,
			})
		}
		wanted, isKnown = p.Wanted, true
		return true
	})
	return changes
}

// summary has totals over the cells.
type summary struct {
	leastLoad, mostLoad, meanLoad float64
	leastWanted, mostWanted       int32
	leastReady, mostReady         int32
	knownLoads, recorded, lacking int
	// counted is the number of cells with known counts.
	counted                        int
	isAnyUnknown, isAnyNotRecorded bool
}

func summaryOf(cells []loadhistory.Cell) summary {
	s := summary{leastLoad: math.Inf(1), leastWanted: math.MaxInt32, leastReady: math.MaxInt32}
	for i := range cells {
		c := &cells[i]
		if !c.IsRecorded {
			s.isAnyNotRecorded = true
			continue
		}
		s.recorded++
		if c.HasCounts() {
			s.counted++
			s.leastWanted, s.mostWanted = min(s.leastWanted, c.Wanted), max(s.mostWanted, c.Wanted)
			s.leastReady, s.mostReady = min(s.leastReady, c.Ready), max(s.mostReady, c.Ready)
		}
		if math.IsNaN(c.Load) {
			s.isAnyUnknown = true
			continue
		}
		s.knownLoads++
		s.leastLoad, s.mostLoad = min(s.leastLoad, c.Load), max(s.mostLoad, c.Load)
		s.meanLoad += (c.Load - s.meanLoad) / float64(s.knownLoads)
		if c.HasCounts() && c.Load > float64(c.Ready)*(1+codingError) {
			s.lacking++
		}
	}
	return s
}

// codingError is the largest relative error of a recorded load.
const codingError = 0.0101

// Text returns "read from the controller", or which checkpoint it is and why.
func (s *Source) Text(now time.Time) string {
	switch {
	case s.IsSinceStart && s.NoCheckpoint != "":
		return "read from the controller, which has not read what is saved of the time before its start; nor is that read " +
			"here: " + s.NoCheckpoint
	case s.SavedAt.IsZero():
		return "read from the controller"
	}
	text := fmt.Sprintf("from the AutoscalerCheckpoint that was saved %s ago", ago(now.Sub(s.SavedAt)))
	if s.SavedAt.After(now) {
		text = "from an AutoscalerCheckpoint that was saved by a clock ahead of this one"
	}
	if s.IsSinceStart {
		return "read from the controller, and before its start " + text + ", which the controller has not read"
	}
	if s.NoLeader != "" {
		text += ", as the controller's own cannot be read: " + s.NoLeader
	}
	return text
}

// ago returns a duration in the two largest of its units.
func ago(d time.Duration) string {
	const day = 24 * time.Hour
	switch d = d.Round(time.Second); {
	case d >= day:
		return fmt.Sprintf("%dd%dh", d/day, d%day/time.Hour)
	case d >= time.Hour:
		return fmt.Sprintf("%dh%dm", d/time.Hour, d%time.Hour/time.Minute)
	case d >= time.Minute:
		return fmt.Sprintf("%dm%ds", d/time.Minute, d%time.Minute/time.Second)
	}
	return fmt.Sprintf("%ds", d/time.Second)
}
