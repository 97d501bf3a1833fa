package output

import (
	"os/exec"
	"strings"
	"testing"
)

func TestWrap(t *testing.T) {
	for name, tt := range map[string]struct {
		text                 string
		width, first, indent int
		want                 string
	}{
		"fits":               {"a b", 10, 0, 2, "a b"},
		"at a word":          {"one two three", 9, 0, 2, "one two\n  three"},
		"behind a label":     {"one two", 9, 4, 4, "one\n    two"},
		"a word too long":    {"see /a/long/path now", 8, 0, 2, "see\n  /a/long/path\n  now"},
		"begins too late":    {"one", 4, 8, 2, "\n  one"},
		"columns stay":       {"a   b   c", 80, 0, 0, "a   b   c"},
		"no width":           {"one two three", 0, 0, 2, "one two three"},
		"colours":            {"\x1b[1mone\x1b[0m two", 7, 0, 0, "\x1b[1mone\x1b[0m two"},
		"letters, not bytes": {"größer größer", 13, 0, 0, "größer größer"},
	} {
		if got := Wrap(tt.text, tt.width, tt.first, tt.indent); got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}

// TestWrapCommand: what a shell makes of a command is the same, and no line is longer.
func TestWrapCommand(t *testing.T) {
	for _, command := range []string{
		"printf %s, --set image.repository=a/b -n shop --type=json -p '[{\"op\": \"remove --x\"}]' --namespace scaling",
		"printf %s, -n a",
		`printf %s, --patch "a b" --and 'it'\''s' --wait --create-namespace --set vertical.enabled=true --set x=y`,
	} {
		const width = 40
		wrapped := WrapCommand(command, width, 4)
		for i, line := range strings.Split(wrapped, "\n") {
			if i == 0 {
				line = "    " + line
			}
			if len(line) > width && strings.Count(line, " --") > 0 && !strings.Contains(line, "'") {
				t.Errorf("%d columns: %s", len(line), line)
			}
		}
		want, err := exec.CommandContext(t.Context(), "bash", "-c", command).Output()
		if err != nil {
			t.Fatal(err)
		}
		got, err := exec.CommandContext(t.Context(), "bash", "-c", wrapped).Output()
		if err != nil || string(got) != string(want) {
			t.Errorf("%v: %q, want %q:\n%s", err, got, want, wrapped)
		}
	}
	if command := "kubectl delete x y    # only if what it belongs to is gone --"; WrapCommand(command, 20, 0) != command {
		t.Error("a comment is broken")
	}
}

func TestWrapped(t *testing.T) {
	var out strings.Builder
	w := NewWrapped(&out, 12)
	const text = "shop/web: the HPA stays\nGo on? [y/N] "
	if n, err := w.Write([]byte(text)); n != len(text) || err != nil {
		t.Fatal(n, err)
	}
	if want := "shop/web:\n  the HPA\n  stays\nGo on? [y/N]"; out.String() != want {
		t.Errorf("%q, want %q", out.String(), want)
	}
}
