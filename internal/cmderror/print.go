package cmderror

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// Print writes an error of a command. help is the command that prints its usage, the next step of a usage error that
// has no other. Secrets are values that are redacted.
func Print(w io.Writer, err error, help string, secrets []string) {
	if err == nil {
		return
	}
	isUsage := IsUsage(err)
	for _, one := range separate(err) {
		block := describe(one)
		if len(block.next) == 0 && isUsage && help != "" {
			block.next = []string{help}
		}
		fmt.Fprint(w, Redact(block.String(), secrets))
	}
}

// block is one error.
type block struct {
	what      string
	why, next []string
}

// String returns a line for the error, and one for each reason and each next step.
func (b *block) String() string {
	var out strings.Builder
	fmt.Fprintf(&out, "error: %s\n", b.what)
	for _, why := range b.why {
		fmt.Fprintf(&out, "  why   %s\n", indented(why))
	}
	for _, next := range b.next {
		fmt.Fprintf(&out, "  next  %s\n", indented(next))
	}
	return out.String()
}

// indented indents all lines of a text except the first.
func indented(text string) string { return strings.ReplaceAll(text, "\n", "\n        ") }

// describe splits an error into its parts: in its text, What replaces each Error.
func describe(err error) block {
	b := block{what: err.Error()}
	Each(err, func(e *Error) {
		b.what = strings.Replace(b.what, e.Error(), e.What, 1)
		if e.Why != "" && !slices.Contains(b.why, e.Why) {
			b.why = append(b.why, e.Why)
		}
		if e.Next != "" && !slices.Contains(b.next, e.Next) {
			b.next = append(b.next, e.Next)
		}
	})
	return b
}

// Each visits the outermost Errors of a tree.
func Each(err error, visit func(*Error)) {
	switch own := err.(type) { //nolint:errorlint // the tree is walked here
	case *Error:
		visit(own)
	case interface{ Unwrap() error }:
		Each(own.Unwrap(), visit)
	case interface{ Unwrap() []error }:
		for _, inner := range own.Unwrap() {
			Each(inner, visit)
		}
	}
}

// separate returns the errors that errors.Join has joined.
func separate(err error) []error {
	if own, is := err.(*status); is { //nolint:errorlint // the tree is walked here
		return separate(own.error)
	}
	joined, is := err.(interface{ Unwrap() []error })
	if !is {
		return []error{err}
	}
	var texts []string
	var all []error
	for _, inner := range joined.Unwrap() {
		texts = append(texts, inner.Error())
		all = append(all, separate(inner)...)
	}
	// Others, such as those of fmt.Errorf, are one sentence.
	if strings.Join(texts, "\n") != err.Error() {
		return []error{err}
	}
	return all
}
