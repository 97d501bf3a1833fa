package priority_test

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/priority"
)

func TestRotate(t *testing.T) {
	keys := []string{"c", "a", "b", "d"}
	for last, want := range map[string][]string{
		"": {"a", "b", "c", "d"}, "b": {"c", "d", "a", "b"}, "d": {"a", "b", "c", "d"}, "bb": {"c", "d", "a", "b"},
	} {
		if got := priority.Rotate(keys, last); !slices.Equal(got, want) {
			t.Errorf("after %q: %v, want %v", last, got, want)
		}
	}
}

// Although few pods have a turn in each pass, and others come and go, each pod has a turn within as many passes as
// there are others.
func TestEveryPodGetsItsTurn(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		others := rapid.SliceOfNDistinct(rapid.StringMatching("[a-z]{1,3}"), 1, 12, rapid.ID).Draw(t, "others")
		me, last := rapid.StringMatching("[a-z]{4}").Draw(t, "me"), ""
		for range len(others) + 1 {
			first := priority.Rotate(append(slices.Clone(others), me), last)[0]
			if first == me {
				return
			}
			last = first
		}
		t.Errorf("%s never had its turn among %v", me, others)
	})
}
