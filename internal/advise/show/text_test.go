package show

import (
	"regexp"
	"strings"
	"testing"

	"github.com/plimsoll-dev/plimsoll/internal/advise/objects"
	"github.com/plimsoll-dev/plimsoll/internal/advise/rules"
)

// TestColours: on a terminal levels have colours, which take no columns; elsewhere there are none.
func TestColours(t *testing.T) {
	report := rules.Report{Autoscalers: 1}
	object := &objects.Object{Kind: "HorizontalPodAutoscaler", Name: "web"}
	for _, level := range []rules.Level{rules.Error, rules.Warning, rules.Advice} {
		report.Findings = append(report.Findings, rules.Finding{
			Rule: &rules.Rule{Name: "rule", Level: level}, Object: object, Field: objects.Field{"spec"}, Why: "It is so.",
		})
	}
	render := func(style Style) string {
		var out strings.Builder
		if err := Text(&out, &report, style); err != nil {
			t.Fatal(err)
		}
		return out.String()
	}
	plain, coloured := render(Style{Width: 60}), render(Style{Width: 60, InColour: true})
	for _, want := range []string{"\x1b[1;31merror\x1b[0m ", "\x1b[33mwarning\x1b[0m ", "\x1b[36madvice\x1b[0m "} {
		if !strings.Contains(coloured, want) {
			t.Errorf("%q is missing in %q", want, coloured)
		}
	}
	coloured = regexp.MustCompile(`\x1b\[[0-9;]*m`).ReplaceAllString(coloured, "")
	if plain != coloured || strings.Contains(plain, "\x1b") {
		t.Errorf("%q, without colours %q", coloured, plain)
	}
}
