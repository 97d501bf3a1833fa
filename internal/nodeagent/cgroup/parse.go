package cgroup

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"strconv"
)

func asNumber(f *os.File, text []byte) (int64, error) {
	return number(f, bytes.TrimSuffix(text, []byte{'\n'}))
}

// field returns the number after a name, in a file with a name and a number on each line.
func field(f *os.File, text []byte, name string) (int64, error) {
	for len(text) > 0 {
		line, rest, _ := bytes.Cut(text, []byte{'\n'})
		if len(line) > len(name) && line[len(name)] == ' ' && string(line[:len(name)]) == name {
			return number(f, line[len(name)+1:])
		}
		text = rest
	}
	return 0, fmt.Errorf("%s has no %s: %w", f.Name(), name, ErrMalformed)
}

// pressureTotal returns the total of the line some, in microseconds:
//
//	some avg10=0.00 avg60=0.00 avg300=0.00 total=12345
func pressureTotal(f *os.File, text []byte) (int64, error) {
	for line := range bytes.Lines(text) {
		total, isSome := bytes.CutPrefix(line, []byte("some "))
		_, total, hasTotal := bytes.Cut(total, []byte(" total="))
		if isSome && hasTotal {
			return asNumber(f, total)
		}
	}
	return 0, fmt.Errorf("%s has no total: %w", f.Name(), ErrMalformed)
}

// number reads digits. The kernel's counters are unsigned; one beyond an int64, which version 1 has where a counter
// fell below 0, is invalid.
func number(f *os.File, digits []byte) (int64, error) {
	if len(digits) == 0 || len(digits) > 20 {
		return 0, fmt.Errorf("%s has a number of %d digits: %w", f.Name(), len(digits), ErrMalformed)
	}
	n, err := strconv.ParseUint(string(digits), 10, 64)
	if err != nil || n > math.MaxInt64 {
		return 0, fmt.Errorf("%s has %q in place of a number: %w", f.Name(), digits, ErrMalformed)
	}
	return int64(n), nil
}
