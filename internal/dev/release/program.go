package release

import (
	"context"
	"debug/buildinfo"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	shipped "github.com/plimsoll-dev/plimsoll/internal/buildinfo"
	"github.com/plimsoll-dev/plimsoll/internal/dev/devcluster/build"
	"github.com/plimsoll-dev/plimsoll/internal/dev/release/checksum"
	"github.com/plimsoll-dev/plimsoll/internal/dev/release/sbom"
)

// mainPackage is the package of the released program.
const mainPackage = "./cmd/plimsoll"

// Operating systems that are treated apart.
const (
	linux   = "linux"
	windows = "windows"
)

// Platform is an operating system and an architecture, by Go's names.
type Platform struct {
	OS, Architecture string
}

// String is such as linux/amd64.
func (p Platform) String() string { return p.OS + "/" + p.Architecture }

// Platforms are those of a release.
func Platforms() []Platform {
	var all []Platform
	for _, system := range []string{"darwin", linux, windows} {
		for _, architecture := range []string{"amd64", "arm64"} {
			all = append(all, Platform{OS: system, Architecture: architecture})
		}
	}
	return all
}

// ParsePlatform reads one of Platforms.
func ParsePlatform(text string) (Platform, error) {
	all := Platforms()
	i := slices.IndexFunc(all, func(p Platform) bool { return p.String() == text })
	if i < 0 {
		return Platform{}, fmt.Errorf("no release is built for %q, but for %s", text, all)
	}
	return all[i], nil
}

// executable is the name of a program on the platform.
func (p Platform) executable(name string) string {
	if p.OS == windows {
		return name + ".exe"
	}
	return name
}

// environment is that of the go command. What would change the program comes from here, not from the caller.
func (p Platform) environment() []string {
	return append(os.Environ(),
		"GOOS="+p.OS, "GOARCH="+p.Architecture, "GOAMD64=v1", "GOARM64=v8.0", "CGO_ENABLED=0", "GOFLAGS=", "GOWORK=off",
		"GOEXPERIMENT=", "GOFIPS140=off",
		// A compiler lives for a second, and needs a quarter less processor time without garbage collection.
		"GOGC=off", "GOMEMLIMIT=2GiB")
}

// flags are the common build flags, so that compiled packages are shared, apart from the linker's.
func flags(version, commit string) []string {
	shared := slices.DeleteFunc(build.Flags(), func(flag string) bool { return strings.HasPrefix(flag, "-ldflags=") })
	return append(shared, fmt.Sprintf("-ldflags=-s -w -X %s=%s -X %s=%s",
		shipped.VersionVariable, version, shipped.CommitVariable, commit))
}

// program is a program that was built.
type program struct {
	platform  Platform
	content   []byte
	described sbom.Program
}

// compile builds the program for a platform.
func (r *run) compile(ctx context.Context, platform Platform) (*program, error) {
	path := filepath.Join(r.scratch, platform.OS+"-"+platform.Architecture)
	args := slices.Concat([]string{"build", "-o", path}, flags(r.config.Version, r.source.Commit), []string{mainPackage})
	if _, err := r.goCommand(ctx, platform, args); err != nil {
		return nil, err
	}
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	info, err := buildinfo.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", platform, err)
	}
	sum, err := checksum.OfFile(path)
	if err != nil {
		return nil, err
	}
	return &program{platform: platform, content: content, described: sbom.Program{
		Platform: platform.String(), SHA256: sum, Build: info,
	}}, nil
}

func (r *run) goCommand(ctx context.Context, platform Platform, args []string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir, cmd.Env = r.config.Root, platform.environment()
	out, err := cmd.Output()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		return nil, fmt.Errorf("go %s for %s: %w\n%s", args[0], platform, err, exit.Stderr)
	}
	if err != nil {
		return nil, fmt.Errorf("go %s for %s: %w", args[0], platform, err)
	}
	return out, nil
}
