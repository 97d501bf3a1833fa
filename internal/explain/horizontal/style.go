package horizontal

import "github.com/plimsoll-dev/plimsoll/internal/output"

// Style has the settings of the printed text.
type Style struct {
	output.Form
	// Verbose prints all inputs of the decision, with the names of all pods that do not count.
	Verbose bool
}
