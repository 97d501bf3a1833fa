package rate

import (
	"errors"
	"math"
	"strings"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/collect/kubelet/text"
	"github.com/plimsoll-dev/plimsoll/internal/collect/page"
)

// ErrNoStatistics is returned for resource_scrape_error 1: the kubelet responded, but could not gather its statistics.
var ErrNoStatistics = errors.New("the kubelet could not gather its statistics")

// The last millisecond of the year 9999.
const lastMillis = 253_402_300_799_999

// subject is the pod and container of a sample. The bytes are the text's, or scratch.
type subject struct{ container, namespace, pod []byte }

// reading has the samples of one container in one text.
type reading struct {
	container *container

	cpuNanos, cpuMillis int64
	// memoryBytes and startMillis are 0 if they are missing.
	memoryBytes, startMillis int64
	memoryMillis             int64
	hasCPU                   bool
	refused                  Refused
}

// batch ingests one text into a node. Batches are pooled.
type batch struct {
	lines    page.Lines
	readings []reading
	scratch  []byte
	// spanMillis is the length of the histories.
	spanMillis int64

	node *node
	// wanted selects the containers to ingest; nil for all.
	wanted Wanted
	// localMillis is when the text arrived, by the node's local clock.
	localMillis int64
	// scrapedMillis stands in for a timestamp that is missing.
	scrapedMillis int64
	failed        bool
	round         Round
}

// ingest ingests a text, all of it or nothing. The node is locked.
func (b *batch) ingest(n *node, scraped time.Time, input []byte) error {
	b.node = n
	b.localMillis, b.scrapedMillis = n.localLocked(scraped), scraped.UnixMilli()
	n.attempt++
	b.lines.Reset(page.Text, input)
	err := b.read()
	if err == nil && b.failed {
		err = ErrNoStatistics
	}
	if err != nil {
		n.sweepLocked(func(c *container) bool { return c.seen != 0 })
		return err
	}
	b.apply()
	return nil
}

// read reads the text line by line. A kubelet keeps the order of its lines from scrape to scrape, and from family to
// family, so that each line is probably about the next container of the previous order.
func (b *batch) read() error {
	var likely *container
	if len(b.node.order) > 0 {
		likely = b.node.order[0]
	}
	for {
		expected := ""
		if likely != nil {
			expected = likely.labels
		}
		if !b.lines.Next(expected) {
			return b.lines.Err()
		}
		s := b.lines.Line()
		if text.FamilyOf(s) == text.ScrapeError {
			b.failed = b.failed || s.Value != 0
			continue
		}
		c := likely
		if !s.AsExpected {
			c = b.containerOf(s.Labels)
		}
		if c == nil {
			b.round.Ignored++
			continue
		}
		if next, isKnown := b.behind(c); isKnown {
			likely = next
		}
		b.take(b.reading(c), s)
	}
}

// behind returns the container after this one: in the families of this text that were read already, or in the round
// before. A new container stands in place of the expected one, which then comes next.
func (b *batch) behind(c *container) (next *container, isKnown bool) {
	n := b.node
	switch {
	case c.mark == n.attempt:
		if int(c.slot)+1 < len(b.readings) {
			next = b.readings[c.slot+1].container
		}
		return next, true
	case c.seen != 0 && c.seen == n.round:
		if int(c.slot)+1 < len(n.order) {
			next = n.order[c.slot+1]
		}
		return next, true
	}
	return nil, false
}

// reading returns the container's reading, a new one for its first sample.
func (b *batch) reading(c *container) *reading {
	if c.mark != b.node.attempt {
		c.mark, c.slot = b.node.attempt, uint32(len(b.readings)) //nolint:gosec // a text has fewer lines
		b.readings = append(b.readings, reading{container: c})
	}
	return &b.readings[c.slot]
}

// take keeps a sample; it skips NaN and families that rates do not need.
func (b *batch) take(r *reading, s *page.Line) {
	ok := false
	switch text.FamilyOf(s) {
	case text.ContainerCPU:
		nanos, at := whole(s.Value*1e9), b.timestamp(s)
		if ok = !r.hasCPU && nanos > 0 && at > 0; ok {
			r.cpuNanos, r.cpuMillis, r.hasCPU = nanos, at, true
		}
		r.judge(s.Value*1e9, RefusedCPU)
	case text.ContainerMemory:
		bytes, at := whole(s.Value), b.timestamp(s)
		if ok = r.memoryBytes == 0 && bytes > 0 && at > 0; ok {
			r.memoryBytes, r.memoryMillis = bytes, at
		}
		r.judge(s.Value, RefusedMemory)
	case text.ContainerStart:
		// Rounding down keeps a start before any later measurement.
		millis := whole(math.Floor(s.Value * 1e3))
		if ok = r.startMillis == 0 && millis > 0 && millis <= lastMillis; ok {
			r.startMillis = millis
		}
	}
	if !ok {
		b.round.Ignored++
	}
}

// timestamp is 0 for a time that cannot be.
func (b *batch) timestamp(s *page.Line) int64 {
	switch {
	case !s.Time.IsKnown:
		return b.scrapedMillis
	case s.Time.Millis < 0 || s.Time.Millis > lastMillis:
		return 0
	}
	return s.Time.Millis
}

// judge records a value that is impossible for a counter or an amount; 0 only means that the runtime has not measured
// yet.
func (r *reading) judge(value float64, of Refused) {
	if !(value >= 0 && value < math.MaxInt64) {
		r.refused |= of
	}
}

// whole rounds; a value that is NaN, negative or beyond an int64 becomes 0.
func whole(value float64) int64 {
	if !(value > 0 && value < math.MaxInt64) {
		return 0
	}
	return int64(math.Round(value))
}

// containerOf returns the container of the labels, and adds a new one. It returns nil if one of the three labels is
// missing, and for a new container that is not wanted or beyond the maximum.
func (b *batch) containerOf(labels page.Labels) *container {
	var s subject
	b.scratch = b.scratch[:0]
	for rest := labels; ; {
		label, more, ok := rest.Cut()
		if !ok {
			break
		}
		switch string(label.Name) {
		case "container":
			s.container = b.value(label)
		case "namespace":
			s.namespace = b.value(label)
		case "pod":
			s.pod = b.value(label)
		}
		rest = more
	}
	if len(s.container) == 0 || len(s.namespace) == 0 || len(s.pod) == 0 {
		return nil
	}
	if c := b.node.findLocked(s); c != nil {
		return c
	}
	if b.node.known >= MaxContainers || len(labels) > maxLabelBytes ||
		b.wanted != nil && !b.wanted(s.namespace, s.pod, s.container) {
		return nil
	}
	return b.node.make(s, labels)
}

// value returns a label's value, as a part of the text where it has no escapes.
func (b *batch) value(l page.Label) []byte {
	if l.IsPlain() {
		return l.Raw
	}
	from := len(b.scratch)
	b.scratch = l.AppendValue(b.scratch)
	return b.scratch[from:]
}

// make adds a container. One string holds its labels and, where they stand in it without escapes, all its names.
func (n *node) make(s subject, labels page.Labels) *container {
	c := &container{labels: string(labels)}
	c.name = part(c.labels, s.container)
	n.insertLocked(c, podKey{namespace: part(c.labels, s.namespace), name: part(c.labels, s.pod)})
	return c
}

func part(whole string, value []byte) string {
	if i := strings.Index(whole, string(value)); i >= 0 {
		return whole[i : i+len(value)]
	}
	return string(value)
}
