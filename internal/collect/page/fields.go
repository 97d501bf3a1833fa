package page

import (
	"errors"
	"math"

	"google.golang.org/protobuf/encoding/protowire"
)

var errMessage = errors.New("a protobuf message is damaged")

// fields goes through those of a protobuf message. The messages are read field by field, not
// into Prometheus' Go types: an empty message takes two bytes of a page, but hundreds of
// the heap there.
type fields struct {
	rest []byte
	err  error

	// Of the field that next found: bits of a number, or bytes.
	number protowire.Number
	kind   protowire.Type
	bits   uint64
	bytes  []byte
}

// next is false at the end of the message and at an error.
func (f *fields) next() bool {
	if len(f.rest) == 0 || f.err != nil {
		return false
	}
	var n int
	if f.number, f.kind, n = protowire.ConsumeTag(f.rest); n < 0 {
		f.err = errMessage
		return false
	}
	f.rest = f.rest[n:]
	switch f.kind {
	case protowire.VarintType:
		f.bits, n = protowire.ConsumeVarint(f.rest)
	case protowire.Fixed64Type:
		f.bits, n = protowire.ConsumeFixed64(f.rest)
	case protowire.BytesType:
		f.bytes, n = protowire.ConsumeBytes(f.rest)
	default:
		// No message of a page has a field of another kind.
		n = protowire.ConsumeFieldValue(f.number, f.kind, f.rest)
	}
	if n < 0 {
		f.err = errMessage
		return false
	}
	f.rest = f.rest[n:]
	return true
}

func (f *fields) isBytes(number protowire.Number) bool {
	return f.number == number && f.kind == protowire.BytesType
}

func (f *fields) isVarint(number protowire.Number) bool {
	return f.number == number && f.kind == protowire.VarintType
}

// double stores the field's value if it is the double of that number.
func (f *fields) double(number protowire.Number, value *float64) {
	if f.number == number && f.kind == protowire.Fixed64Type {
		*value = math.Float64frombits(f.bits)
	}
}

// count stores the field's value if it is the unsigned integer of that number.
func (f *fields) count(number protowire.Number, value *float64) {
	if f.isVarint(number) {
		*value = float64(f.bits)
	}
}
