package workloadstatus

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestShorten(t *testing.T) {
	for text, want := range map[string]string{
		"": "", "as it is": "as it is", "longer than ten": "longer ...", "aäöüßéxx": "aäöü...", "ääääää": "äää...", "\xff\xffbad": "?bad",
		strings.Repeat("\x80", 20): "...",
	} {
		got := shorten(text, 10)
		if got != want || len(got) > 10 || !utf8.ValidString(got) {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
	}
}
