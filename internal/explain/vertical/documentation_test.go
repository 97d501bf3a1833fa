package vertical

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/reason"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/update/report"
)

// TestReasonsAreDocumented: docs/reference/conditions.md has every printed reason, with the same text. Mode Off has no
// condition; its text is in docs/explain.md.
func TestReasonsAreDocumented(t *testing.T) {
	conditions, explain := page(t, "reference/conditions.md"), page(t, "explain.md")
	if !strings.Contains(explain, report.Sentence(reason.ModeOff)) {
		t.Errorf("explain.md does not have %q", report.Sentence(reason.ModeOff))
	}
	speaks := map[reason.Reason]bool{
		reason.OutsideRange: true, reason.QuickOOM: true, reason.LongLived: true, reason.BoostExpired: true,
		reason.ResizeFailed: true, reason.ModeOff: true,
		reason.InitContainer: true, reason.FixedHeap: true,
	}
	for _, r := range reason.All() {
		if row := fmt.Sprintf("| %#q | %s |", r, report.Sentence(r)); !speaks[r] && !strings.Contains(conditions, row) {
			t.Errorf("it lacks the row %s", row)
		}
	}
}

// page returns a page of docs with its white space replaced by single spaces.
func page(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile("../../../docs/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(strings.Fields(string(text)), " ")
}
