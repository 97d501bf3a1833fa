package output

import (
	"io"
	"os"
	"testing"
)

func TestEscape(t *testing.T) {
	for text, want := range map[string]string{
		"web: 4 replicas, 85 %\n\tnext": "web: 4 replicas, 85 %\n\tnext",
		"größer – 網頁":                   "größer – 網頁",
		"\x1b[1mweb\x1b[0m":             "\x1b[1mweb\x1b[0m",
		"\x1b]0;title\a":                `\x1b]0;title\x07`,
		"\x1b[2J\x1b[H":                 `\x1b[2J\x1b[H`,
		"ok\rproblem":                   `ok\x0dproblem`,
		"\r\x1b[Kgone":                  `\x0d\x1b[Kgone`,
		"\u009b31m":                     `\u009b31m`,
		"\u202eexe.txt":                 `\u202eexe.txt`,
		"\xff\xfe":                      `\xff\xfe`,
	} {
		if got := Escape(text, false); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	if got := Escape("\r\x1b[K3 of 9\x1b[A", true); got != "\r\x1b[K3 of 9"+`\x1b[A` {
		t.Errorf("progress: %q", got)
	}
}

// TestPrintable: characters that come in parts are whole in the file.
func TestPrintable(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	p := NewPrintable(w)
	for _, part := range []string{"a\xc3", "\xbc\xe7\xb6", "\xb2\x1b[2J", "\n"} {
		if n, err := p.Write([]byte(part)); n != len(part) || err != nil {
			t.Fatal(n, err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(r); err != nil || string(got) != "aü網"+`\x1b[2J`+"\n" {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := p.Write([]byte("x")); err == nil {
		t.Error("a closed file accepts text")
	}
}
