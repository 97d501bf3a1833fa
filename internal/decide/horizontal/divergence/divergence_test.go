package divergence_test

import (
	"strings"
	"testing"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/divergence"
)

func TestAllHaveNames(t *testing.T) {
	seen := map[string]divergence.Set{}
	var union divergence.Set
	for _, d := range divergence.All() {
		name := d.String()
		if other, found := seen[name]; found || name == "" || strings.Contains(name, ",") {
			t.Errorf("divergence %b is called %q, as is %b", d, name, other)
		}
		seen[name] = d
		union |= d
	}
	if union != divergence.Default {
		t.Errorf("all together are %v, want the default", union)
	}
}

// TestParse: parsing the printed form of a set returns the set: all sets of two divergences, and all without two.
func TestParse(t *testing.T) {
	for _, one := range divergence.All() {
		for _, other := range divergence.All() {
			for _, set := range []divergence.Set{one | other, divergence.Default &^ (one | other)} {
				if got, err := divergence.Parse(set.String()); err != nil || got != set {
					t.Fatalf("%q reads as %v, %v", set, got, err)
				}
			}
		}
	}
	for text, want := range map[string]divergence.Set{
		"":                               divergence.Default,
		"rollout-surge , saturate":       divergence.RolloutSurge | divergence.Saturate,
		"rollout-surge,rollout-surge":    divergence.RolloutSurge,
		divergence.RolloutSurge.String(): divergence.RolloutSurge,
	} {
		if got, err := divergence.Parse(text); err != nil || got != want {
			t.Errorf("%q reads as %v, %v, want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"surges", "surge,,saturate", "none,surge", " "} {
		if got, err := divergence.Parse(text); err == nil {
			t.Errorf("%q reads as %v", text, got)
		} else if !strings.Contains(err.Error(), "no-ready-pods") {
			t.Errorf("%q: the error does not list the known ones: %v", text, err)
		}
	}
}

func TestHas(t *testing.T) {
	s := divergence.RolloutSurge | divergence.Saturate
	if !s.Has(divergence.RolloutSurge) || s.Has(divergence.RolloutSurge|divergence.LeaveZero) || !s.Has(divergence.None) {
		t.Errorf("%v has the wrong members", s)
	}
}
