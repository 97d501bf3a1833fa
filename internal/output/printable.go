package output

import (
	"fmt"
	"io"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// file is an open file, as *os.File is.
type file interface {
	io.Writer
	Fd() uintptr
}

// Printable passes text on to a file, and shows control characters instead of passing them on: what clusters say, such
// as the message of a condition or an adapter's error, is anybody's, and terminals obey it. Colours may pass.
type Printable struct {
	file file
	// erases says that what clears a line of progress may pass.
	erases bool
	// begun are the first bytes of a character whose others have not come yet.
	begun []byte
}

// NewPrintable is one for results.
func NewPrintable(f file) *Printable { return &Printable{file: f} }

// NewProgress is one for lines of progress, which are written over each other.
func NewProgress(f file) *Printable { return &Printable{file: f, erases: true} }

// Fd is the file's: whether it is a terminal, and how wide, is asked of that.
func (p *Printable) Fd() uintptr { return p.file.Fd() }

// Write implements io.Writer.
func (p *Printable) Write(text []byte) (int, error) {
	all := append(p.begun, text...) //nolint:gocritic // begun is made anew below
	whole := len(all) - incomplete(all)
	p.begun = append([]byte(nil), all[whole:]...)
	if _, err := io.WriteString(p.file, Escape(string(all[:whole]), p.erases)); err != nil {
		return 0, fmt.Errorf("write: %w", err)
	}
	return len(text), nil
}

// incomplete is how many bytes at the end are the begin of a character.
func incomplete(text []byte) int {
	for n := 1; n < utf8.UTFMax && n <= len(text); n++ {
		if last := text[len(text)-n:]; utf8.RuneStart(last[0]) {
			if utf8.FullRune(last) {
				return 0
			}
			return n
		}
	}
	return 0
}

// eraseLine goes to the begin of a line and clears it.
const eraseLine = "\r\x1b[K"

// colour sets the colour or the weight of what follows.
var colour = regexp.MustCompile(`^\x1b\[[0-9;]*m`)

// Escape replaces each character that is not to be seen, but for ends of lines, tabs and colours, by its number: as
// \x1b or \u202e. It leaves what clears a line if that is wanted.
func Escape(text string, erases bool) string {
	if strings.IndexFunc(text, isHidden) < 0 && utf8.ValidString(text) {
		return text
	}
	var out strings.Builder
	for len(text) > 0 {
		keep := ""
		if erases && strings.HasPrefix(text, eraseLine) {
			keep = eraseLine
		} else {
			keep = colour.FindString(text)
		}
		if keep != "" {
			out.WriteString(keep)
			text = text[len(keep):]
			continue
		}
		r, size := utf8.DecodeRuneInString(text)
		switch {
		case r == utf8.RuneError && size == 1, isHidden(r) && r < utf8.RuneSelf:
			fmt.Fprintf(&out, `\x%02x`, text[0])
		case isHidden(r):
			fmt.Fprintf(&out, `\u%04x`, r)
		default:
			out.WriteString(text[:size])
		}
		text = text[size:]
	}
	return out.String()
}

// isHidden reports whether a character does something other than being seen, such as turning the direction of text.
func isHidden(r rune) bool {
	return r != '\n' && r != '\t' && (unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r))
}
