package process

import (
	"bytes"
	"strings"
	"testing"

	"github.com/plimsoll-dev/plimsoll/internal/buildinfo"
)

// The first line of each process has its version and build.
func TestLogBuild(t *testing.T) {
	var out bytes.Buffer
	logBuild(NewLogger(&out, 0, LogText))
	build := buildinfo.Get()
	for _, want := range []string{"level=INFO", "version=" + build.Version, "commit=" + build.Commit, "go=" + build.Go} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q does not have %q", out.String(), want)
		}
	}
}
