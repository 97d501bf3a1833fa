package divergence

import (
	"strings"
	"testing"
)

func TestEachHasAName(t *testing.T) {
	if got, want := len(known), len(All()); got != want {
		t.Fatalf("%d names for %d divergences", got, want)
	}
	for _, d := range All() {
		back, err := Parse(d.String())
		if err != nil || back != d {
			t.Errorf("%s reads back as %s, %v", d, back, err)
		}
	}
}

func TestParse(t *testing.T) {
	for text, want := range map[string]Set{
		"":                             Default,
		"default":                      Default,
		"none":                         None,
		"finite-upper, resize-backoff": FiniteUpper | ResizeBackoff,
		// An earlier version printed these names.
		"quiet-status,absurd-samples": QuietStatus | ImplausibleSamples,
	} {
		if got, err := Parse(text); err != nil || got != want {
			t.Errorf("%q reads as %s, %v; want %s", text, got, err, want)
		}
	}
	if _, err := Parse("surge"); err == nil || !strings.Contains(err.Error(), "finite-upper") {
		t.Errorf("an unknown name is answered with %v; want one that names the known ones", err)
	}
}
