// Package quantity rejects quantities in untrusted text that are too expensive to parse
// or to compute with.
//
// resource.Quantity takes any exponent: to read 1e-999999999 it computes a number
// of a billion digits, and to compare 1e999999999 with another it does so too. A
// megabyte of digits takes a second. No number of cores or bytes needs that: at most
// MaxLength digits with an exponent of at most MaxExponentDigits are read in
// microseconds, and computed with in as many.
package quantity

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/resource"
)

// The bounds of a quantity's text. The schemas of VerticalPodAutoscalers and WorkloadAutoscalers
// have them too.
const (
	MaxLength         = 64
	MaxExponentDigits = 2
)

// Error says which text is beyond the bounds.
type Error struct {
	// Field leads to it, as in spec.containers[0].resources.requests[cpu]; empty where
	// the text is all there is.
	Field string
	// Text is its beginning.
	Text string
}

var _ error = (*Error)(nil)

// Error implements error.
func (e *Error) Error() string {
	at := ""
	if e.Field != "" {
		at = e.Field + ": "
	}
	return fmt.Sprintf("%squantity %q: %s", at, e.Text, e.Detail())
}

// Detail describes the accepted texts.
func (*Error) Detail() string {
	return fmt.Sprintf("must have at most %d characters, and an exponent of at most %d digits", MaxLength,
		MaxExponentDigits)
}

func newError(field, text string) *Error {
	const shown = 24
	if len(text) > shown {
		text = text[:shown] + "..."
	}
	return &Error{Field: field, Text: text}
}

// Parse is resource.ParseQuantity within the bounds.
func Parse(text string) (resource.Quantity, error) {
	if hasBeyond(text) {
		return resource.Quantity{}, newError("", text)
	}
	return resource.ParseQuantity(text)
}

// hasBeyond reports whether a text has a number beyond the bounds, at its beginning or
// behind any character that is neither a letter nor a digit. In JSON, that is so for all
// numbers that a decoder may find, and for escaped characters, which may be digits.
func hasBeyond[T string | []byte](text T) bool {
	isWord, length := false, 0
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case isDigit(c) || c == '.':
			if length++; length > MaxLength && !isWord {
				return true
			}
		case c == '\\':
			if i++; i < len(text) && text[i] == 'u' {
				return true
			}
			isWord, length = false, 0
		case (c|' ') == 'e' && !isWord:
			if hasLongExponent(text[i+1:]) {
				return true
			}
			isWord = true
		default:
			isWord, length = 'a' <= (c|' ') && (c|' ') <= 'z', 0
		}
	}
	return false
}

// hasLongExponent reports whether a text begins with more digits than an exponent may have.
func hasLongExponent[T string | []byte](text T) bool {
	if len(text) > 0 && (text[0] == '+' || text[0] == '-') {
		text = text[1:]
	}
	digits := 0
	for digits < len(text) && isDigit(text[digits]) {
		digits++
	}
	return digits > MaxExponentDigits
}

func isDigit(c byte) bool { return c-'0' <= 9 }
