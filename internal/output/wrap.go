package output

import (
	"fmt"
	"io"
	"regexp"
	"strings"
	"unicode/utf8"
)

// Wrap breaks a text between words so that no line has more than width columns. The text begins in column first, and
// the lines after the first are indented by indent blanks. A longer word, such as a path, has a line of its own.
// A width of 0 breaks nothing.
func Wrap(text string, width, first, indent int) string {
	return wrap(strings.Split(text, " "), width, first, "\n"+strings.Repeat(" ", indent))
}

// wrap puts words into lines, which it ends with newLine.
func wrap(words []string, width, first int, newLine string) string {
	indent := columns(newLine[strings.LastIndex(newLine, "\n")+1:])
	column, blanks := first, 0
	var out strings.Builder
	for i, word := range words {
		if i > 0 {
			blanks++
		}
		n := columns(word)
		if n == 0 {
			continue
		}
		if width > 0 && column > indent && column+blanks+n > width {
			out.WriteString(newLine)
			column, blanks = indent, 0
		}
		out.WriteString(strings.Repeat(" ", blanks) + word)
		column, blanks = column+blanks+n, 0
	}
	return out.String()
}

// columns is how many columns a text takes. Colours take none.
func columns(text string) int { return utf8.RuneCountInString(anyColour.ReplaceAllString(text, "")) }

var anyColour = regexp.MustCompile(`\x1b\[[0-9;]*m`)

// WrapCommand breaks a command of a shell before flags, with backslashes, so that it can be pasted as it is printed.
func WrapCommand(command string, width, indent int) string {
	const end = " \\"
	if width == 0 || indent+columns(command) <= width || strings.Contains(command, "#") {
		return command
	}
	words := shellWords.FindAllString(command, -1)
	if strings.Join(words, " ") != command {
		return command
	}
	var parts []string // each a flag with its value
	for _, word := range words {
		if last := len(parts) - 1; last >= 0 && !strings.HasPrefix(word, "-") {
			parts[last] += " " + word
			continue
		}
		parts = append(parts, word)
	}
	return wrap(parts, width-len(end), indent, end+"\n"+strings.Repeat(" ", indent+2))
}

// shellWords are the words of a command: blanks in quotes separate none.
var shellWords = regexp.MustCompile(`(?:\\.|'[^']*'|"(?:\\.|[^"\\])*"|[^\s'"\\])+`)

// wrapped breaks the lines of what is written.
type wrapped struct {
	to    io.Writer
	width int
}

// NewWrapped breaks the lines of each write between words, so that none has more than width columns.
func NewWrapped(to io.Writer, width int) io.Writer { return &wrapped{to: to, width: width} }

// Write implements io.Writer.
func (w *wrapped) Write(text []byte) (int, error) {
	const indent = 2
	lines := strings.Split(string(text), "\n")
	for i, line := range lines {
		if columns(line) > w.width {
			lines[i] = Wrap(line, w.width, 0, indent)
		}
	}
	if _, err := io.WriteString(w.to, strings.Join(lines, "\n")); err != nil {
		return 0, fmt.Errorf("write: %w", err)
	}
	return len(text), nil
}
