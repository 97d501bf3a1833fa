package notices

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// folder has files with their texts.
func folder(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestCollect(t *testing.T) {
	// b has another's code in third_party; a and b have the same licence with other ends of lines.
	a := folder(t, map[string]string{"LICENSE": "Permission\nis granted\n", "license.go": "package a", "NOTICE.txt": "a by A"})
	b := folder(t, map[string]string{
		"License.md": "Permission\r\nis granted", "x/x.go": "", "third_party/c/COPYING": "other terms", "unused/LICENSE": "never",
	})
	packages := []Package{
		{Module: "example.com/b v1.0.0", ModuleDir: b, Dir: filepath.Join(b, "third_party", "c")},
		{Module: "example.com/a v1.0.0", ModuleDir: a, Dir: a},
		{Module: "example.com/b v1.0.0", ModuleDir: b, Dir: filepath.Join(b, "x")},
	}
	got, err := Collect("Licences", packages)
	if err != nil {
		t.Fatal(err)
	}
	line := strings.Repeat("=", 80)
	want := "Licences\n\nEach text below is preceded by the modules that have it.\n\n" +
		line + "\n\nexample.com/a v1.0.0: LICENSE\nexample.com/b v1.0.0: License.md\n\nPermission\nis granted\n\n" +
		line + "\n\nexample.com/a v1.0.0: NOTICE.txt\n\na by A\n\n" +
		line + "\n\nexample.com/b v1.0.0: third_party/c/COPYING\n\nother terms\n"
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestModuleWithoutLicence(t *testing.T) {
	dir := folder(t, map[string]string{"license.go": "package a", "README.md": "MIT"})
	_, err := Collect("Licences", []Package{{Module: "example.com/a v1.0.0", ModuleDir: dir, Dir: dir}})
	if err == nil || !strings.Contains(err.Error(), "example.com/a v1.0.0 has no file with its licence") {
		t.Errorf("error %v", err)
	}
}
