package page

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/plimsoll-dev/plimsoll/internal/collect/page/syntax"
)

// The numbers of fields here are those of io/prometheus/client/metrics.proto (client_model
// v0.6.2).

var errLabel = errors.New("a label is not UTF-8 or has no name")

// The samples of a family, by what its name has behind it in text.
const (
	plain = iota
	count
	sum
	bucket
	kinds
)

var suffixes = [kinds]string{plain: "", count: "_count", sum: "_sum", bucket: "_bucket"}

// The labels that a family's type adds.
var (
	quantileLabel = label{name: []byte("quantile")}
	boundLabel    = label{name: []byte("le")}
)

// family is a wanted one.
type family struct {
	name []byte
	// metricField is the field of the message Metric that has the values.
	metricField protowire.Number
	// first is the first wanted metric with the name of each sample.
	first    [kinds]int
	isWanted [kinds]bool
}

// The fields of the message Metric by its family's type.
var metricFields = [...]protowire.Number{counterType: 3, gaugeType: 2, summaryType: 4, untypedType: 5, histogramType: 7,
	gaugeHistogramType: 7}

const (
	counterType = iota
	gaugeType
	summaryType
	untypedType
	histogramType
	gaugeHistogramType
)

// readProtobuf reads messages of type MetricFamily, each behind its length.
func (p *Parser) readProtobuf(body []byte) error {
	for len(body) > 0 {
		message, n := protowire.ConsumeBytes(body)
		if n < 0 {
			return ErrTruncated
		}
		body = body[n:]
		one, ok, err := p.familyOf(message)
		if err != nil {
			return err
		}
		if !ok {
			continue
		}
		for f := (fields{rest: message}); f.next(); {
			if !f.isBytes(4) {
				continue
			}
			if err := p.readMetric(&one, f.bytes); err != nil {
				return err
			}
		}
	}
	return nil
}

// familyOf goes through all fields of the message, but not into its metrics; false if
// nothing of it is wanted.
func (p *Parser) familyOf(message []byte) (one family, ok bool, err error) {
	one.metricField = metricFields[counterType]
	f := fields{rest: message}
	for f.next() {
		switch {
		case f.isBytes(1):
			one.name = f.bytes
		case f.isVarint(3):
			// A type that is not known has no field: 0 is the number of none.
			one.metricField = 0
			if kind := uint32(f.bits); kind < uint32(len(metricFields)) { //nolint:gosec // as protobuf reads enums
				one.metricField = metricFields[kind]
			}
		}
	}
	if f.err != nil || len(one.name) == 0 || !p.begins[one.name[0]] {
		return one, false, f.err
	}
	for w := len(p.want) - 1; w >= 0; w-- {
		name := p.want[w].Name
		if len(name) < len(one.name) || name[:len(one.name)] != string(one.name) {
			continue
		}
		for kind, suffix := range suffixes {
			if name[len(one.name):] == suffix {
				one.first[kind], one.isWanted[kind], ok = w, true, true
			}
		}
	}
	return one, ok, nil
}

// readMetric hands out a series, or those of a histogram or summary. The values of a field
// that comes twice are merged, as protobuf demands.
func (p *Parser) readMetric(one *family, message []byte) error {
	if err := p.readLabels(one, message); err != nil {
		return err
	}
	var v values
	for f := (fields{rest: message}); f.next(); {
		if !f.isBytes(one.metricField) {
			continue
		}
		v.isPresent = true
		var err error
		switch one.metricField {
		case metricFields[histogramType]:
			err = p.readHistogram(one, &v, f.bytes)
		case metricFields[summaryType]:
			err = p.readSummary(one, &v, f.bytes)
		default:
			err = v.readPlain(f.bytes)
		}
		if err != nil {
			return err
		}
	}
	if !v.isPresent {
		return nil
	}
	return p.deliverValues(one, &v)
}

