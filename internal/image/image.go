// Package image assembles Plimsoll's container image from the static program
// alone: no registry, no container engine, no base image. The same program gives
// the same image, byte for byte.
package image

import (
	"archive/tar"
	"bytes"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// DefaultTag is the image's name, as config/ uses it.
const DefaultTag = "ghcr.io/plimsoll-dev/plimsoll:dev"

// user is the one that "nonroot" images have; config/ runs it with the
// restricted Pod Security standard.
const user = "65532:65532"

// entrypoint is where the program is in the image.
const entrypoint = "/plimsoll"

// epoch is the time of everything in the image.
var epoch = time.Unix(0, 0).UTC()

var labels = map[string]string{
	"org.opencontainers.image.title":       "plimsoll",
	"org.opencontainers.image.description": "Pod autoscaling for Kubernetes",
	"org.opencontainers.image.source":      "https://github.com/plimsoll-dev/plimsoll",
	"org.opencontainers.image.licenses":    "Apache-2.0",
}

// Build is the image of the program, a static Linux executable.
//
// There are no CA certificates in it: the API server's is in the pod's service
// account.
func Build(program []byte, version string) (v1.Image, error) {
	architecture, err := architectureOf(program)
	if err != nil {
		return nil, fmt.Errorf("the program: %w", err)
	}
	content, err := layerTar(program)
	if err != nil {
		return nil, fmt.Errorf("layer: %w", err)
	}
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(content)), nil
	}, tarball.WithMediaType(types.OCILayer))
	if err != nil {
		return nil, fmt.Errorf("layer: %w", err)
	}
	base := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	image, err := mutate.Append(base, mutate.Addendum{
		Layer: layer, History: v1.History{Created: v1.Time{Time: epoch}, CreatedBy: "make image"},
	})
	if err != nil {
		return nil, fmt.Errorf("image: %w", err)
	}
	config, err := image.ConfigFile()
	if err != nil {
		return nil, fmt.Errorf("config: %w", err)
	}
	config = config.DeepCopy()
	config.OS, config.Architecture, config.Created = "linux", architecture, v1.Time{Time: epoch}
	config.Config = v1.Config{User: user, Entrypoint: []string{entrypoint}, WorkingDir: "/", Labels: labelsOf(version)}
	return mutate.ConfigFile(image, config)
}

func labelsOf(version string) map[string]string {
	all := map[string]string{"org.opencontainers.image.version": version}
	for key, value := range labels {
		all[key] = value
	}
	return all
}

// layerTar holds the program and nothing else.
func layerTar(program []byte) ([]byte, error) {
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	err := w.WriteHeader(&tar.Header{
		Typeflag: tar.TypeReg, Name: entrypoint[1:], Size: int64(len(program)), Mode: 0o755, ModTime: epoch,
	})
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(program); err != nil {
		return nil, err
	}
	return out.Bytes(), w.Close()
}

// architectureOf also refuses a program that needs a loader, which the image
// does not have.
func architectureOf(program []byte) (string, error) {
	file, err := elf.NewFile(bytes.NewReader(program))
	if err != nil {
		return "", fmt.Errorf("not a Linux executable: %w", err)
	}
	for _, p := range file.Progs {
		if p.Type == elf.PT_INTERP {
			return "", errors.New("linked dynamically: build it with CGO_ENABLED=0")
		}
	}
	architectures := map[elf.Machine]string{
		elf.EM_X86_64: "amd64", elf.EM_AARCH64: "arm64", elf.EM_S390: "s390x", elf.EM_RISCV: "riscv64",
	}
	architecture, known := architectures[file.Machine]
	if !known {
		return "", fmt.Errorf("built for %s, which is not an image's architecture", file.Machine)
	}
	return architecture, nil
}
