//go:build release

package release

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/dev/devcluster/build"
	"github.com/plimsoll-dev/plimsoll/internal/dev/release"
	"github.com/plimsoll-dev/plimsoll/internal/dev/release/checksum"
)

const version = "v0.0.0-test.1"

// development is the folder of the module that releases, below the repository.
const development = "internal/dev"

var (
	again = flag.String("again", "", "build the second time for these platforms alone, such as linux/amd64,darwin/arm64")
	fresh = flag.Bool("fresh", false, "compile everything anew the second time, instead of sharing the build cache")
	keep  = flag.String("keep", "", "a folder for the release that was built first, which is then not removed")
)

// released is the tested release.
type released struct {
	root, dir, commit string
}

// path is a file of the release.
func (r *released) path(name string) string { return filepath.Join(r.dir, name) }

func (r *released) read(t *testing.T, name string) []byte {
	t.Helper()
	content, err := os.ReadFile(r.path(name))
	if err != nil {
		t.Fatal(err)
	}
	return content
}

func TestRelease(t *testing.T) {
	root, err := build.Root()
	if err != nil {
		t.Fatal(err)
	}
	r := &released{root: root, dir: filepath.Join(t.TempDir(), "first")}
	if *keep != "" {
		r.dir = *keep
	}
	r.commit = strings.TrimSpace(command(t, root, nil, "git", "rev-parse", "HEAD"))
	began := time.Now()
	t.Logf("first, in %s:\n%s", root, command(t, filepath.Join(root, development), nil, "go", "run", "./cmd/release", "--version="+version, "--output="+r.dir))
	t.Logf("built after %s", time.Since(began).Round(time.Second))

	t.Run("files", r.files)
	t.Run("checksums", r.checksums)
	t.Run("archives", r.archives)
	t.Run("programs run", r.programsRun)
	t.Run("image", r.image)
	t.Run("bill of materials", r.bill)
	t.Run("krew", r.krew)
	t.Run("manifests", r.manifests)
	t.Run("chart", r.chart)
	t.Run("twice", r.twice)
	t.Run("refused", r.refused)
}

// command runs a program and returns what it prints; that it fails is a failure.
func command(t *testing.T, dir string, env []string, name string, args ...string) string {
	t.Helper()
	out, err := run(t.Context(), dir, env, name, args...)
	if err != nil {
		t.Fatalf("%s %v: %v\n%s", name, args, err, out)
	}
	return out
}

func run(ctx context.Context, dir string, env []string, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// twice builds the release again: in a clone, with another time zone and with settings of the caller's that would change a
// program.
func (r *released) twice(t *testing.T) {
	clone := filepath.Join(t.TempDir(), "elsewhere", "a-clone")
	command(t, "", nil, "git", "clone", "--quiet", "--no-hardlinks", r.root, clone)
	command(t, clone, nil, "git", "checkout", "--quiet", "--detach", r.commit)
	output, program := filepath.Join(t.TempDir(), "second"), filepath.Join(t.TempDir(), "release")
	command(t, filepath.Join(clone, development), nil, "go", "build", "-o", program, "./cmd/release")
	env := []string{"TZ=Asia/Kathmandu", "GOAMD64=v3", "LC_ALL=C.UTF-8", "HELM_DATA_HOME=/nonexistent"}
	if *fresh {
		env = append(env, "GOCACHE="+t.TempDir())
	}
	began := time.Now()
	out := command(t, clone, env, program, "--version="+version, "--output="+output,
		"--helm="+filepath.Join(r.root, "bin", "helm"), "--platforms="+*again)
	t.Logf("second, in %s, after %s:\n%s", clone, time.Since(began).Round(time.Second), out)
	entries, err := os.ReadDir(output)
	if err != nil {
		t.Fatal(err)
	}
	compared := 0
	for _, entry := range entries {
		if *again != "" && isOfAll(entry.Name()) {
			continue
		}
		compared++
		first, second := r.read(t, entry.Name()), (&released{dir: output}).read(t, entry.Name())
		if !bytes.Equal(first, second) {
			t.Errorf("%s differs: %d bytes and %d bytes, the first difference at %d", entry.Name(), len(first), len(second),
				differsAt(first, second))
		}
	}
	all, err := os.ReadDir(r.dir)
	if err != nil {
		t.Fatal(err)
	}
	if *again == "" && len(all) != len(entries) {
		t.Errorf("%d files, then %d", len(all), len(entries))
	}
	if compared == 0 {
		t.Error("nothing was compared")
	}
	t.Logf("%d of %d files were compared byte by byte", compared, len(all))
}

// isOfAll reports whether a file has something of every platform in it.
func isOfAll(name string) bool {
	return slices.Contains([]string{
		release.Checksums, release.Krew, release.ImageName(version), release.BillName(version),
	}, name)
}

func differsAt(a, b []byte) int {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return i
		}
	}
	return min(len(a), len(b))
}

