package horizontal

// Style is how the text is printed.
type Style struct {
	// Bold emphasizes the most important lines; nil leaves them as they are.
	Bold func(string) string
	// AllPods names all pods that do not count, not the first few of a group.
	AllPods bool
}
