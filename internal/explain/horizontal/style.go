package horizontal

import "github.com/plimsoll-dev/plimsoll/internal/output"

// Style is how the text is printed.
type Style struct {
	output.Form
	// Verbose prints all that led to the decision, with the names of all pods that do not count.
	Verbose bool
}
