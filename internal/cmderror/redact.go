package cmderror

import (
	"regexp"
	"strings"
)

// redacted stands for a secret.
const redacted = "REDACTED"

// secretForms are forms of secrets in the texts of errors: the user and password of a URL, and tokens and passwords of
// an Authorization header. What is left of each match is in the first group.
var secretForms = []*regexp.Regexp{
	regexp.MustCompile(`(://)[^/@\s"']+@`),
	regexp.MustCompile(`(?i)(\bauthorization:?\s+(?:bearer|basic)\s+)\S+`),
	regexp.MustCompile(`(\b[Bb]earer\s+)[A-Za-z0-9._~+/=-]{20,}`),                  // longer than a word
	regexp.MustCompile(`\beyJ[A-Za-z0-9_-]{5,}\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]*()`), // a JSON Web Token
}

// replacements has the replacement of each form.
var replacements = []string{"${1}" + redacted + "@", "${1}" + redacted, "${1}" + redacted, redacted}

// Redact leaves out these secrets, and what has the form of one.
func Redact(text string, secrets []string) string {
	for _, secret := range secrets {
		if secret != "" {
			text = strings.ReplaceAll(text, secret, redacted)
		}
	}
	for i, form := range secretForms {
		text = form.ReplaceAllString(text, replacements[i])
	}
	return text
}
