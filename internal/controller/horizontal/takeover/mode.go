package takeover

import (
	"fmt"
	"strings"

	"github.com/plimsoll-dev/plimsoll/internal/controller/horizontal/takeover/acting"
	"github.com/plimsoll-dev/plimsoll/internal/observe"
)

// Mode says how Plimsoll treats HorizontalPodAutoscalers. It is the value of a flag.
type Mode uint8

// The modes.
const (
	// Auto acts on an HPA if no other controller does.
	Auto Mode = iota
	// Act acts on all HPAs, and pauses while another controller writes the status too.
	Act
	// Shadow decides HPAs, compares the decisions with the other controller's, and writes nothing.
	Shadow
	// Ignore decides no HPA.
	Ignore
)

var modes = [...]string{"auto", "act", "shadow", "ignore"}

// Names returns the names of all modes.
func (Mode) Names() []string { return modes[:] }

// Set implements pflag.Value.
func (m *Mode) Set(text string) error {
	for mode := range Mode(len(modes)) {
		if modes[mode] == text {
			*m = mode
			return nil
		}
	}
	return fmt.Errorf("must be one of %s", strings.Join(modes[:], ", "))
}

// String implements pflag.Value.
func (m Mode) String() string { return modes[m] }

// Type implements pflag.Value.
func (Mode) Type() string { return "mode" }

// Ignores reports whether Plimsoll decides no object of this kind.
func (m Mode) Ignores(kind observe.Kind) bool {
	return m == Ignore && kind == observe.HorizontalPodAutoscaler
}

// Compares reports whether objects of this kind are decided only for comparison.
func (m Mode) Compares(kind observe.Kind) bool {
	return m == Shadow && kind == observe.HorizontalPodAutoscaler
}

// rule returns when Plimsoll acts on objects of this kind.
func (m Mode) rule(kind observe.Kind) acting.Rule {
	switch {
	case kind != observe.HorizontalPodAutoscaler:
		return acting.UnlessInstalled
	case m == Auto:
		return acting.Evidence
	}
	return acting.Always
}
