package takeover

import (
	"fmt"
	"strings"

	"github.com/plimsoll-dev/plimsoll/internal/controller/horizontal/takeover/acting"
	"github.com/plimsoll-dev/plimsoll/internal/observe"
)

// Mode is what becomes of HorizontalPodAutoscalers. It is a flag's value.
type Mode uint8

// The modes.
const (
	// Auto acts on an HPA where no other controller does.
	Auto Mode = iota
	// Act acts on all HPAs, and pauses where another controller writes the status too.
	Act
	// Shadow decides HPAs, compares the decisions with the other controller's, and writes nothing.
	Shadow
	// Ignore decides no HPA.
	Ignore
)

var modes = [...]string{"auto", "act", "shadow", "ignore"}

// Names are those of all modes.
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

// Ignores reports whether objects of this kind are left to others.
func (m Mode) Ignores(kind observe.Kind) bool {
	return m == Ignore && kind == observe.HorizontalPodAutoscaler
}

// Compares reports whether objects of this kind are decided for comparison alone.
func (m Mode) Compares(kind observe.Kind) bool {
	return m == Shadow && kind == observe.HorizontalPodAutoscaler
}

// rule says when objects of this kind are acted on.
func (m Mode) rule(kind observe.Kind) acting.Rule {
	switch {
	case kind != observe.HorizontalPodAutoscaler:
		return acting.UnlessInstalled
	case m == Auto:
		return acting.Evidence
	}
	return acting.Always
}
