package checkpoints

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/forecast"
	"github.com/plimsoll-dev/plimsoll/internal/loadhistory"
)

// docs/install.md has the versions in which the parts of a checkpoint are written.
func TestInstallPageHasTheVersions(t *testing.T) {
	page, err := os.ReadFile("../../../../docs/install.md")
	if err != nil {
		t.Fatal(err)
	}
	history, err := new(loadhistory.History).AppendBinary(nil)
	if err != nil {
		t.Fatal(err)
	}
	learnt, err := forecast.New().AppendBinary(nil)
	if err != nil {
		t.Fatal(err)
	}
	for part, version := range map[string]byte{"history": history[0], "forecast": learnt[0]} {
		want := fmt.Sprintf("| `spec.%s` of an AutoscalerCheckpoint | first byte `%d` |", part, version)
		if !strings.Contains(string(page), want) {
			t.Errorf("docs/install.md does not have %q", want)
		}
	}
}
