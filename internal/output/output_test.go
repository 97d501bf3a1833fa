package output

import (
	"math"
	"strings"
	"testing"
)

func TestDocuments(t *testing.T) {
	value := map[string]string{"reason": "load > target & rising"}
	for name, c := range map[string]struct {
		write func(*strings.Builder) error
		want  string
	}{
		"JSON":      {func(w *strings.Builder) error { return JSON(w, value) }, "{\n  \"reason\": \"load > target & rising\"\n}\n"},
		"JSON line": {func(w *strings.Builder) error { return JSONLine(w, value) }, "{\"reason\":\"load > target & rising\"}\n"},
		"YAML":      {func(w *strings.Builder) error { return YAML(w, value) }, "---\nreason: load > target & rising\n"},
	} {
		var text strings.Builder
		if err := c.write(&text); err != nil || text.String() != c.want {
			t.Errorf("%s: %q, %v", name, text.String(), err)
		}
	}
	if err := JSON(&strings.Builder{}, math.NaN()); err == nil {
		t.Error("no error for what JSON cannot hold")
	}
}

// TestColumns: numbers end below each other, and no line ends with blanks.
func TestColumns(t *testing.T) {
	got := Columns([][]string{{"NAME", "READY", "REASON"}, {"web", "12", "InUse"}, {"checkout", "3", ""}})
	want := "  NAME      READY  REASON\n  web          12  InUse\n  checkout      3\n"
	if got != want {
		t.Errorf("\n%s", got)
	}
}
