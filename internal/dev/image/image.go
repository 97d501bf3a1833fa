// Package image assembles container images: no registry, no container engine, no
// base image. The same files give the same image, byte for byte. Plimsoll's own has
// the static program alone.
//
// ko compiles what it packs, and puts it on a base image from a registry. A release's
// image has the very program of its archives, and images of a real node's pods have
// programs that are not Go's.
package image

import (
	"bytes"
	"cmp"
	"debug/elf"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// DefaultTag is the image's name, as config/ uses it.
const DefaultTag = "ghcr.io/plimsoll-dev/plimsoll:dev"

// user is the one that "nonroot" images have; config/ runs it with the
// restricted Pod Security standard.
const user = "65532:65532"

// name is the program's, unless the Source has another.
const name = "plimsoll"

var labels = map[string]string{
	"org.opencontainers.image.description": "Pod autoscaling for Kubernetes",
	"org.opencontainers.image.source":      "https://github.com/plimsoll-dev/plimsoll",
	"org.opencontainers.image.licenses":    "Apache-2.0",
}

// Source is the source of an image's program.
type Source struct {
	// Name is that of the program, which is at the root of the image; empty for plimsoll.
	Name string
	// Version and Revision are labels: a release's version, and a Git commit. Without a revision there is no such label.
	Version, Revision string
	// Created is the time of the image and of all that is in it; the zero time means 1970.
	Created time.Time
	// Files are in the image beside the program, such as licences.
	Files []File
}

// Build is the image of the program, a static Linux executable, alone.
//
// There are no CA certificates in it: the API server's is in the pod's service
// account.
func Build(program []byte, version string) (v1.Image, error) {
	return BuildFrom(program, &Source{Version: version})
}

// BuildFrom is the image of the program, a static Linux executable, for the architecture that it was compiled for.
func BuildFrom(program []byte, from *Source) (v1.Image, error) {
	architecture, err := architectureOf(program)
	if err != nil {
		return nil, fmt.Errorf("the program: %w", err)
	}
	entrypoint := "/" + from.name()
	config := v1.Config{User: user, Entrypoint: []string{entrypoint}, WorkingDir: "/", Labels: from.labels()}
	files := append(slices.Clone(from.Files), File{Path: entrypoint, Content: program, Mode: 0o755})
	return assemble(files, &v1.ConfigFile{
		Architecture: architecture, Config: config, Created: v1.Time{Time: from.created()},
	}, "make image")
}

func (s *Source) created() time.Time {
	if s.Created.IsZero() {
		return epoch
	}
	return s.Created.UTC()
}

func (s *Source) name() string { return cmp.Or(s.Name, name) }

func (s *Source) labels() map[string]string {
	all := map[string]string{
		"org.opencontainers.image.version": s.Version, "org.opencontainers.image.title": s.name(),
	}
	if s.Revision != "" {
		all["org.opencontainers.image.revision"] = s.Revision
	}
	if !s.Created.IsZero() {
		all["org.opencontainers.image.created"] = s.created().Format(time.RFC3339)
	}
	maps.Copy(all, labels)
	return all
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
