package vertical

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/reason"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/update/report"
)

// TestReasonsAreDocumented: docs/explain.md has every reason that is printed, with the same text.
func TestReasonsAreDocumented(t *testing.T) {
	text, err := os.ReadFile("../../../docs/explain.md")
	if err != nil {
		t.Fatal(err)
	}
	speaks := map[reason.Reason]bool{
		reason.OutsideRange: true, reason.QuickOOM: true, reason.LongLived: true, reason.BoostExpired: true,
		reason.ResizeFailed:  true,
		reason.InitContainer: true, reason.FixedHeap: true,
	}
	for _, r := range reason.All() {
		if row := fmt.Sprintf("| %#q | %s |", r, report.Sentence(r)); !speaks[r] && !strings.Contains(string(text), row) {
			t.Errorf("it lacks the row %s", row)
		}
	}
}
