package image

import (
	"archive/tar"
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"github.com/google/go-containerregistry/pkg/v1/validate"
)

// program is the smallest ELF file for the machine; a dynamic one names a
// loader.
func program(t *testing.T, machine elf.Machine, dynamic bool) []byte {
	t.Helper()
	header := elf.Header64{
		Type: uint16(elf.ET_EXEC), Machine: uint16(machine), Version: 1, Phoff: 64, Ehsize: 64, Phentsize: 56,
		Ident: [elf.EI_NIDENT]byte{0x7f, 'E', 'L', 'F', byte(elf.ELFCLASS64), byte(elf.ELFDATA2LSB), 1},
	}
	var out bytes.Buffer
	parts := []any{&header}
	if dynamic {
		header.Phnum = 1
		parts = append(parts, &elf.Prog64{Type: uint32(elf.PT_INTERP)})
	}
	for _, part := range parts {
		if err := binary.Write(&out, binary.LittleEndian, part); err != nil {
			t.Fatal(err)
		}
	}
	return out.Bytes()
}

// unpacked reads the archive back as an OCI layout, whose files have that time.
func unpacked(t *testing.T, archive []byte, at time.Time) v1.ImageIndex {
	t.Helper()
	dir := t.TempDir()
	for r := tar.NewReader(bytes.NewReader(archive)); ; {
		header, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if !header.ModTime.Equal(at) || header.Mode != 0o644 {
			t.Errorf("%s has the time %s and the mode %o", header.Name, header.ModTime, header.Mode)
		}
		path := filepath.Join(dir, filepath.FromSlash(header.Name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	index, err := layout.ImageIndexFromPath(dir)
	if err != nil {
		t.Fatal(err)
	}
	return index
}

func TestArchiveReadsBack(t *testing.T) {
	content := program(t, elf.EM_AARCH64, false)
	built, err := Build(content, "v1.2.3")
	if err != nil {
		t.Fatal(err)
	}
	var archive bytes.Buffer
	if err := WriteArchive(&archive, built, DefaultTag); err != nil {
		t.Fatal(err)
	}
	index := unpacked(t, archive.Bytes(), epoch)
	if err := validate.Index(index); err != nil {
		t.Errorf("the layout is not valid: %v", err)
	}
	manifest, err := index.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	if manifest.MediaType != types.OCIImageIndex || len(manifest.Manifests) != 1 {
		t.Fatalf("index: %+v", manifest)
	}
	descriptor := manifest.Manifests[0]
	for _, annotation := range []string{"org.opencontainers.image.ref.name", "io.containerd.image.name"} {
		if got := descriptor.Annotations[annotation]; got != DefaultTag {
			t.Errorf("annotation %s is %q", annotation, got)
		}
	}
	image, err := index.Image(descriptor.Digest)
	if err != nil {
		t.Fatal(err)
	}
	config, err := image.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	if got, want := config.OS+"/"+config.Architecture, "linux/arm64"; got != want {
		t.Errorf("platform %s, want %s", got, want)
	}
	want := v1.Config{
		User: "65532:65532", Entrypoint: []string{"/plimsoll"}, WorkingDir: "/", Labels: (&Source{Version: "v1.2.3"}).labels(),
	}
	if diff := cmp.Diff(want, config.Config); diff != "" {
		t.Errorf("config (-want +got):\n%s", diff)
	}
	checkFiles(t, image, content)
}

// checkFiles compares the image's file system with the program.
func checkFiles(t *testing.T, image v1.Image, content []byte) {
	t.Helper()
	files := mutate.Extract(image)
	defer files.Close()
	r := tar.NewReader(files)
	header, err := r.Next()
	if err != nil {
		t.Fatal(err)
	}
	if header.Name != "plimsoll" || header.Mode != 0o755 || header.Uid != 0 || !header.ModTime.Equal(time.Unix(0, 0)) {
		t.Errorf("file %+v", header)
	}
	got, err := io.ReadAll(r)
	if err != nil || !bytes.Equal(got, content) {
		t.Errorf("the program has changed (%v)", err)
	}
	if _, err := r.Next(); !errors.Is(err, io.EOF) {
		t.Errorf("something else is in the image: %v", err)
	}
}

func TestSameProgramSameArchive(t *testing.T) {
	var archives [2]bytes.Buffer
	for i := range archives {
		image, err := Build(program(t, elf.EM_X86_64, false), "dev")
		if err != nil {
			t.Fatal(err)
		}
		if err := WriteArchive(&archives[i], image, DefaultTag); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(archives[0].Bytes(), archives[1].Bytes()) {
		t.Error("two archives of one program differ")
	}
}

func TestBuildRefuses(t *testing.T) {
	cases := map[string]struct {
		program []byte
		want    string
	}{
		"a script":          {[]byte("#!/bin/sh\n"), "not a Linux executable"},
		"a loader needed":   {program(t, elf.EM_X86_64, true), "linked dynamically: build it with CGO_ENABLED=0"},
		"a strange machine": {program(t, elf.EM_SPARCV9, false), "built for EM_SPARCV9"},
	}
	for name, tc := range cases {
		if _, err := Build(tc.program, "dev"); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: error %v, want %q", name, err, tc.want)
		}
	}
}

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, errors.New("disk full") }

func TestWriteArchiveReportsErrors(t *testing.T) {
	image, err := Build(program(t, elf.EM_X86_64, false), "dev")
	if err != nil {
		t.Fatal(err)
	}
	if err := WriteArchive(broken{}, image, DefaultTag); err == nil || !strings.Contains(err.Error(), "disk full") {
		t.Errorf("error %v", err)
	}
}
