// Package quantity rejects quantities in untrusted text that are too expensive to parse
// or to compute with.
//
// resource.Quantity takes any exponent: to read 1e-999999999 it computes a number
// of a billion digits, and to compare 1e999999999 with another it does so too. A
// megabyte of digits takes a second. No number of cores or bytes needs that: a text
// of at most MaxLength characters with an exponent of at most MaxExponentDigits is
// read in microseconds, and computed with in as many.
package quantity

import (
	"bytes"
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

// Detail is what the text must be like.
func (*Error) Detail() string {
	return fmt.Sprintf("must have at most %d characters, and an exponent of at most %d digits", MaxLength,
		MaxExponentDigits)
}

// Parse is resource.ParseQuantity within the bounds.
func Parse(text string) (resource.Quantity, error) {
	if beyond := checkText([]byte(text)); beyond != nil {
		return resource.Quantity{}, beyond
	}
	return resource.ParseQuantity(text)
}

// checkText compares one quantity's text with the bounds; nil if it is within them. Of
// one that is too long it reads the beginning alone.
func checkText(text []byte) *Error {
	if len(text) <= MaxLength && !hasLongExponent(text) {
		return nil
	}
	const shown = 24
	if len(text) > shown {
		return &Error{Text: string(text[:shown]) + "..."}
	}
	return &Error{Text: string(text)}
}

// hasLongExponent reports whether more than MaxExponentDigits digits follow an e, which
// in a quantity is the exponent's.
func hasLongExponent(text []byte) bool {
	at := bytes.IndexAny(text, "eE")
	if at < 0 {
		return false
	}
	digits := 0
	for _, c := range text[at+1:] {
		if isDigit(c) {
			digits++
		}
	}
	return digits > MaxExponentDigits
}

func isDigit(c byte) bool { return c-'0' <= 9 }
