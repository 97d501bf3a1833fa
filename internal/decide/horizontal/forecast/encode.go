package forecast

import (
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/forecast/playback"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/forecast/season"
)

// version is that of the encoding.
const version = 2

// encodedBytes is how many an encoded state has.
var encodedBytes = 1 + binary.Size(&saved{})

// In version 1 a Model had neither Runs nor Usual, there were no Hours, and scalersOfOne scalers.
const scalersOfOne = 11

// fromOne converts version 1 to version 2. Version 1 had fewer candidates; the new ones start like no forecast.
func fromOne(b []byte) ([]byte, error) {
	runs, hours := make([]byte, binary.Size(season.Model{}.Runs)+8), make([]byte, binary.Size(season.Hours{}))
	scaler := binary.Size(playback.Scaler{})
	const scalers = playback.Candidates + 1 - scalersOfOne
	if len(b) != encodedBytes-len(runs)-len(hours)-scalers*scaler {
		return nil, fmt.Errorf("forecast: %d bytes of version 1", len(b))
	}
	atScalers := encodedBytes - len(hours) - binary.Size(playback.State{}) - len(runs)
	behind := atScalers + scalersOfOne*scaler
	without := slices.Repeat(b[atScalers:atScalers+scaler], scalers)
	return slices.Concat([]byte{version}, b[1:atScalers], runs, b[atScalers:behind], without, b[behind:], hours), nil
}

// AppendBinary appends the state's encoding: a version, and its fields in their order, little-endian.
func (s *State) AppendBinary(dst []byte) ([]byte, error) {
	return binary.Append(append(dst, version), binary.LittleEndian, &s.v)
}

// MarshalBinary is AppendBinary for the packages that encode.
func (s *State) MarshalBinary() ([]byte, error) { return s.AppendBinary(nil) }

// UnmarshalBinary reads what AppendBinary has written. It does not trust it.
func (s *State) UnmarshalBinary(b []byte) error {
	if len(b) > 0 && b[0] == 1 {
		var err error
		if b, err = fromOne(b); err != nil {
			return err
		}
	}
	switch {
	case len(b) == 0 || b[0] != version:
		return fmt.Errorf("forecast: not in version 1 to %d of the encoding", version)
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

// MarshalText returns the encoding in base64.
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
		v.Model.IsValid() && v.Hours.IsValid() && v.Played.IsValid()
}
