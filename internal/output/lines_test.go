package output

import (
	"strings"
	"testing"
)

// TestWriteLines: a line that is broken goes on below where its text begins, a heading with two blanks.
func TestWriteLines(t *testing.T) {
	p := &Page{}
	p.Title("Stays at 2: CPU is at its target")
	p.Add("metric 1", "%s", "CPU: 50% of the requests")
	p.Detail("value", "average 500m of the pods")
	for name, tt := range map[string]struct {
		form Form
		want string
	}{
		"whole": {Form{}, "Stays at 2: CPU is at its target\n  metric 1       CPU: 50% of the requests\n    value        average " +
			"500m of the pods\n"},
		"broken": {Form{Width: 32}, "Stays at 2: CPU is at its target\n  metric 1       CPU: 50% of the\n                 " +
			"requests\n    value        average 500m of\n                 the pods\n"},
		"heading": {Form{Width: 30, IsColoured: true}, "\x1b[1mStays at 2: CPU is at its\n  target\x1b[0m\n  metric 1       " +
			"CPU: 50% of\n                 the requests\n    value        average 500m\n                 of the pods\n"},
	} {
		var out strings.Builder
		if err := WriteLines(&out, p.All(), tt.form); err != nil || out.String() != tt.want {
			t.Errorf("%s: %v\n%q, want\n%q", name, err, out.String(), tt.want)
		}
	}
}
