package page

import (
	"errors"
	"strconv"
)

// Powers of ten that a float64 holds exactly.
var exactPowers = [...]float64{
	1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11,
	1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
}

// maxExact is the largest integer up to which a float64 holds all.
const maxExact = 1 << 53

// readValue reads the value at i. End is the blank or line end behind it.
func readValue(text []byte, i int) (value float64, end int, err error) {
	if value, length, ok := simpleFloat(text[i:]); ok {
		return value, i + length, nil
	}
	end = endOfToken(text, i)
	token := text[i:end]
	for _, c := range token {
		// strconv accepts hexadecimal floats and underscores, the format does not.
		if c == 'p' || c == 'P' || c == '_' {
			return 0, end, errNoNumber
		}
	}
	value, err = strconv.ParseFloat(string(token), 64)
	switch {
	case errors.Is(err, strconv.ErrRange):
		return 0, end, errors.New("the value is out of range")
	case err != nil:
		return 0, end, errNoNumber
	}
	return value, end, nil
}

// readMillis reads the timestamp at i: milliseconds up to the end of the line. end is the line end.
func readMillis(text []byte, i int) (millis int64, end int, err error) {
	start := i
	for i < start+18 && isDigit(text[i]) {
		millis = millis*10 + int64(text[i]-'0')
		i++
	}
	if i > start && text[i] == '\n' {
		return millis, i, nil
	}
	end = endOfToken(text, start)
	millis, err = strconv.ParseInt(string(text[start:end]), 10, 64)
	if err != nil {
		return 0, end, errors.New("the timestamp is not a number of milliseconds")
	}
	if text[end] != '\n' {
		return 0, end, errors.New("expected the end of the line after the timestamp")
	}
	return millis, end, nil
}

var errNoNumber = errors.New("the value is not a number")

func endOfToken(text []byte, i int) int {
	for !endsToken(text[i]) {
		i++
	}
	return i
}

// simpleFloat reads decimal numbers whose digits are an integer that float64 holds exactly, as is their power of ten:
// one multiplication or division then rounds once, and so correctly (Clinger 1990). Other numbers are parsed by
// strconv. The text has a blank or line end after the number, which is end.
func simpleFloat(text []byte) (value float64, end int, ok bool) {
	var mantissa uint64
	i, digits, exponent := 0, 0, 0
	for ; isDigit(text[i]); i++ {
		mantissa = mantissa*10 + uint64(text[i]-'0')
		digits++
	}
	if text[i] == '.' {
		i++
		for ; isDigit(text[i]); i++ {
			mantissa = mantissa*10 + uint64(text[i]-'0')
			digits++
			exponent--
		}
	}
	// 19 digits fit into 64 bits.
	if digits == 0 || digits > 19 || mantissa > maxExact {
		return 0, 0, false
	}
	if text[i] == 'e' || text[i] == 'E' {
		power, n := simpleExponent(text[i+1:])
		if n == 0 {
			return 0, 0, false
		}
		i += 1 + n
		exponent += power
	}
	if !endsToken(text[i]) || exponent < -22 || exponent > 22 {
		return 0, 0, false
	}
	if exponent < 0 {
		return float64(mantissa) / exactPowers[-exponent], i, true
	}
	return float64(mantissa) * exactPowers[exponent], i, true
}

// simpleExponent reads a sign and up to three digits; length 0 for any other text.
func simpleExponent(text []byte) (power, length int) {
	sign, i := 1, 0
	if text[i] == '+' || text[i] == '-' {
		if text[i] == '-' {
			sign = -1
		}
		i++
	}
	first := i
	for ; i < first+3 && isDigit(text[i]); i++ {
		power = power*10 + int(text[i]-'0')
	}
	if i == first {
		return 0, 0
	}
	return sign * power, i
}

func isDigit(c byte) bool { return c-'0' <= 9 }

func endsToken(c byte) bool { return c == ' ' || c == '\t' || c == '\n' }
