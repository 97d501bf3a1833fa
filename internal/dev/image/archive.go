package image

import (
	"archive/tar"
	"fmt"
	"io"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// WriteArchive writes the image under the tag as an OCI archive: a tar of an
// OCI layout, for ctr, kind, podman, skopeo and docker to load.
func WriteArchive(w io.Writer, image v1.Image, tag string) error {
	// Loaders look for the name in the one annotation or in the other.
	index := mutate.IndexMediaType(mutate.AppendManifests(empty.Index, mutate.IndexAddendum{
		Add: image,
		Descriptor: v1.Descriptor{Annotations: map[string]string{
			"org.opencontainers.image.ref.name": tag,
			"io.containerd.image.name":          tag,
		}},
	}), types.OCIImageIndex)
	raw, err := index.RawManifest()
	if err != nil {
		return fmt.Errorf("index: %w", err)
	}
	archive := &archive{tar: tar.NewWriter(w)}
	archive.file("oci-layout", []byte(`{"imageLayoutVersion":"1.0.0"}`))
	archive.file("index.json", raw)
	archive.image(image)
	if archive.err == nil {
		archive.err = archive.tar.Close()
	}
	return archive.err
}

// archive keeps the first error and writes nothing more after it.
type archive struct {
	tar *tar.Writer
	err error
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
		Typeflag: tar.TypeReg, Name: name, Size: int64(len(content)), Mode: 0o644, ModTime: epoch,
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
