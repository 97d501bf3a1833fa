package flags

import (
	"fmt"
	"io"
	"os"

	"golang.org/x/term"

	"github.com/plimsoll-dev/plimsoll/internal/output"
)

// The widths of lines: without a terminal, and the largest for prose.
const (
	plainWidth      = 80
	widestTextWidth = 100
)

// narrowest is the smallest width of a terminal that is used.
const narrowest = 40

// IsTerminal reports whether the output is a terminal.
func IsTerminal(out io.Writer) bool {
	_, ok := descriptor(out)
	return ok
}

func descriptor(out io.Writer) (fd int, isTerminal bool) {
	file, ok := out.(interface{ Fd() uintptr })
	if !ok {
		return 0, false
	}
	fd = int(file.Fd())
	return fd, term.IsTerminal(fd)
}

// Terminal returns the width of a line, and whether it may have colours.
func Terminal(out io.Writer) (width int, inColour bool) {
	fd, isTerminal := descriptor(out)
	if !isTerminal {
		return plainWidth, false
	}
	width, _, err := term.GetSize(fd)
	if err != nil || width < narrowest {
		width = plainWidth
	}
	return width, os.Getenv("NO_COLOR") == ""
}

// Text returns the width of a line of prose, and whether it may have colours.
func Text(out io.Writer) (width int, inColour bool) {
	if !IsTerminal(out) {
		return plainWidth, false
	}
	width, inColour = Terminal(out)
	return min(width, widestTextWidth), inColour
}

// Form returns the format of lines with labels. They are broken at a terminal's width, and never in a pipe.
func Form(out io.Writer) output.Form {
	if !IsTerminal(out) {
		return output.Form{}
	}
	width, inColour := Text(out)
	return output.Form{Width: width, IsColoured: inColour}
}

// WriteNote writes a note beside a result. On a terminal its further lines are indented.
func WriteNote(out io.Writer, note string) { fmt.Fprintln(out, noteText(note, Form(out).Width)) }

func noteText(note string, width int) string {
	const label = "note: "
	return label + output.Wrap(note, width, len(label), len(label))
}
