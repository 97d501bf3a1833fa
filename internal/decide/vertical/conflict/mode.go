package conflict

import "github.com/plimsoll-dev/plimsoll/internal/decide/vertical/divergence"

// Mode says how the vertical side handles a conflict.
type Mode string

const (
	// Skip does not change the resource.
	Skip Mode = "skip"
	// Allow recommends and updates it nevertheless.
	Allow Mode = "allow"
)

// String implements fmt.Stringer.
func (m Mode) String() string { return string(m) }

// IsValid reports whether it is one of the modes.
func (m Mode) IsValid() bool { return m == Skip || m == Allow }

// Skips reports whether the vertical side does not change the resource.
func (m Mode) Skips() bool { return m == Skip }

// Divergences returns the set without the divergences that this mode switches off.
func (m Mode) Divergences(set divergence.Set) divergence.Set {
	if m.Skips() {
		return set
	}
	return set &^ divergence.SkipConflict
}
