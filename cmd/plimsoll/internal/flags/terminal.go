package flags

import (
	"fmt"
	"io"
	"os"

	"golang.org/x/term"

	"github.com/plimsoll-dev/plimsoll/internal/output"
)

// The widths of lines: where no terminal says, and the most of a line of text that is easy to read.
const (
	plainWidth      = 80
	widestTextWidth = 100
)

// narrowest is the narrowest terminal that is believed.
const narrowest = 40

// IsTerminal reports whether people read what is written.
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

// Terminal is how wide a line may be, and whether it may have colours.
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

// Text is how wide a line of text may be, and whether it may have colours.
func Text(out io.Writer) (width int, inColour bool) {
	if !IsTerminal(out) {
		return plainWidth, false
	}
	width, inColour = Terminal(out)
	return min(width, widestTextWidth), inColour
}

// Form is how lines with labels are printed. On a terminal they are broken at its width; what reads a pipe looks for
// whole lines.
func Form(out io.Writer) output.Form {
	if !IsTerminal(out) {
		return output.Form{}
	}
	width, inColour := Text(out)
	return output.Form{Width: width, IsColoured: inColour}
}

// WriteNote writes a note beside a result. On a terminal its lines go on below where the text begins.
func WriteNote(out io.Writer, note string) { fmt.Fprintln(out, noteText(note, Form(out).Width)) }

func noteText(note string, width int) string {
	const label = "note: "
	return label + output.Wrap(note, width, len(label), len(label))
}
