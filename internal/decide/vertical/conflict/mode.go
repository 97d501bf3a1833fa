package conflict

import "github.com/plimsoll-dev/plimsoll/internal/decide/vertical/divergence"

// Mode is what the vertical side does about a conflict.
type Mode string

const (
	// Skip leaves the resource to the horizontal side.
	Skip Mode = "skip"
	// Allow recommends and updates it all the same.
	Allow Mode = "allow"
)

// String implements fmt.Stringer.
func (m Mode) String() string { return string(m) }

// IsValid reports whether it is one of the modes.
func (m Mode) IsValid() bool { return m == Skip || m == Allow }

// Skips reports whether the vertical side leaves the resource alone.
func (m Mode) Skips() bool { return m == Skip }

// Divergences returns those that remain of a set in this mode.
func (m Mode) Divergences(set divergence.Set) divergence.Set {
	if m.Skips() {
		return set
	}
	return set &^ divergence.SkipConflict
}
