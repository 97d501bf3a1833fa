package trigger

// Calm has the limits below which samples of the next second trigger no early decision. A decision costs many times as
// much as a comparison of some numbers, and with four samples a second most decisions would have the same result as the
// last one.
type Calm struct {
	// Is is set if the object is far from a scale-up: samples within the limits trigger one decision in a round.
	Is bool
	// CPUMilli and MemoryMilli are the largest use of a pod within the limits; 0 means no limit.
	CPUMilli, MemoryMilli int64
}

// Use is the use of a pod in its newest samples alone.
type Use struct{ CPUMilli, MemoryMilli int64 }

func (c Calm) isExceeded(u Use) bool {
	return c.CPUMilli > 0 && u.CPUMilli > c.CPUMilli || c.MemoryMilli > 0 && u.MemoryMilli > c.MemoryMilli
}
