package release

import (
	"context"
	"fmt"
	"io"
	"path"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/plimsoll-dev/plimsoll/internal/dev/image"
	"github.com/plimsoll-dev/plimsoll/internal/dev/release/sbom"
)

// licencesDir is the folder of the licences in the image.
const licencesDir = "/licenses"

// images writes the container image, for each architecture of Linux.
func (r *run) images(context.Context) error {
	from := &image.Source{
		Version: r.config.Version, Revision: r.source.Commit, Created: r.source.Time,
		Files: []image.File{{Path: licencesDir, Mode: 0o755, Folder: true}},
	}
	for _, file := range r.licences {
		from.Files = append(from.Files, image.File{
			Path: path.Join(licencesDir, path.Base(file.Name)), Content: file.Content, Mode: 0o644,
		})
	}
	var images []v1.Image
	var platforms []string
	for _, built := range r.built {
		if built.platform.OS != linux {
			continue
		}
		one, err := image.BuildFrom(built.content, from)
		if err != nil {
			return fmt.Errorf("image for %s: %w", built.platform, err)
		}
		images = append(images, one)
		platforms = append(platforms, built.platform.String())
	}
	if len(images) == 0 {
		return nil
	}
	index, err := image.Index(images...)
	if err != nil {
		return fmt.Errorf("image: %w", err)
	}
	digest, err := index.Digest()
	if err != nil {
		return fmt.Errorf("image: %w", err)
	}
	repository, _, _ := strings.Cut(image.DefaultTag, ":")
	r.image = sbom.Image{Name: repository, Digest: digest.String(), Platforms: platforms}
	return r.write(ImageName(r.config.Version), func(w io.Writer) error {
		return image.WriteIndexArchive(w, index, repository+":"+r.config.Version, r.source.Time)
	})
}
