package quantity

import (
	"bytes"
	"strings"
)

// IsSuspect tells whether a text may be a number that is beyond the bounds, for a reader
// that does not know what becomes of it.
func IsSuspect(text string) bool { return isSuspect([]byte(strings.TrimSpace(text))) }

// lengthOfString is how far it is to the quotation mark that ends the string.
func lengthOfString(text []byte) int {
	for from := 0; ; {
		at := bytes.IndexByte(text[from:], '"')
		if at < 0 {
			return len(text)
		}
		end, escapes := from+at, 0
		for end-escapes > from && text[end-escapes-1] == '\\' {
			escapes++
		}
		if escapes%2 == 0 {
			return end
		}
		from = end + 1
	}
}

// isSuspect tells whether a text has the form of a number and is beyond the bounds. In
// an escape anything may hide.
func isSuspect(text []byte) bool {
	text = withoutSign(text)
	number := digits(text, '.')
	rest := text[number:]
	switch {
	case len(rest) == 0:
		return number > MaxLength
	case rest[0] == '\\' || number > MaxLength-len("Ki"):
		return true
	case rest[0] != 'e' && rest[0] != 'E':
		return false
	}
	rest = withoutSign(rest[1:])
	exponent := digits(rest, '0')
	if exponent < len(rest) {
		return rest[exponent] == '\\'
	}
	return exponent > MaxExponentDigits
}

func withoutSign(text []byte) []byte {
	if len(text) > 0 && (text[0] == '+' || text[0] == '-') {
		return text[1:]
	}
	return text
}

// digits is how many of the first characters are digits, or the other one.
func digits(text []byte, other byte) int {
	for i, c := range text {
		if !isDigit(c) && c != other {
			return i
		}
	}
	return len(text)
}
