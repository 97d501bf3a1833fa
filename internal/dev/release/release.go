package release

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/plimsoll-dev/plimsoll/internal/dev/image"
	"github.com/plimsoll-dev/plimsoll/internal/dev/release/archive"
	"github.com/plimsoll-dev/plimsoll/internal/dev/release/checksum"
	"github.com/plimsoll-dev/plimsoll/internal/dev/release/krew"
	"github.com/plimsoll-dev/plimsoll/internal/dev/release/manifest"
	"github.com/plimsoll-dev/plimsoll/internal/dev/release/notices"
	"github.com/plimsoll-dev/plimsoll/internal/dev/release/sbom"
)

// downloads is the URL of a release's files, without its version.
const downloads = "https://github.com/plimsoll-dev/plimsoll/releases/download/"

// Names of files of a release that do not have the version in them.
const (
	Checksums   = "checksums.txt"
	Definitions = "crds.yaml"
	Krew        = "plimsoll.yaml"
)

// programs are the names under which the program is packed: its own, and that of a plugin of kubectl.
var programs = []string{"plimsoll", "kubectl-" + krew.Name}

// Config configures a release.
type Config struct {
	// Root is the repository, Version the release's.
	Root, Version string
	// Output is the folder to write; what is in it is removed first.
	Output string
	// Helm is the path of helm.
	Helm string
	// Platforms are those to build for; empty means all. There is an image for those of Linux.
	Platforms []Platform
	// AllowDirty builds from files that are not committed.
	AllowDirty bool
	// Out gets a line for each file.
	Out io.Writer
}

// run is one release while it is made.
type run struct {
	config  Config
	source  Source
	scratch string
	// dir is the folder of the files until all are complete; files are their names.
	dir   string
	files []string
	// licences go into each archive and into the image.
	licences []archive.File
	built    []*program
	packed   []sbom.Artifact
	image    sbom.Image
}

// Run makes a release. On an error nothing is left in the output.
func Run(ctx context.Context, config *Config) (err error) {
	r := &run{config: *config}
	if err := CheckVersion(r.config.Version); err != nil {
		return err
	}
	if len(r.config.Platforms) == 0 {
		r.config.Platforms = Platforms()
	}
	if r.source, err = readSource(ctx, r.config.Root, r.config.Version, r.config.AllowDirty); err != nil {
		return err
	}
	if err := checkOutput(r.config.Output); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(r.config.Output), 0o755); err != nil {
		return fmt.Errorf("output: %w", err)
	}
	if r.scratch, err = os.MkdirTemp(filepath.Dir(r.config.Output), ".release-"); err != nil {
		return fmt.Errorf("output: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(r.scratch)) }()
	r.dir = filepath.Join(r.scratch, "files")
	if err := os.Mkdir(r.dir, 0o755); err != nil {
		return fmt.Errorf("output: %w", err)
	}
	for _, step := range []func(context.Context) error{
		r.chart, r.manifests, r.texts, r.programs, r.images, r.krew, r.bill, r.checksums,
	} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	if err := os.RemoveAll(r.config.Output); err != nil {
		return fmt.Errorf("output: %w", err)
	}
	if err := os.Rename(r.dir, r.config.Output); err != nil {
		return fmt.Errorf("output: %w", err)
	}
	return nil
}

// checkOutput refuses a folder with other files than those of a release, as it is emptied.
func checkOutput(path string) error {
	entries, err := os.ReadDir(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("output: %w", err)
	}
	isChecksums := func(e fs.DirEntry) bool { return e.Name() == Checksums }
	if len(entries) > 0 && !slices.ContainsFunc(entries, isChecksums) {
		return fmt.Errorf("output: %s would be emptied, and has other files than those of a release: "+
			"name another folder", path)
	}
	return nil
}

// write adds a file to the release.
func (r *run) write(name string, content func(io.Writer) error) error {
	path := filepath.Join(r.dir, name)
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644) //nolint:gosec // what everyone downloads
	if err != nil {
		return err
	}
	if err := errors.Join(content(file), file.Close()); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	r.files = append(r.files, name)
	fmt.Fprintf(r.config.Out, "%10d  %s\n", info.Size(), name)
	return nil
}

func (r *run) writeText(name string, text []byte) error {
	return r.write(name, func(w io.Writer) error {
		_, err := w.Write(text)
		return err
	})
}

func (r *run) chart(ctx context.Context) error {
	packed, err := r.packChart(ctx)
	if err != nil {
		return err
	}
	return r.writeText(chartArchive(r.config.Version), packed)
}

