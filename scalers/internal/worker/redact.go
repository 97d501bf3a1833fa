package worker

import (
	"errors"
	"net/url"
	"regexp"
	"slices"
	"strconv"
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
	text := err.Error()
	for _, secret := range formsOf(secrets) {
		text = strings.ReplaceAll(text, secret, hidden)
	}
	text = strings.Join(strings.Fields(text), " ")
	if len(text) > longestText {
		end := longestText
		for !utf8.RuneStart(text[end]) {
			end--
		}
		text = text[:end] + "..."
	}
	return errors.New(text)
}

// formsOf returns the texts in which errors show secrets, the longest first: one may be a part of another one.
func formsOf(secrets []string) []string {
	var all []string
	for _, secret := range secrets {
		for _, part := range append(partsOf(secret), secret) {
			trimmed := strings.TrimSpace(part)
			quoted := strconv.Quote(trimmed)
			all = append(all, part, trimmed, quoted[1:len(quoted)-1], url.QueryEscape(trimmed), url.PathEscape(trimmed))
		}
	}
	all = slices.DeleteFunc(all, func(form string) bool { return len(form) < shortestSecret })
	slices.SortFunc(all, func(a, b string) int {
		if len(a) != len(b) {
			return len(b) - len(a)
		}
		return strings.Compare(a, b)
	})
	return slices.Compact(all)
}

var (
	// userAndPassword is how a connection string begins that is no URL, as user:password@tcp(host)/name.
	userAndPassword = regexp.MustCompile(`^([^:/@\s]+):(.+)@`)
	// passwordField is in connection strings of fields.
	passwordField = regexp.MustCompile(`(?i)(?:password|pwd|accountkey|sharedaccesskey)\s*=\s*('[^']*'|[^;&\s]+)`)
)

// partsOf returns the user and the password in a connection string.
func partsOf(secret string) []string {
	var parts []string
	secret = strings.TrimSpace(secret)
	if address, err := url.Parse(secret); err == nil && address.User != nil {
		password, _ := address.User.Password()
		parts = append(parts, address.User.Username(), password)
	} else if found := userAndPassword.FindStringSubmatch(secret); found != nil {
		parts = append(parts, found[1], found[2])
	}
	for _, found := range passwordField.FindAllStringSubmatch(secret, -1) {
		parts = append(parts, strings.Trim(found[1], "'"))
	}
	return parts
}
