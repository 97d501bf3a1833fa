package image

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// WriteArchive writes the image under the tag as an OCI archive: a tar of an
// OCI layout, for ctr, kind, podman, skopeo and docker to load.
func WriteArchive(w io.Writer, image v1.Image, tag string) error {
	return writeArchive(w, image, tag, epoch)
}

// WriteIndexArchive writes an image for several architectures likewise. The files of the archive have the time.
func WriteIndexArchive(w io.Writer, index v1.ImageIndex, tag string, at time.Time) error {
	return writeArchive(w, index, tag, at)
}

// Index is one image for several architectures, in the order of their names.
func Index(images ...v1.Image) (v1.ImageIndex, error) {
	var entries []mutate.IndexAddendum
	for _, image := range images {
		config, err := image.ConfigFile()
		if err != nil {
			return nil, fmt.Errorf("config: %w", err)
		}
		entries = append(entries, mutate.IndexAddendum{Add: image, Descriptor: v1.Descriptor{
			Platform: &v1.Platform{OS: config.OS, Architecture: config.Architecture},
		}})
	}
	slices.SortFunc(entries, func(a, b mutate.IndexAddendum) int {
		return strings.Compare(a.Platform.Architecture, b.Platform.Architecture)
	})
	for i := 1; i < len(entries); i++ {
		if one := entries[i].Platform; one.Equals(*entries[i-1].Platform) {
			return nil, fmt.Errorf("two images for %s", one)
		}
	}
	return mutate.IndexMediaType(mutate.AppendManifests(empty.Index, entries...), types.OCIImageIndex), nil
}

func writeArchive(w io.Writer, content mutate.Appendable, tag string, at time.Time) (err error) {
	dir, err := os.MkdirTemp("", "plimsoll-image-")
	if err != nil {
		return fmt.Errorf("archive: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	// Loaders read the name from the one annotation or from the other.
	index := mutate.IndexMediaType(mutate.AppendManifests(empty.Index, mutate.IndexAddendum{
		Add: content,
		Descriptor: v1.Descriptor{Annotations: map[string]string{
			"org.opencontainers.image.ref.name": tag,
			"io.containerd.image.name":          tag,
		}},
	}), types.OCIImageIndex)
	if _, err := layout.Write(dir, index); err != nil {
		return fmt.Errorf("archive: %w", err)
	}
	files, out := os.DirFS(dir), tar.NewWriter(w)
	err = fs.WalkDir(files, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := fs.ReadFile(files, name)
		if err != nil {
			return err
		}
		err = out.WriteHeader(&tar.Header{
			Typeflag: tar.TypeReg, Name: name, Size: int64(len(content)), Mode: 0o644, ModTime: at,
		})
		if err == nil {
			_, err = out.Write(content)
		}
		return err
	})
	if err == nil {
		err = out.Close()
	}
	if err != nil {
		return fmt.Errorf("archive: %w", err)
	}
	return nil
}