// installations are the kustomizations that are rendered.
var installations = []struct{ name, folder, what string }{
	{"install.yaml", ".", "horizontal and vertical autoscaling"},
	{"install-horizontal.yaml", "horizontal", "horizontal autoscaling alone"},
	{"install-node-agent.yaml", "node-agent", "the optional agents of nodes, beside one of the others"},
}

func (r *run) manifests(context.Context) error {
	config := filepath.Join(r.config.Root, "config")
	comment := func(what string) string {
		return fmt.Sprintf("Plimsoll %s: %s. docs/install.md says what to apply first.", r.config.Version, what)
	}
	repository, _, _ := strings.Cut(image.DefaultTag, ":")
	for _, i := range installations {
		text, err := manifest.Installation(config, i.folder, repository, r.config.Version, comment(i.what))
		if err != nil {
			return err
		}
		if err := r.writeText(i.name, text); err != nil {
			return err
		}
	}
	text, err := manifest.Definitions(config, comment("the CustomResourceDefinitions"))
	if err != nil {
		return err
	}
	return r.writeText(Definitions, text)
}

// texts reads the licences.
func (r *run) texts(ctx context.Context) error {
	for _, name := range []string{"LICENSE", "docs/licences.md"} {
		text, err := os.ReadFile(filepath.Join(r.config.Root, filepath.FromSlash(name)))
		if err != nil {
			return err
		}
		r.licences = append(r.licences, archive.File{Name: name, Content: text, Mode: 0o644})
	}
	packages, err := r.linked(ctx)
	if err != nil {
		return err
	}
	text, err := notices.Collect("Licences of what is linked into Plimsoll "+r.config.Version, packages)
	if err != nil {
		return err
	}
	r.licences = append(r.licences, archive.File{Name: "docs/third-party-licences.txt", Content: text, Mode: 0o644})
	return nil
}

// programs builds and packs the program for each platform.
func (r *run) programs(ctx context.Context) error {
	for _, platform := range r.config.Platforms {
		built, err := r.compile(ctx, platform)
		if err != nil {
			return err
		}
		r.built = append(r.built, built)
		for _, name := range programs {
			if err := r.pack(built, name); err != nil {
				return err
			}
		}
	}
	return nil
}

// pack writes the archive of a program under a name.
func (r *run) pack(built *program, name string) error {
	platform := built.platform
	file, pack := ArchiveName(name, r.config.Version, platform), archive.TarGz
	if platform.OS == windows {
		pack = archive.Zip
	}
	files := append(slices.Clone(r.licences),
		archive.File{Name: platform.executable(name), Content: built.content, Mode: 0o755})
	if err := r.write(file, func(w io.Writer) error { return pack(w, files, r.source.Time) }); err != nil {
		return err
	}
	sum, err := checksum.OfFile(filepath.Join(r.dir, file))
	if err != nil {
		return err
	}
	r.packed = append(r.packed, sbom.Artifact{
		Name: file, URL: downloads + r.config.Version + "/" + file, SHA256: sum, Platform: platform.String(),
	})
	return nil
}

// krew writes the manifest of kubectl's plugin.
func (r *run) krew(context.Context) error {
	var archives []krew.Archive
	for _, platform := range r.config.Platforms {
		name := ArchiveName(programs[1], r.config.Version, platform)
		i := slices.IndexFunc(r.packed, func(a sbom.Artifact) bool { return a.Name == name })
		archives = append(archives, krew.Archive{
			OS: platform.OS, Architecture: platform.Architecture, Program: platform.executable(programs[1]),
			URL: r.packed[i].URL, SHA256: r.packed[i].SHA256,
		})
	}
	text, err := krew.Manifest(r.config.Version, archives)
	if err != nil {
		return err
	}
	return r.writeText(Krew, text)
}

// bill writes what everything is made of.
func (r *run) bill(context.Context) error {
	described := &sbom.Release{
		Version: r.config.Version, Commit: r.source.Commit, Created: r.source.Time, Artifacts: r.packed, Image: r.image,
	}
	for _, built := range r.built {
		described.Programs = append(described.Programs, built.described)
	}
	text, err := sbom.Document(described)
	if err != nil {
		return err
	}
	return r.writeText(BillName(r.config.Version), text)
}

func (r *run) checksums(context.Context) error {
	text, err := checksum.List(r.dir, r.files)
	if err != nil {
		return err
	}
	if err := r.writeText(Checksums, []byte(text)); err != nil {
		return err
	}
	return checksum.Verify(r.dir, Checksums)
}
