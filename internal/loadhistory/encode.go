package loadhistory

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
)

// version is that of the encoding.
const version = 2

// MaxEncodedBytes is the maximum size of an encoded history.
const MaxEncodedBytes = 12 << 10

// MostMetrics is the number of an object's metrics whose loads are recorded separately.
const MostMetrics = 8

// EncodedMetric is the load by one metric as AppendBinary encodes it.
type EncodedMetric struct {
	// Name is as explanations name the metric.
	Name    string `json:"name"`
	History []byte `json:"history"`
}

// AppendBinary appends the history's encoding: a version, then of each tier the number of slots, and of each slot its
// first step, its length in bits and its bytes. The points that are not over are not saved.
func (h *History) AppendBinary(dst []byte) ([]byte, error) {
	dst = append(dst, version)
	for i := range h.tiers {
		slots := h.tiers[i].slots
		dst = binary.AppendUvarint(dst, uint64(len(slots)))
		for k := range slots {
			s := &slots[k]
			dst = binary.AppendUvarint(binary.AppendVarint(dst, s.first), uint64(s.used))
			dst = append(dst, s.data[:s.bytes()]...)
		}
	}
	return dst, nil
}

// UnmarshalBinary decodes the output of AppendBinary. It treats it as untrusted.
func (h *History) UnmarshalBinary(b []byte) error {
	switch {
	case len(b) > MaxEncodedBytes:
		return fmt.Errorf("history: %d bytes, want %d at most", len(b), MaxEncodedBytes)
	case len(b) == 0 || b[0] != version:
		return fmt.Errorf("history: not in version %d of the encoding", version)
	}
	read := History{isOfMetric: h.isOfMetric}
	b = b[1:]
	for i := range read.tiers {
		var err error
		if b, err = read.tiers[i].read(b, h.grains()[i].slots); err != nil {
			return fmt.Errorf("history: tier %d: %w", i, err)
		}
	}
	if len(b) > 0 {
		return fmt.Errorf("history: %d bytes too many", len(b))
	}
	*h = read
	return nil
}

var errDamaged = errors.New("damaged")

// read decodes a tier, and returns the remaining bytes.
func (t *tier) read(b []byte, slots int) ([]byte, error) {
	count, n := binary.Uvarint(b)
	if n <= 0 || count > uint64(slots) {
		return nil, errDamaged
	}
	b = b[n:]
	end := int64(math.MinInt64)
	for range count {
		first, n := binary.Varint(b)
		if n <= 0 || first < max(end, 0) || first > math.MaxInt32*100 {
			return nil, errDamaged
		}
		b = b[n:]
		used, n := binary.Uvarint(b)
		if n <= 0 || used > 8*slotBytes {
			return nil, errDamaged
		}
		s := slot{first: first, used: uint16(used)}
		if b = b[n:]; s.bytes() > len(b) {
			return nil, errDamaged
		}
		b = b[copy(s.data[:s.bytes()], b):]
		isFine := false
		if t.end, isFine = s.last(); !isFine {
			return nil, errDamaged
		}
		end, t.slots = t.end.next, append(t.slots, s)
	}
	return b, nil
}
