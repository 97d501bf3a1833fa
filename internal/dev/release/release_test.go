package release

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/plimsoll-dev/plimsoll/internal/dev/release/notices"
)

func TestCheckVersion(t *testing.T) {
	for _, version := range []string{"v0.1.0", "v1.20.3", "v0.1.0-rc.1", "v1.0.0-alpha"} {
		if err := CheckVersion(version); err != nil {
			t.Errorf("%s: %v", version, err)
		}
	}
	for _, version := range []string{
		"", "0.1.0", "v0.1", "v1", "v0.1.0.0", "v0.01.0", "v0.1.0+build", "v0.1.0-", "V0.1.0", "latest", " v0.1.0", "v0.1.0/x",
	} {
		if err := CheckVersion(version); err == nil || !strings.Contains(err.Error(), "set VERSION") {
			t.Errorf("%q: error %v", version, err)
		}
	}
}

// repository is a Git repository with one commit of that time.
func repository(t *testing.T, seconds string) (dir string, git func(args ...string) string) {
	t.Helper()
	dir = t.TempDir()
	for name, value := range map[string]string{
		"GIT_CONFIG_GLOBAL": os.DevNull, "GIT_CONFIG_SYSTEM": os.DevNull, "SOURCE_DATE_EPOCH": "",
		"GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@example.com", "GIT_COMMITTER_NAME": "a",
		"GIT_COMMITTER_EMAIL": "a@example.com", "GIT_COMMITTER_DATE": "@" + seconds + " +0200", "GIT_AUTHOR_DATE": "@1 +0000",
	} {
		t.Setenv(name, value)
	}
	git = func(args ...string) string {
		t.Helper()
		out, err := exec.CommandContext(t.Context(), "git", append([]string{"-C", dir}, args...)...).CombinedOutput()
		if err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	git("init", "--quiet")
	write(t, filepath.Join(dir, "file"), "one")
	git("add", "file")
	git("commit", "--quiet", "-m", "one")
	return dir, git
}

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestSource(t *testing.T) {
	dir, git := repository(t, "1795608000")
	commit := git("rev-parse", "HEAD")
	got, err := readSource(t.Context(), dir, "v1.2.3", false)
	if want := (Source{Commit: commit, Time: time.Unix(1795608000, 0).UTC()}); err != nil || got != want {
		t.Errorf("%+v (%v), want %+v", got, err, want)
	}
	t.Setenv("SOURCE_DATE_EPOCH", "1700000000")
	if got, err := readSource(t.Context(), dir, "v1.2.3", false); err != nil || got.Time.Unix() != 1700000000 {
		t.Errorf("with SOURCE_DATE_EPOCH %+v, %v", got, err)
	}
	t.Setenv("SOURCE_DATE_EPOCH", "yesterday")
	if _, err := readSource(t.Context(), dir, "v1.2.3", false); err == nil || !strings.Contains(err.Error(), `"yesterday"`) {
		t.Errorf("with a SOURCE_DATE_EPOCH of letters: error %v", err)
	}
}

func TestSourceOfChangedFiles(t *testing.T) {
	for name, change := range map[string]string{"a changed file": "file", "a file that is not in the commit": "other"} {
		dir, git := repository(t, "1795608000")
		git("config", "status.showUntrackedFiles", "no") // as some have it
		write(t, filepath.Join(dir, change), "two")
		_, err := readSource(t.Context(), dir, "v1.2.3", false)
		if err == nil || !strings.Contains(err.Error(), "DIRTY=1") || !strings.Contains(err.Error(), change) {
			t.Errorf("%s: error %v", name, err)
		}
		got, err := readSource(t.Context(), dir, "v1.2.3", true)
		if err != nil || got.Commit != git("rev-parse", "HEAD")+"-dirty" {
			t.Errorf("%s, allowed: %+v, %v", name, got, err)
		}
	}
}

func TestSourceOfAnotherTag(t *testing.T) {
	dir, git := repository(t, "1795608000")
	git("tag", "-m", "v1.2.3", "v1.2.3")
	if _, err := readSource(t.Context(), dir, "v1.2.3", false); err != nil {
		t.Errorf("the tag of this commit: %v", err)
	}
	git("commit", "--quiet", "--allow-empty", "-m", "two")
	if _, err := readSource(t.Context(), dir, "v1.2.3", false); err == nil ||
		!strings.Contains(err.Error(), "v1.2.3 is the tag of the commit") {
		t.Errorf("the tag of an earlier commit: error %v", err)
	}
}

func TestSourceWithoutGit(t *testing.T) {
	t.Setenv("GIT_CEILING_DIRECTORIES", os.TempDir())
	if _, err := readSource(t.Context(), t.TempDir(), "v1.2.3", false); err == nil {
		t.Error("a folder without a repository is accepted")
	}
}

func TestRunRefusesBeforeItBuilds(t *testing.T) {
	dir, _ := repository(t, "1795608000")
	output := filepath.Join(t.TempDir(), "release", "v1.2.3")
	for version, want := range map[string]string{"1.2.3": "set VERSION", "v1.2.3": "charts/plimsoll"} {
		err := Run(t.Context(), &Config{Root: dir, Version: version, Output: output, Out: io.Discard})
		if err == nil || !strings.Contains(filepath.ToSlash(err.Error()), want) {
			t.Errorf("%s: error %v, want %q", version, err, want)
		}
	}
	// Nothing is left, not even of what was begun.
	if left, err := os.ReadDir(filepath.Dir(output)); err != nil || len(left) > 0 {
		t.Errorf("left %v, %v", left, err)
	}
}

func TestPlatforms(t *testing.T) {
	for _, p := range Platforms() {
		if got, err := ParsePlatform(p.String()); err != nil || got != p {
			t.Errorf("%s is read as %s, %v", p, got, err)
		}
	}
	if len(Platforms()) != 6 {
		t.Errorf("%v", Platforms())
	}
	if _, err := ParsePlatform("linux/s390x"); err == nil || !strings.Contains(err.Error(), "darwin/arm64") {
		t.Errorf("error %v", err)
	}
	if got := ArchiveName("plimsoll", "v1.2.3", Platform{OS: "windows", Architecture: "arm64"}); got !=
		"plimsoll_v1.2.3_windows_arm64.zip" {
		t.Error(got)
	}
}

// The flags are those with which everything is built, so that compiled packages are shared, and name the version.
func TestFlags(t *testing.T) {
	got := flags("v1.2.3", "abc")
	if !slices.Contains(got, "-trimpath") || !slices.Contains(got, "-buildvcs=false") {
		t.Errorf("%q", got)
	}
	want := "-ldflags=-s -w -X github.com/plimsoll-dev/plimsoll/internal/buildinfo.version=v1.2.3 " +
		"-X github.com/plimsoll-dev/plimsoll/internal/buildinfo.commit=abc"
	if got[len(got)-1] != want {
		t.Errorf("%q, want %q", got[len(got)-1], want)
	}
}

func TestLinked(t *testing.T) {
	all, err := readList([]byte(`
		{"ImportPath": "fmt", "Dir": "/go/src/fmt", "Root": "/go", "Goroot": true}
		{"ImportPath": "unsafe", "Dir": "/go/src/unsafe", "Root": "/go", "Goroot": true}
		{"ImportPath": "example.com/a/x", "Dir": "/mod/a/x", "Module": {"Path": "example.com/a", "Version": "v1.0.0", "Dir": "/mod/a"}}
		{"ImportPath": "example.com/b", "Dir": "/mod/fork", "Module": {"Path": "example.com/b", "Version": "v1.0.0", "Dir": "/mod/fork",
			"Replace": {"Path": "example.com/fork", "Version": "v2.0.0", "Dir": "/mod/fork"}}}
		{"ImportPath": "example.com/ours", "Dir": "/src", "Module": {"Path": "example.com/ours", "Main": true, "Dir": "/src"}}`))
	if err != nil {
		t.Fatal(err)
	}
	var got []notices.Package
	for i := range all {
		p, isOthers, err := all[i].linked()
		if err != nil {
			t.Fatal(err)
		}
		if isOthers {
			got = append(got, p)
		}
	}
	want := []notices.Package{
		{Module: "the Go standard library", ModuleDir: "/go", Dir: "/go/src/fmt"},
		{Module: "example.com/a v1.0.0", ModuleDir: "/mod/a", Dir: "/mod/a/x"},
		{Module: "example.com/fork v2.0.0", ModuleDir: "/mod/fork", Dir: "/mod/fork"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if _, _, err := (&listed{ImportPath: "example.com/none", Dir: "/x"}).linked(); err == nil {
		t.Error("a package without a module is accepted")
	}
	if _, err := readList([]byte(`{"ImportPath": `)); err == nil {
		t.Error("read half a list")
	}
}

// tarGz is an archive with files that contain their names, as helm packs them.
func tarGz(t *testing.T, at time.Time, names ...string) []byte {
	t.Helper()
	var out bytes.Buffer
	compressed := gzip.NewWriter(&out)
	compressed.Comment = "Helm"
	w := tar.NewWriter(compressed)
	for _, name := range names {
		err := w.WriteHeader(&tar.Header{Name: name, Typeflag: tar.TypeReg, Size: int64(len(name)), Mode: 0o644, ModTime: at})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(w, name); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(w.Close(), compressed.Close()); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// Charts of any order and times are the same chart.
func TestRepack(t *testing.T) {
	at := time.Unix(1795608000, 0)
	first, err := repack(tarGz(t, at.Add(time.Hour), "p/values.yaml", "p/Chart.yaml"), at)
	if err != nil {
		t.Fatal(err)
	}
	second, err := repack(tarGz(t, at.Add(time.Minute), "p/Chart.yaml", "p/values.yaml"), at)
	if err != nil || !bytes.Equal(first, second) {
		t.Errorf("two archives of the same files differ (%v)", err)
	}
	compressed, err := gzip.NewReader(bytes.NewReader(first))
	if err != nil {
		t.Fatal(err)
	}
	r := tar.NewReader(compressed)
	for _, name := range []string{"p/Chart.yaml", "p/values.yaml"} {
		header, err := r.Next()
		if err != nil || header.Name != name || !header.ModTime.Equal(at) {
			t.Fatalf("%+v, %v", header, err)
		}
		if content, err := io.ReadAll(r); err != nil || string(content) != name {
			t.Errorf("%s has %q, %v", name, content, err)
		}
	}
	if _, err := repack([]byte("no archive"), at); err == nil {
		t.Error("a file that is no archive is accepted")
	}
}

// TestOutputOfOthers: a folder is emptied only if a release is in it.
func TestOutputOfOthers(t *testing.T) {
	dir := t.TempDir()
	if err := checkOutput(filepath.Join(dir, "missing")); err != nil {
		t.Error(err)
	}
	if err := checkOutput(dir); err != nil {
		t.Errorf("an empty folder: %v", err)
	}
	write(t, filepath.Join(dir, "thesis.txt"), "years of work")
	if err := checkOutput(dir); err == nil || !strings.Contains(err.Error(), "name another folder") {
		t.Errorf("a folder with other files: error %v", err)
	}
	if err := checkOutput(filepath.Join(dir, "thesis.txt")); err == nil {
		t.Error("a file is accepted")
	}
	write(t, filepath.Join(dir, Checksums), "")
	if err := checkOutput(dir); err != nil {
		t.Errorf("a release: %v", err)
	}
}
