// Package podselector validates the selector of a target's scale, which selects its pods.
package podselector

// Selector is what is wrong with the scale's selector; the zero value is
// nothing.
type Selector struct {
	Problem Problem
	// Message describes an invalid or ambiguous selector.
	Message string
}

// Problem is a kind of defect of a scale's selector.
type Problem uint8

// The problems.
const (
	Fine Problem = iota
	Missing
	Invalid
	Ambiguous
)

// IsFine reports whether nothing is wrong.
func (s *Selector) IsFine() bool { return s.Problem == Fine }

// SetMissing says that the scale has no selector.
func (s *Selector) SetMissing() { *s = Selector{Problem: Missing} }

// SetInvalid says that the selector cannot be parsed.
func (s *Selector) SetInvalid(message string) { *s = Selector{Problem: Invalid, Message: message} }

// SetAmbiguous says that the selector selects pods of another autoscaler.
func (s *Selector) SetAmbiguous(message string) { *s = Selector{Problem: Ambiguous, Message: message} }
