// Package mode has the modes of a WorkloadAutoscaler, which say whether its decisions are written.
package mode

// Mode is spec.mode.
type Mode uint8

// The modes. An HPA is always Active.
const (
	// Active writes the scale.
	Active Mode = iota
	// Preview decides as Active does and writes no scale.
	Preview
	// Paused keeps the replica count, or holds it at spec.paused.replicas, whatever the metrics ask for.
	Paused
)

var names = [...]string{"Active", "Preview", "Paused"}

// String returns the mode as the spec has it.
func (m Mode) String() string { return names[m] }

// Parse reads what String writes; nothing is Active.
func Parse(text string) (m Mode, ok bool) {
	if text == "" {
		return Active, true
	}
	for i, name := range names {
		if name == text {
			return Mode(i), true
		}
	}
	return Active, false
}
