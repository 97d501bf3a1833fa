// Package buildinfo has what the program was built from.
package buildinfo

import (
	"fmt"
	"runtime"
	"runtime/debug"
)

// The linker sets these for releases.
var version, commit string

// The names of the variables that the linker sets.
const (
	VersionVariable = "github.com/plimsoll-dev/plimsoll/internal/buildinfo.version"
	CommitVariable  = "github.com/plimsoll-dev/plimsoll/internal/buildinfo.commit"
)

// Unknown stands for a missing property of a build.
const Unknown = "unknown"

// Info describes the build of a program.
type Info struct {
	// Version is a release's, such as v0.1.0; of another build it is what the go command knows of the sources, or (devel).
	Version string
	// Commit is the Git commit of the sources, 40 hexadecimal digits. A release that was built from changed files says so
	// after it. Unknown where neither the release nor the go command has recorded it.
	Commit string
	// Go is the release of Go, such as go1.26.4, and Platform the operating system and architecture, such as linux/amd64.
	Go, Platform string
}

// String is one line.
func (i Info) String() string {
	return fmt.Sprintf("%s (commit %s, %s, %s)", i.Version, i.Commit, i.Go, i.Platform)
}

// Get is this program's.
func Get() Info {
	build, _ := debug.ReadBuildInfo()
	return of(build, version, commit)
}

// of takes what the linker has set before what the go command has recorded, which may be nil.
func of(build *debug.BuildInfo, version, commit string) Info {
	info := Info{Version: version, Commit: commit, Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	if build != nil && info.Version == "" {
		info.Version = build.Main.Version
	}
	if info.Version == "" {
		info.Version = "(devel)"
	}
	if build != nil && info.Commit == "" {
		for _, setting := range build.Settings {
			if setting.Key == "vcs.revision" {
				info.Commit = setting.Value
			}
		}
	}
	if info.Commit == "" {
		info.Commit = Unknown
	}
	return info
}