// readLabels makes the metric's labels, and its time, those of the next samples.
func (p *Parser) readLabels(one *family, message []byte) error {
	p.labels, p.unescaped, p.time = p.labels[:0], p.unescaped[:0], Time{}
	f := fields{rest: message}
	for n := 0; f.next(); {
		if f.isVarint(6) {
			p.time = Time{IsKnown: true, Millis: int64(f.bits)} //nolint:gosec // as protobuf has negative numbers
		}
		if !f.isBytes(1) {
			continue
		}
		if n++; n > syntax.MaxLabels {
			return fmt.Errorf("a series of %q has %w: %w", one.name, syntax.ErrTooManyLabels, ErrTooLarge)
		}
		var l label
		pair := fields{rest: f.bytes}
		for pair.next() {
			switch {
			case pair.isBytes(1):
				l.name = pair.bytes
			case pair.isBytes(2):
				l.value = pair.bytes
			}
		}
		if pair.err != nil {
			return pair.err
		}
		if len(l.name) == 0 || !utf8.Valid(l.name) || !utf8.Valid(l.value) {
			return errLabel
		}
		if len(l.value) > 0 {
			p.labels = append(p.labels, l)
		}
	}
	return f.err
}

// values are those of one metric.
type values struct {
	isPresent         bool
	plain, count, sum float64
	// countFloat is used in place of count if it is greater than 0.
	countFloat float64
	// hasInfinite is whether a histogram has the bucket of all values.
	hasInfinite bool
}

// readPlain reads a Counter, Gauge or Untyped.
func (v *values) readPlain(message []byte) error {
	f := fields{rest: message}
	for f.next() {
		f.double(1, &v.plain)
	}
	return f.err
}

func (p *Parser) readSummary(one *family, v *values, message []byte) error {
	f := fields{rest: message}
	for f.next() {
		f.count(1, &v.count)
		f.double(2, &v.sum)
		if !f.isBytes(3) {
			continue
		}
		var quantile, value float64
		q := fields{rest: f.bytes}
		for q.next() {
			q.double(1, &quantile)
			q.double(2, &value)
		}
		if q.err != nil {
			return q.err
		}
		if err := p.deliverWith(one, plain, quantileLabel, quantile, value); err != nil {
			return err
		}
	}
	return f.err
}

func (p *Parser) readHistogram(one *family, v *values, message []byte) error {
	f := fields{rest: message}
	for f.next() {
		f.count(1, &v.count)
		f.double(2, &v.sum)
		f.double(4, &v.countFloat)
		if !f.isBytes(3) {
			continue
		}
		var upper, cumulative, cumulativeFloat float64
		b := fields{rest: f.bytes}
		for b.next() {
			b.count(1, &cumulative)
			b.double(2, &upper)
			b.double(4, &cumulativeFloat)
		}
		if b.err != nil {
			return b.err
		}
		if cumulativeFloat > 0 {
			cumulative = cumulativeFloat
		}
		v.hasInfinite = v.hasInfinite || math.IsInf(upper, 1)
		if err := p.deliverWith(one, bucket, boundLabel, upper, cumulative); err != nil {
			return err
		}
	}
	return f.err
}

// deliverValues hands out what a metric has once. The bucket of all values, which text always
// has, may be missing in protobuf.
func (p *Parser) deliverValues(one *family, v *values) error {
	if v.countFloat > 0 {
		v.count = v.countFloat
	}
	isCompound := one.metricField == metricFields[histogramType] || one.metricField == metricFields[summaryType]
	if !isCompound {
		if !one.isWanted[plain] {
			return nil
		}
		return p.deliver(one.first[plain], v.plain)
	}
	if one.metricField == metricFields[histogramType] && !v.hasInfinite {
		if err := p.deliverWith(one, bucket, boundLabel, math.Inf(1), v.count); err != nil {
			return err
		}
	}
	if one.isWanted[count] {
		if err := p.deliver(one.first[count], v.count); err != nil {
			return err
		}
	}
	if one.isWanted[sum] {
		return p.deliver(one.first[sum], v.sum)
	}
	return nil
}

// deliverWith hands out a sample that has one label more: a bound or a quantile.
func (p *Parser) deliverWith(one *family, kind int, extra label, bound, value float64) error {
	if !one.isWanted[kind] {
		return nil
	}
	p.unescaped = strconv.AppendFloat(p.unescaped[:0], bound, 'g', -1, 64)
	extra.value = p.unescaped
	p.labels = append(p.labels, extra)
	defer func() { p.labels = p.labels[:len(p.labels)-1] }()
	return p.deliver(one.first[kind], value)
}
