package forecast

import (
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
)

// version is that of the encoding.
const version = 1

// encodedBytes is how many an encoded state has.
var encodedBytes = 1 + binary.Size(&saved{})

// AppendBinary appends the state's encoding: a version, and its fields in their order, little-endian.
func (s *State) AppendBinary(dst []byte) ([]byte, error) {
	return binary.Append(append(dst, version), binary.LittleEndian, &s.v)
}

// MarshalBinary is AppendBinary for the packages that encode.
func (s *State) MarshalBinary() ([]byte, error) { return s.AppendBinary(nil) }

// UnmarshalBinary reads what AppendBinary has written. It does not trust it.
func (s *State) UnmarshalBinary(b []byte) error {
	switch {
	case len(b) == 0 || b[0] != version:
		return fmt.Errorf("forecast: not in version %d of the encoding", version)
	case len(b) != encodedBytes:
		return fmt.Errorf("forecast: %d bytes, want %d", len(b), encodedBytes)
	}
	var v saved
	if _, err := binary.Decode(b[1:], binary.LittleEndian, &v); err != nil {
		return fmt.Errorf("forecast: %w", err)
	}
	if !v.isValid() {
		return errors.New("forecast: a number is out of its range")
	}
	*s = State{v: v}
	return nil
}

// MarshalText is the encoding in base64.
func (s *State) MarshalText() ([]byte, error) {
	b, err := s.AppendBinary(nil)
	return base64.StdEncoding.AppendEncode(nil, b), err
}

// UnmarshalText reads what MarshalText has written.
func (s *State) UnmarshalText(text []byte) error {
	if len(text) > base64.StdEncoding.EncodedLen(encodedBytes) {
		return errors.New("forecast: too long")
	}
	b, err := base64.StdEncoding.AppendDecode(nil, text)
	if err != nil {
		return fmt.Errorf("forecast: %w", err)
	}
	return s.UnmarshalBinary(b)
}

func (v *saved) isValid() bool {
	const latest = math.MaxInt64 / 1_000_000_000 / 60
	for _, minutes := range [...]int64{v.Minute, v.Learnt, v.LearntLast, v.Day} {
		if minutes < 0 || minutes > latest {
			return false
		}
	}
	isFine := func(number, most float64) bool { return number >= 0 && number <= most }
	for _, load := range v.Largest {
		if !isFine(load, mostLoad*1e6) {
			return false
		}
	}
	return v.At >= 0 && isFine(v.Seconds, 120) && isFine(v.Sum, mostLoad*120) && isFine(v.PerPodMilli, math.MaxFloat64) &&
		v.Model.IsValid() && v.Played.IsValid()
}
