package picture

import (
	"strings"
	"testing"

	"github.com/plimsoll-dev/plimsoll/internal/dev/bench/reaction"
	"github.com/plimsoll-dev/plimsoll/internal/dev/bench/report"
)

func measured(name string, first, almost, all report.Spread) reaction.SubjectResult {
	return reaction.SubjectResult{
		Subject: reaction.Subject{Name: name}, FirstWriteSeconds: first, AlmostWantedSeconds: almost, AllWantedSeconds: all,
	}
}

func TestSVG(t *testing.T) {
	result := &reaction.Result{Subjects: []reaction.SubjectResult{
		measured("upstream, defaults", report.Of(20, 10), report.Of(35, 25), report.Of(50, 40)),
		measured("Plimsoll", report.Of(0.25), report.Of(1.25), report.Of(2.35)),
	}}
	var text strings.Builder
	if err := SVG(&text, result); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"<svg", "upstream, defaults: 10 after 45.0 s", "Plimsoll: 10 after 2.4 s",
	} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("lacks %q", want)
		}
	}
	for name, broken := range map[string]*reaction.Result{
		"nothing":    {},
		"no moments": {Subjects: []reaction.SubjectResult{measured("Plimsoll", report.Of(1), report.Of(2), report.Of())}},
		"too many":   {Subjects: make([]reaction.SubjectResult, 5)},
	} {
		if err := SVG(&strings.Builder{}, broken); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
