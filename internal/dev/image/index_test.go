package image

import (
	"bytes"
	"debug/elf"
	"strings"
	"testing"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"github.com/google/go-containerregistry/pkg/v1/validate"
)

func TestIndex(t *testing.T) {
	at := time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC)
	from := &Source{Version: "v1.2.3", Revision: "abc", Created: at, Files: []File{
		{Path: "/licenses", Mode: 0o755, Folder: true}, {Path: "/licenses/LICENSE", Mode: 0o644, Content: []byte("free")},
	}}
	programs := map[string][]byte{"amd64": program(t, elf.EM_X86_64, false), "arm64": program(t, elf.EM_AARCH64, false)}
	archives := make([]bytes.Buffer, 2)
	// The order of the images makes no difference.
	for i, order := range [][]string{{"arm64", "amd64"}, {"amd64", "arm64"}} {
		var images []v1.Image
		for _, architecture := range order {
			one, err := BuildFrom(programs[architecture], from)
			if err != nil {
				t.Fatal(err)
			}
			images = append(images, one)
		}
		index, err := Index(images...)
		if err != nil {
			t.Fatal(err)
		}
		if err := WriteIndexArchive(&archives[i], index, "example.com/plimsoll:v1.2.3", at); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(archives[0].Bytes(), archives[1].Bytes()) {
		t.Error("two archives of one release differ")
	}
	layout := unpacked(t, archives[0].Bytes(), at)
	if err := validate.Index(layout); err != nil {
		t.Errorf("the layout is not valid: %v", err)
	}
	checkIndex(t, layout, programs, at)
}

func checkIndex(t *testing.T, layout v1.ImageIndex, programs map[string][]byte, at time.Time) {
	t.Helper()
	top, err := layout.IndexManifest()
	if err != nil || len(top.Manifests) != 1 || top.Manifests[0].MediaType != types.OCIImageIndex {
		t.Fatalf("%+v, %v", top, err)
	}
	index, err := layout.ImageIndex(top.Manifests[0].Digest)
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := index.IndexManifest()
	if err != nil || len(manifest.Manifests) != 2 {
		t.Fatalf("%+v, %v", manifest, err)
	}
	for i, architecture := range []string{"amd64", "arm64"} {
		entry := manifest.Manifests[i]
		if entry.Platform.String() != "linux/"+architecture {
			t.Errorf("platform %s, want linux/%s", entry.Platform, architecture)
		}
		image, err := index.Image(entry.Digest)
		if err != nil {
			t.Fatal(err)
		}
		files := contents(t, image)
		if files["plimsoll"] != string(programs[architecture]) || files["licenses/LICENSE"] != "free" || len(files) != 3 {
			t.Errorf("%s has %d files", architecture, len(files))
		}
		checkConfig(t, image, architecture, at)
	}
}

func checkConfig(t *testing.T, image v1.Image, architecture string, at time.Time) {
	t.Helper()
	config, err := image.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	labels := config.Config.Labels
	if config.Architecture != architecture || !config.Created.Equal(at) || !config.History[0].Created.Equal(at) ||
		labels["org.opencontainers.image.revision"] != "abc" ||
		labels["org.opencontainers.image.created"] != "2026-11-25T12:00:00Z" {
		t.Errorf("config %+v", config)
	}
}

func TestIndexRefusesTwoOfOnePlatform(t *testing.T) {
	one, err := Build(program(t, elf.EM_X86_64, false), "dev")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Index(one, one); err == nil || !strings.Contains(err.Error(), "linux/amd64") {
		t.Errorf("error %v", err)
	}
}

func TestWriteIndexArchiveReportsErrors(t *testing.T) {
	one, err := Build(program(t, elf.EM_X86_64, false), "dev")
	if err != nil {
		t.Fatal(err)
	}
	index, err := Index(one)
	if err != nil {
		t.Fatal(err)
	}
	if err := WriteIndexArchive(broken{}, index, DefaultTag, epoch); err == nil || !strings.Contains(err.Error(), "disk full") {
		t.Errorf("error %v", err)
	}
}
