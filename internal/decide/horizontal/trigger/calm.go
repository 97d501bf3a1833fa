package trigger

// Calm is what a decision leaves for the samples of the second after it. Deciding costs many times what it costs to
// compare some numbers, and where samples come four times a second, most decisions would find what the one before did.
type Calm struct {
	// Is is set if the object is far from a scale-up: samples that are not beyond what follows lead to one decision in a
	// round.
	Is bool
	// CPUMilli and MemoryMilli are what a pod uses at most that leaves the object calm; 0 for any amount.
	CPUMilli, MemoryMilli int64
}

// Use is what a pod uses by its newest samples alone.
type Use struct{ CPUMilli, MemoryMilli int64 }

func (c Calm) isExceeded(u Use) bool {
	return c.CPUMilli > 0 && u.CPUMilli > c.CPUMilli || c.MemoryMilli > 0 && u.MemoryMilli > c.MemoryMilli
}
