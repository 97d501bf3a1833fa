package checksum

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The sums of abc and of nothing, as FIPS 180-4's examples have them.
const (
	ofABC     = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
	ofNothing = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
)

func folder(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestList(t *testing.T) {
	dir := folder(t, map[string]string{"b.tar.gz": "abc", "a.zip": ""})
	got, err := List(dir, []string{"b.tar.gz", "a.zip"})
	if want := ofNothing + "  a.zip\n" + ofABC + "  b.tar.gz\n"; err != nil || got != want {
		t.Errorf("%v, %q, want %q", err, got, want)
	}
	if _, err := List(dir, []string{"c"}); err == nil {
		t.Error("a missing file is listed")
	}
}

func TestVerify(t *testing.T) {
	const good = ofNothing + "  a\n" + ofABC + "  b\n"
	cases := map[string]struct {
		list  string
		files map[string]string
		want  string
	}{
		"all there":          {good, map[string]string{"a": "", "b": "abc"}, ""},
		"changed":            {good, map[string]string{"a": "", "b": "abd"}, "b has the sum"},
		"missing":            {good, map[string]string{"a": ""}, "b is in sums, and not in the folder"},
		"not in the list":    {good, map[string]string{"a": "", "b": "abc", "c": "c"}, "c has the sum"},
		"a line of prose":    {"hello\n", map[string]string{}, "has the line"},
		"a sum cut short":    {"abc  a\n", map[string]string{"a": ""}, "has the line"},
		"a file named twice": {good + ofABC + "  b\n", map[string]string{"a": "", "b": "abc"}, "has the line"},
	}
	for name, tc := range cases {
		tc.files["sums"] = tc.list
		err := Verify(folder(t, tc.files), "sums")
		if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
			t.Errorf("%s: error %v, want %q", name, err, tc.want)
		}
	}
}
