package contention

import (
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/collect/kubelet/text"
	"github.com/plimsoll-dev/plimsoll/internal/collect/page"
)

// MaxTextBytes bounds one response: a node with 250 pods has some 10 MB, most of it about disks and networks.
const MaxTextBytes = 64 << 20

// longest is the longest time between two reads that are compared: beyond it their difference does not describe the
// present.
const longest = 10 * time.Minute

// Key is a container of a pod.
type Key struct{ Namespace, Pod, Container string }

// Shares are the throttling and pressure of a container. A missing share is unknown, not 0.
type Shares struct {
	Throttled    float64
	HasThrottled bool
	Pressure     float64
	HasPressure  bool
}

// Meter compares one node's counters of one source from read to read. The zero value has read nothing. It must be used
// by one goroutine at a time.
type Meter struct {
	// before holds the counters of the last read, by the text of their labels: a restarted container is another series.
	before map[string]counters
	// at is the time of the last read.
	at time.Time
}

// counters are the counters with the same labels.
type counters struct {
	periods, throttled, waiting          float64
	hasPeriods, hasThrottled, hasWaiting bool
	// at is the timestamp in the text, by the kubelet's clock; without one it is the time of the read.
	at  time.Time
	key Key
}

var wanted = text.Of(text.PeriodsCPU, text.ThrottledCPU, text.PressureCPU)

// Look reads a node's response that arrived at this time, and returns the shares of the containers that the last read
// had too. After an error the meter is unchanged.
func (m *Meter) Look(now time.Time, answer []byte) (Look, error) {
	after := make(map[string]counters, len(m.before))
	lines := text.Lines(wanted, MaxTextBytes)
	for lines.Reset(page.Text, answer); lines.Next(""); {
		take(after, lines.Line(), now)
	}
	if err := lines.Err(); err != nil {
		return Look{}, err
	}
	found := Look{
		Shares: map[Key]Shares{}, Same: map[Key]struct{}{}, IsWhole: m.before != nil && now.Sub(m.at) <= longest,
	}
	for labels, c := range after {
		before, known := m.before[labels]
		switch {
		case !known:
		case c.at.Equal(before.at):
			found.Same[c.key] = struct{}{}
		default:
			join(found.Shares, c.key, c.since(&before))
		}
	}
	m.before, m.at = after, now
	return found, nil
}

func take(after map[string]counters, s *page.Line, now time.Time) {
	key := keyOf(s.Labels)
	if key.Container == "" || key.Pod == "" {
		// The sum over a pod, or a part of the system.
		return
	}
	c := after[string(s.Labels)]
	c.key = key
	c.at = now
	if s.Time.IsKnown {
		c.at = time.UnixMilli(s.Time.Millis)
	}
	switch text.FamilyOf(s) {
	case text.PeriodsCPU:
		c.periods, c.hasPeriods = s.Value, true
	case text.ThrottledCPU:
		c.throttled, c.hasThrottled = s.Value, true
	case text.PressureCPU:
		c.waiting, c.hasWaiting = s.Value, true
	}
	after[string(s.Labels)] = c
}

func keyOf(labels page.Labels) (key Key) {
	for label, rest, ok := labels.Cut(); ok; label, rest, ok = rest.Cut() {
		switch string(label.Name) {
		case "namespace":
			key.Namespace = string(label.Raw)
		case "pod":
			key.Pod = string(label.Raw)
		case "container":
			key.Container = string(label.Raw)
		}
	}
	return key
}

// since returns the shares since an earlier read of the same series. Counters that fell, or were not a number, have
// none.
func (c *counters) since(before *counters) (s Shares) {
	elapsed := c.at.Sub(before.at)
	if elapsed <= 0 || elapsed > longest {
		return s
	}
	if c.hasPeriods && c.hasThrottled && before.hasPeriods && before.hasThrottled {
		s.Throttled, s.HasThrottled = share(c.throttled-before.throttled, c.periods-before.periods)
	}
	if c.hasWaiting && before.hasWaiting && c.waiting > 0 {
		s.Pressure, s.HasPressure = share(c.waiting-before.waiting, elapsed.Seconds())
	}
	return s
}

// share divides; the second result is false if the quotient is not a share.
func share(part, whole float64) (float64, bool) {
	if !(part >= 0) || !(whole > 0) { // NaN is neither
		return 0, false
	}
	return min(part/whole, 1), true
}

// join keeps the highest shares of the series of one container: a restarted one has two for a while.
func join(found map[Key]Shares, key Key, s Shares) {
	if !s.HasThrottled && !s.HasPressure {
		return
	}
	known := found[key]
	known.Throttled, known.HasThrottled = max(known.Throttled, s.Throttled), known.HasThrottled || s.HasThrottled
	known.Pressure, known.HasPressure = max(known.Pressure, s.Pressure), known.HasPressure || s.HasPressure
	found[key] = known
}
