package flags

import (
	"io"
	"os"

	"golang.org/x/term"
)

// PlainWidth is how many characters a line has where no terminal says.
const PlainWidth = 82

// The widths of lines of text: where no terminal says, and the most that is easy to read.
const (
	plainTextWidth  = 80
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
		return PlainWidth, false
	}
	width, _, err := term.GetSize(fd)
	if err != nil || width < narrowest {
		width = PlainWidth
	}
	return width, os.Getenv("NO_COLOR") == ""
}

// Text is how wide a line of text may be, and whether it may have colours.
func Text(out io.Writer) (width int, inColour bool) {
	if !IsTerminal(out) {
		return plainTextWidth, false
	}
	width, inColour = Terminal(out)
	return min(width, widestTextWidth), inColour
}
