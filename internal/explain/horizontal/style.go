package horizontal

// Style has the settings of the printed text.
type Style struct {
	// Bold emphasizes the most important lines; nil means no emphasis.
	Bold func(string) string
	// Verbose prints all inputs of the decision, with the names of all pods that do not count.
	Verbose bool
}
