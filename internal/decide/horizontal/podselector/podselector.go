// Package podselector validates the selector of a target's scale, which selects its pods.
package podselector

// Selector is the problem of the scale's selector; the zero value means none.
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

// IsFine reports whether the selector has no problem.
func (s *Selector) IsFine() bool { return s.Problem == Fine }

// SetMissing records that the scale has no selector.
func (s *Selector) SetMissing() { *s = Selector{Problem: Missing} }

// SetInvalid records that the selector cannot be parsed.
func (s *Selector) SetInvalid(message string) { *s = Selector{Problem: Invalid, Message: message} }

// SetAmbiguous records that the selector selects pods of another autoscaler.
func (s *Selector) SetAmbiguous(message string) { *s = Selector{Problem: Ambiguous, Message: message} }
