package doctor

import (
	"strings"
	"testing"
)

// TestTextOfStrangers: what is found in a cluster, such as the holder of a Lease, does not begin lines of its own.
func TestTextOfStrangers(t *testing.T) {
	const forged = "x\nok        rights              all is well\r"
	var out strings.Builder
	err := WriteText(&out, &Report{Findings: []Finding{{
		Check: "installation", Level: Problem, Object: "Lease a/" + forged, What: forged, Why: forged, Do: forged,
		Command: forged,
	}}})
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
	if len(lines) != 5 || strings.Contains(out.String(), "\r") || strings.Count(out.String(), `x\nok`) != 5 {
		t.Errorf("%d lines:\n%s", len(lines), out.String())
	}
}
