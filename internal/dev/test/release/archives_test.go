//go:build release

package release

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/validate"

	"github.com/plimsoll-dev/plimsoll/internal/dev/release"
)

// file is a file in an archive.
type file struct {
	content []byte
	mode    fs.FileMode
}

// unpack reads the archive of a program.
func (r *released) unpack(t *testing.T, program string, platform release.Platform) map[string]file {
	t.Helper()
	name := release.ArchiveName(program, version, platform)
	content := r.read(t, name)
	if strings.HasSuffix(name, ".zip") {
		return unzip(t, content)
	}
	compressed, err := gzip.NewReader(bytes.NewReader(content))
	if err != nil {
		t.Fatal(err)
	}
	return untar(t, compressed)
}

func untar(t *testing.T, r io.Reader) map[string]file {
	t.Helper()
	found := map[string]file{}
	for in := tar.NewReader(r); ; {
		header, err := in.Next()
		if errors.Is(err, io.EOF) {
			return found
		}
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(in)
		if err != nil {
			t.Fatal(err)
		}
		if header.Uid != 0 || header.Gid != 0 || found[header.Name].content != nil {
			t.Errorf("%s: %+v", header.Name, header)
		}
		found[header.Name] = file{content, header.FileInfo().Mode()}
	}
}

func unzip(t *testing.T, content []byte) map[string]file {
	t.Helper()
	r, err := zip.NewReader(bytes.NewReader(content), int64(len(content)))
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]file{}
	for _, entry := range r.File {
		one, err := entry.Open()
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(one)
		if err != nil {
			t.Fatal(err)
		}
		found[entry.Name] = file{content, entry.Mode()}
	}
	return found
}

func sumOf(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}

// executable is the name of a program in its archive.
func executable(program string, platform release.Platform) string {
	if platform.OS == "windows" {
		return program + ".exe"
	}
	return program
}

// archives have the program for their platform, and the licences.
func (r *released) archives(t *testing.T) {
	licence, err := os.ReadFile(filepath.Join(r.root, "LICENSE"))
	if err != nil {
		t.Fatal(err)
	}
	for _, platform := range release.Platforms() {
		var sums []string
		for _, program := range []string{"plimsoll", "kubectl-plimsoll"} {
			files := r.unpack(t, program, platform)
			name := executable(program, platform)
			want := []string{"LICENSE", "docs/licences.md", "docs/third-party-licences.txt", name}
			if got := slices.Sorted(maps.Keys(files)); !slices.Equal(got, want) {
				t.Errorf("%s for %s has %q, want %q", program, platform, got, want)
				continue
			}
			if !bytes.Equal(files["LICENSE"].content, licence) || files["LICENSE"].mode != 0o644 || files[name].mode != 0o755 {
				t.Errorf("%s for %s: modes %s, %s", program, platform, files["LICENSE"].mode, files[name].mode)
			}
			r.checkProgram(t, files[name].content, platform)
			sums = append(sums, sumOf(files[name].content))
			checkLicences(t, string(files["docs/third-party-licences.txt"].content))
		}
		if len(sums) == 2 && sums[0] != sums[1] {
			t.Errorf("the two programs for %s differ", platform)
		}
	}
}

// checkProgram reads what the go command recorded in a program.
func (r *released) checkProgram(t *testing.T, content []byte, platform release.Platform) {
	t.Helper()
	info, err := buildinfo.Read(bytes.NewReader(content))
	if err != nil {
		t.Fatalf("%s: %v", platform, err)
	}
	settings := map[string]string{}
	for _, s := range info.Settings {
		settings[s.Key] = s.Value
	}
	if settings["GOOS"] != platform.OS || settings["GOARCH"] != platform.Architecture || settings["CGO_ENABLED"] != "0" ||
		settings["-trimpath"] != "true" || settings["vcs.revision"] != "" {
		t.Errorf("%s: %v", platform, settings)
	}
	for _, text := range []string{version, r.commit} {
		if !bytes.Contains(content, []byte(text)) {
			t.Errorf("the program for %s does not have %s", platform, text)
		}
	}
	if bytes.Contains(content, []byte(r.root+"/")) {
		t.Errorf("the program for %s has the folder in which it was built", platform)
	}
}

// checkLicences checks for those that must be there in any case.
func checkLicences(t *testing.T, text string) {
	t.Helper()
	for _, want := range []string{
		"the Go standard library: LICENSE", "k8s.io/client-go ", "github.com/golang/freetype ", "Redistributions in binary form",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the licences do not have %q", want)
		}
	}
}

// image checks that there is one for both architectures, with the programs of the archives.
func (r *released) image(t *testing.T) {
	dir := t.TempDir()
	for name, file := range untar(t, bytes.NewReader(r.read(t, release.ImageName(version)))) {
		target := filepath.Join(dir, filepath.FromSlash(path.Clean("/"+name)))
		if err := os.MkdirAll(filepath.Dir(target), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(target, file.content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	top, err := layout.ImageIndexFromPath(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := validate.Index(top); err != nil {
		t.Errorf("the layout is not valid: %v", err)
	}
	names, err := top.IndexManifest()
	if err != nil || len(names.Manifests) != 1 {
		t.Fatalf("%+v, %v", names, err)
	}
	const tag = "ghcr.io/plimsoll-dev/plimsoll:" + version
	if got := names.Manifests[0].Annotations; got["org.opencontainers.image.ref.name"] != tag || got["io.containerd.image.name"] != tag {
		t.Errorf("named %v", got)
	}
	index, err := top.ImageIndex(names.Manifests[0].Digest)
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := index.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	var platforms []string
	for _, entry := range manifest.Manifests {
		platforms = append(platforms, entry.Platform.String())
		image, err := index.Image(entry.Digest)
		if err != nil {
			t.Fatal(err)
		}
		r.checkImage(t, image, entry.Platform)
	}
	if !slices.Equal(platforms, []string{"linux/amd64", "linux/arm64"}) {
		t.Errorf("platforms %q", platforms)
	}
	t.Logf("%s@%s has %q", tag, names.Manifests[0].Digest, platforms)
}

func (r *released) checkImage(t *testing.T, image v1.Image, platform *v1.Platform) {
	t.Helper()
	config, err := image.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	labels := config.Config.Labels
	if config.OS != platform.OS || config.Architecture != platform.Architecture ||
		labels["org.opencontainers.image.version"] != version || labels["org.opencontainers.image.revision"] != r.commit {
		t.Errorf("%s: %+v", platform, config)
	}
	content := mutate.Extract(image)
	defer content.Close()
	files := untar(t, content)
	packed := r.unpack(t, "plimsoll", release.Platform{OS: platform.OS, Architecture: platform.Architecture})
	for inImage, inArchive := range map[string]string{
		"plimsoll": "plimsoll", "licenses/LICENSE": "LICENSE", "licenses/licences.md": "docs/licences.md",
		"licenses/third-party-licences.txt": "docs/third-party-licences.txt",
	} {
		if got, want := sumOf(files[inImage].content), sumOf(packed[inArchive].content); got != want {
			t.Errorf("%s: %s has the sum %s, in the archive %s", platform, inImage, got, want)
		}
	}
	if len(files) != 5 || files["plimsoll"].mode != 0o755 {
		t.Errorf("%s: files %q", platform, slices.Sorted(maps.Keys(files)))
	}
}
