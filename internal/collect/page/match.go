package page

import (
	"fmt"
	"hash/maphash"
	"math/bits"
	"slices"
)

// Operator is the operator of a requirement, as in a Kubernetes label selector.
type Operator uint8

// The operators. A label with an empty value is absent; NotIn matches absent labels too.
const (
	In Operator = iota
	NotIn
	Exists
	DoesNotExist
)

// Requirement is a requirement on one label of a series.
type Requirement struct {
	Label    string
	Operator Operator
	Values   []string
}

func (r *Requirement) matches(labels []label) bool {
	var value []byte
	for i := range labels {
		if string(labels[i].name) == r.Label {
			value = labels[i].value
			break
		}
	}
	isOne := func(v string) bool { return v == string(value) }
	switch r.Operator {
	case In:
		return slices.ContainsFunc(r.Values, isOne)
	case NotIn:
		return !slices.ContainsFunc(r.Values, isOne)
	case Exists:
		return len(value) > 0
	case DoesNotExist:
		return len(value) == 0
	}
	return false
}

// label is a label of a series, without escapes and not empty.
type label struct{ name, value []byte }

// hashSeed prevents a page from choosing series with the same hash. All parsers share it, because different ones may
// read the pages of one pod.
var hashSeed = maphash.MakeSeed()

// hashOf does not depend on the labels' order.
func hashOf(labels []label) uint64 {
	var sum uint64
	for i := range labels {
		name, value := maphash.Bytes(hashSeed, labels[i].name), maphash.Bytes(hashSeed, labels[i].value)
		// The multiplier is 2^64 divided by the golden ratio, which spreads the bits.
		mixed := (name ^ bits.RotateLeft64(value, 31)) * 0x9e3779b97f4a7c15
		sum += mixed ^ mixed>>29
	}
	return sum
}

// deliver passes the sample to every Want that matches the labels read last.
func (p *Parser) deliver(line *Line) error {
	var series uint64
	isHashed := false
	name := p.want[line.Name].Name
	for w := line.Name; w < len(p.want); w++ {
		if want := &p.want[w]; want.Name != name || !matchesAll(want.Selector, p.labels) {
			continue
		}
		if p.series == p.config.MaxSeries {
			return fmt.Errorf("more than %d series: %w", p.config.MaxSeries, ErrTooLarge)
		}
		p.series++
		if !isHashed {
			series, isHashed = hashOf(p.labels), true
		}
		p.each(w, Sample{Series: series, Value: line.Value, Time: line.Time})
	}
	return nil
}

func matchesAll(selector []Requirement, labels []label) bool {
	for i := range selector {
		if !selector[i].matches(labels) {
			return false
		}
	}
	return true
}

// keep makes the labels of a line those of the next sample.
func (p *Parser) keep(labels Labels) {
	p.labels, p.unescaped = p.labels[:0], p.unescaped[:0]
	for {
		l, rest, ok := labels.Cut()
		if !ok {
			return
		}
		labels = rest
		if len(l.Raw) == 0 {
			continue
		}
		value := l.Raw
		if !l.IsPlain() {
			from := len(p.unescaped)
			p.unescaped = l.AppendValue(p.unescaped)
			value = p.unescaped[from:]
		}
		p.labels = append(p.labels, label{name: l.Name, value: value})
	}
}
