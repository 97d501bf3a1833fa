package image

import (
	"archive/tar"
	"bytes"
	"fmt"
	"io"
	"path"
	"runtime"
	"slices"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// File is a file of an image, or a folder if its mode says so.
type File struct {
	// Path is absolute.
	Path    string
	Content []byte
	// Mode is the permissions.
	Mode int64
	// Folder is true for a folder.
	Folder bool
}

// epoch is the time of everything in an image that has no other: the same files give the same image.
var epoch = time.Unix(0, 0).UTC()

// Assemble is an image of this machine's architecture with files, which appear in order of their paths.
func Assemble(files []File, config v1.Config) (v1.Image, error) {
	return assemble(files, &v1.ConfigFile{
		Architecture: runtime.GOARCH, Config: config, Created: v1.Time{Time: epoch},
	}, "")
}

// assemble takes architecture, configuration and time from a file; by is the creator in the image's history.
func assemble(files []File, of *v1.ConfigFile, by string) (v1.Image, error) {
	content, err := layer(files, of.Created.Time)
	if err != nil {
		return nil, fmt.Errorf("layer: %w", err)
	}
	l, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(content)), nil
	}, tarball.WithMediaType(types.OCILayer))
	if err != nil {
		return nil, fmt.Errorf("layer: %w", err)
	}
	base := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	image, err := mutate.Append(base,
		mutate.Addendum{Layer: l, History: v1.History{Created: of.Created, CreatedBy: by}})
	if err != nil {
		return nil, fmt.Errorf("image: %w", err)
	}
	file, err := image.ConfigFile()
	if err != nil {
		return nil, fmt.Errorf("config: %w", err)
	}
	file = file.DeepCopy()
	file.OS, file.Architecture, file.Created, file.Config = "linux", of.Architecture, of.Created, of.Config
	image, err = mutate.ConfigFile(image, file)
	if err != nil {
		return nil, fmt.Errorf("config: %w", err)
	}
	return image, nil
}

// layer is a tar archive of files with that time.
func layer(files []File, at time.Time) ([]byte, error) {
	files = slices.Clone(files)
	slices.SortFunc(files, func(a, b File) int { return strings.Compare(a.Path, b.Path) })
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, file := range files {
		if !path.IsAbs(file.Path) {
			return nil, fmt.Errorf("%q is not absolute", file.Path)
		}
		header := &tar.Header{
			Typeflag: tar.TypeReg, Name: file.Path[1:], Size: int64(len(file.Content)), Mode: file.Mode, ModTime: at,
		}
		if file.Folder {
			header.Typeflag, header.Name, header.Size = tar.TypeDir, header.Name+"/", 0
		}
		if err := w.WriteHeader(header); err != nil {
			return nil, fmt.Errorf("%s: %w", file.Path, err)
		}
		if file.Folder {
			continue
		}
		if _, err := w.Write(file.Content); err != nil {
			return nil, fmt.Errorf("%s: %w", file.Path, err)
		}
	}
	if err := w.Close(); err != nil {
		return nil, fmt.Errorf("end: %w", err)
	}
	return out.Bytes(), nil
}
