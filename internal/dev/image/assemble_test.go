package image

import (
	"archive/tar"
	"errors"
	"io"
	"runtime"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "github.com/google/go-containerregistry/pkg/v1"
)

func TestAssemble(t *testing.T) {
	files := []File{
		{Path: "/tmp", Mode: 0o1777, Folder: true},
		{Path: "/bin/program", Content: []byte("code"), Mode: 0o755},
	}
	image, err := Assemble(files, v1.Config{Entrypoint: []string{"/bin/program"}})
	if err != nil {
		t.Fatal(err)
	}
	config, err := image.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	if config.OS != "linux" || config.Architecture != runtime.GOARCH || config.Config.Entrypoint[0] != "/bin/program" {
		t.Errorf("got %+v", config)
	}
	want := map[string]string{"bin/program": "code", "tmp/": ""}
	if diff := cmp.Diff(want, contents(t, image)); diff != "" {
		t.Error(diff)
	}
	again, err := Assemble([]File{files[1], files[0]}, v1.Config{Entrypoint: []string{"/bin/program"}})
	if err != nil {
		t.Fatal(err)
	}
	first, err1 := image.Digest()
	second, err2 := again.Digest()
	if first != second || err1 != nil || err2 != nil {
		t.Errorf("the same files give %v (%v) and %v (%v)", first, err1, second, err2)
	}
	if _, err := Assemble([]File{{Path: "relative"}}, v1.Config{}); err == nil {
		t.Error("a relative path is accepted")
	}
}

func contents(t *testing.T, image v1.Image) map[string]string {
	t.Helper()
	layers, err := image.Layers()
	if err != nil || len(layers) != 1 {
		t.Fatalf("%d layers, %v", len(layers), err)
	}
	content, err := layers[0].Uncompressed()
	if err != nil {
		t.Fatal(err)
	}
	defer content.Close()
	found := map[string]string{}
	for r := tar.NewReader(content); ; {
		header, err := r.Next()
		if errors.Is(err, io.EOF) {
			return found
		}
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		found[header.Name] = string(text)
	}
}

func TestLibraries(t *testing.T) {
	got, err := libraries(
		"\tlinux-vdso.so.1 (0x00007ffc)\n\tlibc.so.6 => /lib/libc.so.6 (0x0000)\n\t/lib64/ld-linux-x86-64.so.2 (0x00)\n")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"/lib/libc.so.6", "/lib64/ld-linux-x86-64.so.2"}, got); diff != "" {
		t.Error(diff)
	}
	if _, err := libraries("\tlibx.so => not found\n"); err == nil {
		t.Error("a program whose library is missing is accepted")
	}
}
