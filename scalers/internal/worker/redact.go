package worker

import (
	"errors"
	"slices"
	"strings"
	"unicode/utf8"
)

const (
	// longestText is the length of an error, which gets into the object's status.
	longestText = 300
	// shortestSecret is the length from which a value is taken for a secret: "true" and "3" are in many messages.
	shortestSecret = 5
	hidden         = "[hidden]"
)

// redacted returns the error in one line, without the secrets.
func redacted(err error, secrets []string) error {
	text := strings.Join(strings.Fields(err.Error()), " ")
	// A secret may be a part of another one.
	longestFirst := slices.Clone(secrets)
	slices.SortFunc(longestFirst, func(a, b string) int { return len(b) - len(a) })
	for _, secret := range longestFirst {
		if len(secret) >= shortestSecret {
			text = strings.ReplaceAll(text, secret, hidden)
		}
	}
	if len(text) > longestText {
		end := longestText
		for !utf8.RuneStart(text[end]) {
			end--
		}
		text = text[:end] + "..."
	}
	return errors.New(text)
}
