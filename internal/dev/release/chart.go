package release

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/dev/release/archive"
)

// chartDir is the chart, below the root.
const chartDir = "charts/plimsoll"

// chartArchive is the chart's file in a release.
func chartArchive(version string) string { return "plimsoll-" + number(version) + ".tgz" }

// packChart has helm pack the chart with the version, and packs it again so that the same files give the same bytes.
func (r *run) packChart(ctx context.Context) ([]byte, error) {
	version := r.config.Version
	chart := filepath.Join(r.config.Root, filepath.FromSlash(chartDir))
	if _, err := os.Stat(filepath.Join(chart, "Chart.yaml")); err != nil {
		return nil, fmt.Errorf("the chart: %w", err)
	}
	cmd := exec.CommandContext(ctx, r.config.Helm, "package", chart, "--version", number(version),
		"--app-version", version, "--destination", r.scratch)
	// Nothing of the caller's: no plugins, no repositories.
	for _, name := range []string{"HELM_CONFIG_HOME", "HELM_CACHE_HOME", "HELM_DATA_HOME"} {
		cmd.Env = append(cmd.Env, name+"="+filepath.Join(r.scratch, "helm"))
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("helm package: %w\n%s", err, out)
	}
	packed, err := os.ReadFile(filepath.Join(r.scratch, chartArchive(version)))
	if err != nil {
		return nil, fmt.Errorf("the chart: %w", err)
	}
	return repack(packed, r.source.Time)
}

// repack is a tar.gz archive with the same files, all of one time, in the order of their names.
func repack(packed []byte, at time.Time) ([]byte, error) {
	compressed, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, fmt.Errorf("unpack: %w", err)
	}
	var files []archive.File
	for in := tar.NewReader(compressed); ; {
		header, err := in.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("unpack: %w", err)
		}
		if header.Typeflag != tar.TypeReg {
			return nil, fmt.Errorf("unpack: %s is not a file", header.Name)
		}
		content, err := io.ReadAll(in)
		if err != nil {
			return nil, fmt.Errorf("unpack: %w", err)
		}
		files = append(files, archive.File{Name: header.Name, Content: content, Mode: fs.FileMode(header.Mode).Perm()})
	}
	var out bytes.Buffer
	if err := archive.TarGz(&out, files, at); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}
