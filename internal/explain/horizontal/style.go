package horizontal

// Style is how the text is printed.
type Style struct {
	// Bold emphasizes the most important lines; nil leaves them as they are.
	Bold func(string) string
	// Verbose prints all that led to the decision, with the names of all pods that do not count.
	Verbose bool
}
