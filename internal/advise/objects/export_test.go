package objects

// Comparisons is how often one object was compared with another.
func (c *Collection) Comparisons() int { return c.comparisons }
