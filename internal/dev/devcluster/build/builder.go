package build

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// builder does one Run.
type builder struct {
	config Config
	binDir string
	// kubernetes is the version that Kubernetes' own parts report.
	kubernetes string
	result     Result
}

func (b *builder) run(ctx context.Context, wanted []part) (Result, error) {
	b.result.BinDir = b.binDir
	ours, theirs := map[string][]part{}, map[string][]part{} // by module
	for _, p := range wanted {
		if p.ours {
			ours[p.module] = append(ours[p.module], p)
		} else {
			theirs[p.module] = append(theirs[p.module], p)
		}
	}
	for _, module := range slices.Sorted(maps.Keys(theirs)) {
		if err := b.update(ctx, module, theirs[module]); err != nil {
			return b.result, err
		}
	}
	for _, module := range slices.Sorted(maps.Keys(ours)) {
		if err := b.build(ctx, ours[module]); err != nil {
			return b.result, err
		}
	}
	return b.result, nil
}

// update builds those parts of a module that are not up to date.
func (b *builder) update(ctx context.Context, module string, parts []part) error {
	stamp, err := newStamp(ctx, filepath.Join(b.config.Root, module), flags(b.kubernetes))
	if err != nil {
		return err
	}
	path := filepath.Join(b.binDir, "."+filepath.Base(module)+".json")
	recorded := readStamp(path)
	stale := slices.DeleteFunc(slices.Clone(parts),
		func(p part) bool { return recorded.covers(stamp.Key, b.binDir, p.name) })
	if len(stale) == 0 {
		return nil
	}
	if err := b.build(ctx, stale); err != nil {
		return err
	}
	if err := recorded.record(stamp.Key, b.binDir, stale); err != nil {
		return err
	}
	return recorded.write(path)
}

// build makes parts of one module with a single go command, so that what they share is compiled once and both
// processors are busy to the end. It builds into a folder of its own: a binary under bin/ is whole.
func (b *builder) build(ctx context.Context, parts []part) (err error) {
	dir := filepath.Join(b.config.Root, parts[0].module)
	packages := make([]string, len(parts))
	for i, p := range parts {
		packages[i] = p.pkg
	}
	began := time.Now()
	total, err := b.list(ctx, dir, packages)
	if err != nil {
		return err
	}
	b.result.Download += time.Since(began)

	scratch, err := os.MkdirTemp(b.binDir, ".build-")
	if err != nil {
		return fmt.Errorf("build folder: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(scratch)) }()
	began = time.Now()
	if err := b.compile(ctx, compilation{dir: dir, packages: packages, total: total, scratch: scratch}); err != nil {
		return err
	}
	b.result.Compile += time.Since(began)
	for _, p := range parts {
		if err := os.Rename(filepath.Join(scratch, p.output()), filepath.Join(b.binDir, p.name)); err != nil {
			return fmt.Errorf("install %s: %w", p.name, err)
		}
		b.result.Built = append(b.result.Built, p.name)
	}
	profile, err := readProfile(filepath.Join(scratch, graphName))
	if err != nil {
		return err
	}
	b.result.Profile.add(profile)
	return nil
}

func (p part) output() string {
	if p.outName != "" {
		return p.outName
	}
	return p.name
}

// list resolves the packages, which downloads their modules and no others, and counts them.
func (b *builder) list(ctx context.Context, dir string, packages []string) (int, error) {
	download := newDownload(b.config)
	cmd := exec.CommandContext(ctx, "go", append([]string{"list", "-deps", "-f", "{{.ImportPath}}"}, packages...)...)
	cmd.Dir, cmd.Env = dir, environment(dir)
	cmd.Stderr = download
	out, err := cmd.Output()
	download.finish()
	if err != nil {
		return 0, fmt.Errorf("list the packages of %s: %w\n%s", dir, err, download.errors())
	}
	return strings.Count(string(out), "\n"), nil
}

// compilation is one run of the go command.
type compilation struct {
	dir      string
	packages []string
	total    int
	scratch  string
}

const graphName = "graph.json"

func (b *builder) compile(ctx context.Context, c compilation) error {
	progress := newProgress(b.config, c.total)
	defer progress.finish()
	args := slices.Concat([]string{"build", "-v", "-debug-actiongraph=" + filepath.Join(c.scratch, graphName),
		"-o", c.scratch + string(filepath.Separator)}, flags(b.kubernetes), c.packages)
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir, cmd.Env = c.dir, environment(c.dir)
	cmd.Stderr = progress
	// Ctrl-C must end the compilers too, which are the go command's children.
	setGroup(cmd)
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("go build in %s: %w\n%s", c.dir, err, progress.errors())
	}
	return nil
}
