package workloadstatus

import (
	"strings"
	"unicode/utf8"
)

// Messages repeat responses of other APIs. The API server accepts a condition's message up to 32 KiB, and an object of
// 100 metrics up to about 1.5 MB in all; a refused status is never shown.
const (
	mostOfCondition = 4 << 10
	mostOfFailure   = 512
)

const ellipsis = "..."

// shorten truncates the message to a number of bytes, in the form in which the API server will have stored it.
func shorten(message string, most int) string {
	if len(message) > most {
		end := most - len(ellipsis)
		for end > 0 && !utf8.RuneStart(message[end]) {
			end--
		}
		message = message[:end] + ellipsis
	}
	return strings.ToValidUTF8(message, "?")
}
