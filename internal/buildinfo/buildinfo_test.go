package buildinfo

import (
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
)

func TestOf(t *testing.T) {
	recorded := &debug.BuildInfo{
		Main:     debug.Module{Version: "v0.0.0-20261125"},
		Settings: []debug.BuildSetting{{Key: "GOOS", Value: "linux"}, {Key: "vcs.revision", Value: "abc"}},
	}
	cases := map[string]struct {
		build                                          *debug.BuildInfo
		version, commit, expectVersion, expectedCommit string
	}{
		"a release":                       {recorded, "v1.2.3", "def", "v1.2.3", "def"},
		"what the go command knows":       {recorded, "", "", "v0.0.0-20261125", "abc"},
		"a build without version control": {&debug.BuildInfo{}, "", "", "(devel)", Unknown},
		"a program without build info":    {nil, "", "", "(devel)", Unknown},
	}
	for name, tc := range cases {
		got := of(tc.build, tc.version, tc.commit)
		if got.Version != tc.expectVersion || got.Commit != tc.expectedCommit || got.Go != runtime.Version() {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func TestString(t *testing.T) {
	got := Info{Version: "v1.2.3", Commit: "abc", Go: "go1.26.4", Platform: "linux/arm64"}.String()
	if want := "v1.2.3 (commit abc, go1.26.4, linux/arm64)"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// The linker ignores the name of a variable that is not there.
func TestVariables(t *testing.T) {
	build, ok := debug.ReadBuildInfo()
	if !ok {
		t.Fatal("no build info")
	}
	for _, name := range []string{VersionVariable, CommitVariable} {
		if !strings.HasPrefix(name, strings.TrimSuffix(build.Path, ".test")+".") {
			t.Errorf("%s is not in %s", name, build.Path)
		}
	}
}
