package horizontal_test

import (
	"os"
	"strings"
	"testing"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/divergence"
)

// TestEachDivergenceIsShown: testdata/divergences.txt has scenarios for each divergence, and at least one of them has
// another result without it. Exceptions are the divergences of the controller and those of reading samples and
// requests, which apply before a decision. The scenarios without a difference show the contrast.
func TestEachDivergenceIsShown(t *testing.T) {
	text, err := os.ReadFile("testdata/divergences.txt")
	if err != nil {
		t.Fatal(err)
	}
	const elsewhere = divergence.HistoryByUID | divergence.DropSeries | divergence.InitContainers |
		divergence.OtherWriter | divergence.ActuatedRequests | divergence.PodLevelRequests | divergence.ClaimedRequests
	for _, d := range divergence.All() {
		if elsewhere.Has(d) {
			continue
		}
		t.Run(d.String(), func(t *testing.T) {
			with := scenarios(d, play(&stage{t: t, quiet: true}, string(text)))
			if with == "" {
				t.Fatal("it has no scenario")
			}
			if with == scenarios(d, play(&stage{t: t, quiet: true, without: d}, string(text))) {
				t.Error("without it everything under its name is the same")
			}
		})
	}
}

// scenarios returns the blocks of the divergence: from the first with its name up to the next divergence.
func scenarios(d divergence.Set, text string) string {
	var all []string
	mine := false
	for block := range strings.SplitSeq(text, "\n\n") {
		if title, _, named := strings.Cut(strings.TrimPrefix(block, "# "), ": "); named && !strings.Contains(title, " ") {
			mine = title == d.String()
		}
		if mine {
			all = append(all, block)
		}
	}
	return strings.Join(all, "\n\n")
}
