package image

import (
	"archive/tar"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// WriteArchive writes the image under the tag as an OCI archive: a tar of an
// OCI layout, for ctr, kind, podman, skopeo and docker to load.
func WriteArchive(w io.Writer, image v1.Image, tag string) error {
	a := &archive{tar: tar.NewWriter(w), time: epoch}
	a.begin(image, tag)
	a.image(image)
	return a.end()
}

// WriteIndexArchive writes an image for several architectures likewise. The files of the archive have the time.
func WriteIndexArchive(w io.Writer, index v1.ImageIndex, tag string, at time.Time) error {
	a := &archive{tar: tar.NewWriter(w), time: at}
	a.begin(index, tag)
	manifest, err := index.RawManifest()
	a.blob(index, manifest, err)
	entries, err := index.IndexManifest()
	if err != nil {
		return fmt.Errorf("index: %w", err)
	}
	for i := range entries.Manifests {
		image, err := index.Image(entries.Manifests[i].Digest)
		if err != nil {
			return fmt.Errorf("index: %w", err)
		}
		a.image(image)
	}
	return a.end()
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

// archive keeps the first error and writes nothing more after it.
type archive struct {
	tar  *tar.Writer
	time time.Time // modification time of each file
	err  error
}

// begin writes the layout file and the index.
func (a *archive) begin(content mutate.Appendable, tag string) {
	// Loaders read the name from the one annotation or from the other.
	index := mutate.IndexMediaType(mutate.AppendManifests(empty.Index, mutate.IndexAddendum{
		Add: content,
		Descriptor: v1.Descriptor{Annotations: map[string]string{
			"org.opencontainers.image.ref.name": tag,
			"io.containerd.image.name":          tag,
		}},
	}), types.OCIImageIndex)
	raw, err := index.RawManifest()
	if err != nil {
		a.fail(err)
		return
	}
	a.file("oci-layout", []byte(`{"imageLayoutVersion":"1.0.0"}`))
	a.file("index.json", raw)
}

func (a *archive) end() error {
	if a.err == nil {
		a.fail(a.tar.Close())
	}
	return a.err
}

func (a *archive) image(image v1.Image) {
	manifest, err := image.RawManifest()
	a.blob(image, manifest, err)
	config, err := image.RawConfigFile()
	name, nameErr := image.ConfigName()
	a.named(name, config, first(err, nameErr))
	layers, err := image.Layers()
	if err != nil {
		a.fail(err)
		return
	}
	for _, layer := range layers {
		content, err := compressed(layer)
		a.blob(layer, content, err)
	}
}

func compressed(layer v1.Layer) ([]byte, error) {
	r, err := layer.Compressed()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return io.ReadAll(r)
}

func (a *archive) blob(of interface{ Digest() (v1.Hash, error) }, content []byte, err error) {
	digest, digestErr := of.Digest()
	a.named(digest, content, first(err, digestErr))
}

func (a *archive) named(digest v1.Hash, content []byte, err error) {
	if err != nil {
		a.fail(err)
		return
	}
	a.file("blobs/"+digest.Algorithm+"/"+digest.Hex, content)
}

func (a *archive) file(name string, content []byte) {
	if a.err != nil {
		return
	}
	a.fail(a.tar.WriteHeader(&tar.Header{
		Typeflag: tar.TypeReg, Name: name, Size: int64(len(content)), Mode: 0o644, ModTime: a.time,
	}))
	if a.err == nil {
		_, err := a.tar.Write(content)
		a.fail(err)
	}
}

func (a *archive) fail(err error) {
	if a.err == nil && err != nil {
		a.err = fmt.Errorf("archive: %w", err)
	}
}

func first(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
