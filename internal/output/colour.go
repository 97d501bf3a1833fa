package output

// Colour is a colour, or a weight, of text on a terminal.
type Colour string

// The colours.
const (
	Bold    Colour = "1"
	BoldRed Colour = "1;31"
	Green   Colour = "32"
	Yellow  Colour = "33"
	Cyan    Colour = "36"
)

// On is the text in the colour.
func (c Colour) On(text string) string { return "\x1b[" + string(c) + "m" + text + "\x1b[0m" }
