package sbom

import (
	"bytes"
	"encoding/json"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const buildInfo = `path	github.com/plimsoll-dev/plimsoll/cmd/plimsoll
mod	github.com/plimsoll-dev/plimsoll	(devel)
dep	github.com/BurntSushi/toml	v1.6.0	h1:toml=
dep	github.com/docker/cli	v29.2.0+incompatible	h1:cli=
`

func sum(digit string) string { return strings.Repeat(digit, 64) }

// release has two programs; the first one alone is linked with cgroups.
func release(t *testing.T) *Release {
	t.Helper()
	of := func(text string) *debug.BuildInfo {
		info, err := debug.ParseBuildInfo(text)
		if err != nil {
			t.Fatal(err)
		}
		info.GoVersion = "go1.26.4" // which the text does not have
		return info
	}
	onLinux := of(buildInfo + "dep\tgithub.com/a/cgroups\tv1.0.0\n=>\texample.com/fork\tv1.1.0\th1:fork=\n")
	return &Release{
		Version: "v1.2.3", Commit: "abc", Created: time.Date(2026, 11, 25, 13, 0, 0, 0, time.FixedZone("", 3600)),
		Programs: []Program{
			{Platform: "linux/arm64", SHA256: sum("1"), Build: onLinux},
			{Platform: "windows/amd64", SHA256: sum("2"), Build: of(buildInfo)},
		},
		Artifacts: []Artifact{
			{Name: "plimsoll_v1.2.3_linux_arm64.tar.gz", URL: "https://example.com/l", SHA256: sum("3"), Platform: "linux/arm64"},
			{Name: "plimsoll_v1.2.3_windows_amd64.zip", URL: "https://example.com/w", SHA256: sum("4"), Platform: "windows/amd64"},
		},
		Image: Image{Name: "ghcr.io/plimsoll-dev/plimsoll", Digest: "sha256:" + sum("5"), Platforms: []string{"linux/arm64"}},
	}
}

// spdxDocument is the part of the format that is compared here, as the specification names it.
type spdxDocument struct {
	SPDXVersion       string `json:"spdxVersion"`
	DataLicense       string `json:"dataLicense"`
	ID                string `json:"SPDXID"`
	DocumentNamespace string `json:"documentNamespace"`
	CreationInfo      struct {
		Created  string   `json:"created"`
		Creators []string `json:"creators"`
	} `json:"creationInfo"`
	Packages []struct {
		ID               string `json:"SPDXID"`
		Name             string `json:"name"`
		VersionInfo      string `json:"versionInfo"`
		DownloadLocation string `json:"downloadLocation"`
		FilesAnalyzed    *bool  `json:"filesAnalyzed"`
		LicenseDeclared  string `json:"licenseDeclared"`
		Checksums        []struct {
			Algorithm, ChecksumValue string
		} `json:"checksums"`
		ExternalRefs []struct {
			ReferenceType, ReferenceLocator string
		} `json:"externalRefs"`
	} `json:"packages"`
	Relationships []struct {
		From string `json:"spdxElementId"`
		To   string `json:"relatedSpdxElement"`
		Type string `json:"relationshipType"`
	} `json:"relationships"`
}

func read(t *testing.T, release *Release) (*spdxDocument, []byte) {
	t.Helper()
	text, err := Document(release)
	if err != nil {
		t.Fatal(err)
	}
	var document spdxDocument
	if err := json.Unmarshal(text, &document); err != nil {
		t.Fatal(err)
	}
	return &document, text
}

func TestHead(t *testing.T) {
	got, _ := read(t, release(t))
	if got.SPDXVersion != "SPDX-2.3" || got.DataLicense != "CC0-1.0" || got.ID != "SPDXRef-DOCUMENT" ||
		got.DocumentNamespace != "https://github.com/plimsoll-dev/plimsoll/spdx/v1.2.3-abc" ||
		got.CreationInfo.Created != "2026-11-25T12:00:00Z" ||
		!slices.Equal(got.CreationInfo.Creators, []string{"Organization: plimsoll-dev", "Tool: plimsoll-release-v1.2.3"}) {
		t.Errorf("%+v", got)
	}
}

// Each package by its name and version: its package URL, and its sum.
func TestPackages(t *testing.T) {
	document, _ := read(t, release(t))
	var got []string
	for _, p := range document.Packages {
		line := p.Name + " " + p.VersionInfo + " " + p.LicenseDeclared
		for _, ref := range p.ExternalRefs {
			line += " " + ref.ReferenceType + " " + ref.ReferenceLocator
		}
		for _, c := range p.Checksums {
			line += fmt.Sprintf(" %s %.2s", c.Algorithm, c.ChecksumValue)
		}
		got = append(got, line+" "+p.DownloadLocation)
		// Left out, it would mean true.
		if p.FilesAnalyzed == nil || *p.FilesAnalyzed {
			t.Errorf("%s: filesAnalyzed is not false", p.Name)
		}
	}
	slices.Sort(got)
	want := []string{
		"example.com/fork v1.1.0 NOASSERTION purl pkg:golang/example.com/fork@v1.1.0 https://proxy.golang.org/example.com/fork/@v/v1.1.0.zip",
		"ghcr.io/plimsoll-dev/plimsoll v1.2.3 Apache-2.0 purl pkg:oci/plimsoll@sha256:" + sum("5") +
			"?repository_url=ghcr.io%2Fplimsoll-dev%2Fplimsoll&tag=v1.2.3 SHA256 55 NOASSERTION",
		"github.com/BurntSushi/toml v1.6.0 NOASSERTION purl pkg:golang/github.com/burntsushi/toml@v1.6.0 https://proxy.golang.org/github.com/!burnt!sushi/toml/@v/v1.6.0.zip",
		"github.com/docker/cli v29.2.0+incompatible NOASSERTION purl pkg:golang/github.com/docker/cli@v29.2.0%2Bincompatible https://proxy.golang.org/github.com/docker/cli/@v/v29.2.0+incompatible.zip",
		"plimsoll v1.2.3 Apache-2.0 purl pkg:golang/github.com/plimsoll-dev/plimsoll@v1.2.3?goarch=amd64&goos=windows SHA256 22 NOASSERTION",
		"plimsoll v1.2.3 Apache-2.0 purl pkg:golang/github.com/plimsoll-dev/plimsoll@v1.2.3?goarch=arm64&goos=linux SHA256 11 NOASSERTION",
		"plimsoll_v1.2.3_linux_arm64.tar.gz v1.2.3 Apache-2.0 SHA256 33 https://example.com/l",
		"plimsoll_v1.2.3_windows_amd64.zip v1.2.3 Apache-2.0 SHA256 44 https://example.com/w",
		"stdlib 1.26.4 NOASSERTION purl pkg:golang/stdlib@1.26.4 https://go.dev/dl/go1.26.4.src.tar.gz",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestRelationships(t *testing.T) {
	document, _ := read(t, release(t))
	names := map[string]string{"SPDXRef-DOCUMENT": "document"}
	for _, p := range document.Packages {
		names[p.ID] = p.Name
	}
	names["SPDXRef-Program-linux-arm64"], names["SPDXRef-Program-windows-amd64"] = "linux", "windows"
	var got []string
	for _, r := range document.Relationships {
		got = append(got, names[r.From]+" "+r.Type+" "+names[r.To])
	}
	slices.Sort(got)
	want := []string{
		"document DESCRIBES ghcr.io/plimsoll-dev/plimsoll",
		"document DESCRIBES plimsoll_v1.2.3_linux_arm64.tar.gz", "document DESCRIBES plimsoll_v1.2.3_windows_amd64.zip",
		"ghcr.io/plimsoll-dev/plimsoll CONTAINS linux",
		"linux DEPENDS_ON example.com/fork", "linux DEPENDS_ON github.com/BurntSushi/toml",
		"linux DEPENDS_ON github.com/docker/cli", "linux DEPENDS_ON stdlib",
		"plimsoll_v1.2.3_linux_arm64.tar.gz CONTAINS linux", "plimsoll_v1.2.3_windows_amd64.zip CONTAINS windows",
		"windows DEPENDS_ON github.com/BurntSushi/toml", "windows DEPENDS_ON github.com/docker/cli", "windows DEPENDS_ON stdlib",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestSameReleaseSameBytes(t *testing.T) {
	_, first := read(t, release(t))
	_, second := read(t, release(t))
	if !bytes.Equal(first, second) {
		t.Error("two documents of one release differ")
	}
}

func TestDocumentRefuses(t *testing.T) {
	cases := map[string]struct {
		change func(*Release)
		want   string
	}{
		"a program without build info":    {func(r *Release) { r.Programs[0].Build = nil }, "no build info"},
		"two programs of one platform":    {func(r *Release) { r.Programs[1].Platform = "linux/arm64" }, "two programs"},
		"an archive without its program":  {func(r *Release) { r.Artifacts[0].Platform = "plan9/arm" }, "no program for plan9/arm"},
		"an archive twice":                {func(r *Release) { r.Artifacts[1] = r.Artifacts[0] }, "there twice"},
		"nothing that is described":       {func(r *Release) { r.Artifacts, r.Image = nil, Image{} }, "describes 0 packages"},
		"an image without digest":         {func(r *Release) { r.Image.Digest = "" }, "digest"},
		"a module that has no valid path": {func(r *Release) { r.Programs[0].Build.Deps[0].Path = "UP//x" }, "UP//x"},
	}
	for name, tc := range cases {
		changed := release(t)
		tc.change(changed)
		if _, err := Document(changed); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: error %v, want %q", name, err, tc.want)
		}
	}
}

func TestCheckRefusesOtherFiles(t *testing.T) {
	for name, text := range map[string]string{"no JSON": "hello", "another format": `{"bomFormat":"CycloneDX"}`} {
		if err := Check([]byte(text)); err == nil {
			t.Errorf("%s is taken for a document", name)
		}
	}
}