// files checks that a release has these files, and no others.
func (r *released) files(t *testing.T) {
	want := []string{
		"checksums.txt", "crds.yaml", "install.yaml", "install-horizontal.yaml", "install-node-agent.yaml",
		"plimsoll.yaml", "plimsoll-0.0.0-test.1.tgz", "plimsoll_v0.0.0-test.1.spdx.json", "plimsoll_v0.0.0-test.1_image.tar",
	}
	for _, program := range []string{"plimsoll", "kubectl-plimsoll"} {
		for _, platform := range []string{
			"linux_amd64.tar.gz", "linux_arm64.tar.gz", "darwin_amd64.tar.gz", "darwin_arm64.tar.gz", "windows_amd64.zip",
			"windows_arm64.zip",
		} {
			want = append(want, program+"_v0.0.0-test.1_"+platform)
		}
	}
	slices.Sort(want)
	entries, err := os.ReadDir(r.dir)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	var total int64
	for _, entry := range entries {
		info, err := entry.Info()
		if err != nil {
			t.Fatal(err)
		}
		total += info.Size()
		got = append(got, entry.Name())
	}
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("files\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	t.Logf("%d files, %d MiB", len(got), total>>20)
}

// checksums checks that sha256sum accepts them.
func (r *released) checksums(t *testing.T) {
	out := command(t, r.dir, nil, "sha256sum", "--check", "--strict", release.Checksums)
	if err := checksum.Verify(r.dir, release.Checksums); err != nil {
		t.Error(err)
	}
	t.Logf("%d files are OK", strings.Count(out, ": OK\n"))
}

// programsRun runs this machine's programs.
func (r *released) programsRun(t *testing.T) {
	platform := release.Platform{OS: runtime.GOOS, Architecture: runtime.GOARCH}
	want := fmt.Sprintf("plimsoll %s (commit %s, %s, %s)\n", version, r.commit, runtime.Version(), platform)
	for name, help := range map[string]string{"plimsoll": "plimsoll [command]", "kubectl-plimsoll": "kubectl plimsoll [command]"} {
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, r.unpack(t, name, platform)[name].content, 0o700); err != nil {
			t.Fatal(err)
		}
		if got := command(t, "", nil, path, "version"); got != want {
			t.Errorf("%s version prints %q, want %q", name, got, want)
		}
		if got := command(t, "", nil, path, "--help"); !strings.Contains(got, "  "+help) {
			t.Errorf("%s --help prints\n%s", name, got)
		}
	}
	t.Log(strings.TrimSpace(want))
}

// refused are releases that must not be built, and leave nothing.
func (r *released) refused(t *testing.T) {
	output := filepath.Join(t.TempDir(), "none")
	for wrong, want := range map[string]string{"": "set VERSION", "1.0.0": "set VERSION", "latest": "set VERSION"} {
		out, err := run(t.Context(), filepath.Join(r.root, development), nil, "go", "run", "./cmd/release", "--version="+wrong, "--output="+output)
		if err == nil || !strings.Contains(out, want) {
			t.Errorf("version %q: %v\n%s", wrong, err, out)
		}
	}
	clone := filepath.Join(t.TempDir(), "clone")
	command(t, "", nil, "git", "clone", "--quiet", "--no-hardlinks", r.root, clone)
	if err := os.WriteFile(filepath.Join(clone, "left-over.txt"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := run(t.Context(), filepath.Join(clone, development), nil, "go", "run", "./cmd/release", "--version="+version, "--output="+output)
	if err == nil || !strings.Contains(out, "left-over.txt") || !strings.Contains(out, "DIRTY=1") {
		t.Errorf("with a file that is not committed: %v\n%s", err, out)
	}
	if _, err := os.Stat(output); !os.IsNotExist(err) {
		t.Errorf("something was written: %v", err)
	}
}
