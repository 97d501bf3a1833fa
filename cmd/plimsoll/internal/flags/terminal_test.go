package flags

import (
	"os"
	"strings"
	"testing"

	"github.com/plimsoll-dev/plimsoll/internal/output"
)

// TestNotes: on a terminal a note goes on below where its text begins. In a pipe it is one line.
func TestNotes(t *testing.T) {
	const note = "WorkloadAutoscaler web has mode Preview: it is played as Active"
	const want = "note: WorkloadAutoscaler web has mode\n      Preview: it is played as Active"
	if got := noteText(note, 40); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	var piped strings.Builder
	if WriteNote(&piped, note); piped.String() != "note: "+note+"\n" {
		t.Errorf("%q", piped.String())
	}
}

// TestForm: lines are broken and coloured on terminals alone, and coloured only if NO_COLOR does not forbid it.
func TestForm(t *testing.T) {
	terminal, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer terminal.Close()
	t.Setenv("NO_COLOR", "")
	if got := Form(terminal); !got.IsColoured || got.Width < narrowest || got.Width > widestTextWidth {
		t.Errorf("%+v", got)
	}
	t.Setenv("NO_COLOR", "1")
	if got := Form(terminal); got.IsColoured || got.Width < narrowest {
		t.Errorf("with NO_COLOR: %+v", got)
	}
	if got := Form(&strings.Builder{}); got != (output.Form{}) {
		t.Errorf("no terminal: %+v", got)
	}
}
