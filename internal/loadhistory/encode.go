package loadhistory

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
)

// version is that of the encoding.
const version = 1

// MaxEncodedBytes is the most that a history takes when it is encoded.
const MaxEncodedBytes = 12 << 10

// AppendBinary appends the history's encoding: a version, then of each tier the number of slots, and of each slot its
// first step, its length and its bytes. The points that are not over are not saved.
func (h *History) AppendBinary(dst []byte) ([]byte, error) {
	dst = append(dst, version)
	for i := range h.tiers {
		slots := h.tiers[i].slots
		dst = binary.AppendUvarint(dst, uint64(len(slots)))
		for k := range slots {
			s := &slots[k]
			dst = append(binary.AppendVarint(dst, s.first), s.used)
			dst = append(dst, s.data[:s.used]...)
		}
	}
	return dst, nil
}

// UnmarshalBinary reads what AppendBinary has written. It does not trust it.
func (h *History) UnmarshalBinary(b []byte) error {
	switch {
	case len(b) > MaxEncodedBytes:
		return fmt.Errorf("history: %d bytes, want %d at most", len(b), MaxEncodedBytes)
	case len(b) == 0 || b[0] != version:
		return fmt.Errorf("history: not in version %d of the encoding", version)
	}
	var read History
	b = b[1:]
	for i := range read.tiers {
		var err error
		if b, err = read.tiers[i].read(b, grains[i].slots); err != nil {
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

// read decodes a tier, and returns what is left.
func (t *tier) read(b []byte, slots int) ([]byte, error) {
	count, n := binary.Uvarint(b)
	if n <= 0 || count > uint64(slots) {
		return nil, errDamaged
	}
	b = b[n:]
	end := int64(math.MinInt64)
	for range count {
		first, n := binary.Varint(b)
		if n <= 0 || n >= len(b) || first < max(end, 0) || first > math.MaxInt32*100 {
			return nil, errDamaged
		}
		s := slot{first: first, used: b[n]}
		b = b[n+1:]
		if int(s.used) > slotBytes || int(s.used) > len(b) {
			return nil, errDamaged
		}
		b = b[copy(s.data[:s.used], b):]
		if !s.recount() {
			return nil, errDamaged
		}
		end, t.slots = s.next, append(t.slots, s)
	}
	return b, nil
}

// recount finds where the slot's points end, and reports whether they are fine. There is one at least.
func (s *slot) recount() bool {
	r := reader{left: s.data[:s.used], step: s.first}
	points := 0
	for r.next() {
		points++
	}
	s.next, s.end = r.step, r.values
	return !r.isBroken && points > 0
}
