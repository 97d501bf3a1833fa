package text

import (
	"errors"
	"fmt"
	"strconv"
)

// Powers of ten that a float64 holds exactly.
var exactPowers = [...]float64{
	1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11,
	1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
}

// maxExact is the largest integer up to which a float64 holds all.
const maxExact = 1 << 53

// readValue reads the value and leaves p.pos on the blank or line end behind it.
func (p *Parser) readValue() (float64, error) {
	if value, end, ok := simpleFloat(p.text[p.pos:]); ok {
		p.pos += end
		return value, nil
	}
	token := p.token()
	for _, c := range token {
		// strconv knows hexadecimal floats and underscores, the format does not.
		if c == 'p' || c == 'P' || c == '_' {
			return 0, fmt.Errorf("value %q is no number", excerpt(token))
		}
	}
	value, err := strconv.ParseFloat(string(token), 64)
	if errors.Is(err, strconv.ErrRange) {
		return 0, fmt.Errorf("value %q is out of range", excerpt(token))
	}
	if err != nil {
		return 0, fmt.Errorf("value %q is no number", excerpt(token))
	}
	return value, nil
}

// readTimestamp reads the milliseconds and leaves p.pos on the line end behind
// them.
func (p *Parser) readTimestamp() (int64, error) {
	var millis int64
	i := p.pos
	for i < p.pos+18 && isDigit(p.text[i]) {
		millis = millis*10 + int64(p.text[i]-'0')
		i++
	}
	if i > p.pos && p.text[i] == '\n' {
		p.pos = i
		return millis, nil
	}
	token := p.token()
	millis, err := strconv.ParseInt(string(token), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("timestamp %q is no number of milliseconds", excerpt(token))
	}
	if c := p.text[p.pos]; c != '\n' {
		return 0, fmt.Errorf("expected the line's end behind the timestamp, found %q", c)
	}
	return millis, nil
}

// token is all up to the next blank or line end, and moves p.pos there.
func (p *Parser) token() []byte {
	start := p.pos
	for !endsToken(p.text[p.pos]) {
		p.pos++
	}
	return p.text[start:p.pos]
}

// simpleFloat reads decimal numbers whose digits are an integer that float64
// holds exactly, as is their power of ten: one multiplication or division then
// rounds once, and so correctly (Clinger 1990). Others are left to strconv. The
// text has a blank or line end behind the number, which is where end points.
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

// simpleExponent reads a sign and up to three digits; length 0 if it is anything
// else.
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
