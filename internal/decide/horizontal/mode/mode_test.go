package mode_test

import (
	"testing"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/mode"
)

func TestParse(t *testing.T) {
	for text, want := range map[string]mode.Mode{
		"": mode.Active, "Active": mode.Active, "Preview": mode.Preview, "Paused": mode.Paused,
	} {
		if got, ok := mode.Parse(text); got != want || !ok {
			t.Errorf("%q: %v, %t", text, got, ok)
		}
		if text != "" && want.String() != text {
			t.Errorf("%q is written as %q", text, want)
		}
	}
	if got, ok := mode.Parse("active"); got != mode.Active || ok {
		t.Errorf("an unknown mode: %v, %t", got, ok)
	}
}
