//go:build release

package release

import (
	"bytes"
	"debug/buildinfo"
	"encoding/json"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/plimsoll-dev/plimsoll/internal/dev/release"
	"github.com/plimsoll-dev/plimsoll/internal/dev/release/sbom"
)

// bill checks the sums of the files, and the modules that each program is linked with.
func (r *released) bill(t *testing.T) {
	text := r.read(t, release.BillName(version))
	if err := sbom.Check(text); err != nil {
		t.Error(err)
	}
	var document struct {
		SPDXVersion string `json:"spdxVersion"`
		Packages    []struct {
			ID          string `json:"SPDXID"`
			Name        string `json:"name"`
			VersionInfo string `json:"versionInfo"`
			Checksums   []struct{ ChecksumValue string }
		} `json:"packages"`
		Relationships []struct {
			From string `json:"spdxElementId"`
			To   string `json:"relatedSpdxElement"`
			Type string `json:"relationshipType"`
		} `json:"relationships"`
	}
	if err := json.Unmarshal(text, &document); err != nil || document.SPDXVersion != "SPDX-2.3" {
		t.Fatalf("%s, %v", document.SPDXVersion, err)
	}
	modules, sums, modulesOf := map[string]string{}, map[string]string{}, map[string][]string{}
	for _, p := range document.Packages {
		modules[p.ID] = p.Name + " " + p.VersionInfo
		if len(p.Checksums) == 1 {
			sums[strings.TrimPrefix(p.ID, "SPDXRef-")] = p.Checksums[0].ChecksumValue
			sums[p.Name] = p.Checksums[0].ChecksumValue
		}
	}
	for _, relation := range document.Relationships {
		if relation.Type == "DEPENDS_ON" {
			modulesOf[relation.From] = append(modulesOf[relation.From], modules[relation.To])
		}
	}
	for _, platform := range release.Platforms() {
		for _, program := range []string{"plimsoll", "kubectl-plimsoll"} {
			name := release.ArchiveName(program, version, platform)
			if got, want := sums[name], sumOf(r.read(t, name)); got != want {
				t.Errorf("%s has the sum %q, want %s", name, got, want)
			}
		}
		content := r.unpack(t, "plimsoll", platform)[executable("plimsoll", platform)].content
		id := "Program-" + platform.OS + "-" + platform.Architecture
		if got, want := sums[id], sumOf(content); got != want {
			t.Errorf("the program for %s has the sum %q, want %s", platform, got, want)
		}
		info, err := buildinfo.Read(bytes.NewReader(content))
		if err != nil {
			t.Fatal(err)
		}
		want := []string{"stdlib " + strings.TrimPrefix(info.GoVersion, "go")}
		for _, linked := range info.Deps {
			want = append(want, linked.Path+" "+linked.Version)
		}
		if diff := cmp.Diff(want, modulesOf["SPDXRef-"+id]); diff != "" {
			t.Errorf("modules of %s (-recorded in the program +in the bill):\n%s", platform, diff)
		}
		t.Logf("%s is linked with %d modules", platform, len(want)-1)
	}
}

// krew takes the manifest, and installs this machine's archive with it.
func (r *released) krew(t *testing.T) {
	bin := filepath.Join(r.root, "bin")
	command(t, r.dir, nil, filepath.Join(bin, "validate-krew-manifest"), "-manifest", release.Krew, "-skip-install")
	var manifest struct {
		Spec struct {
			Platforms []struct {
				URI, SHA256, Bin string
				Selector         struct{ MatchLabels map[string]string }
			}
		}
	}
	if err := yaml.Unmarshal(r.read(t, release.Krew), &manifest); err != nil {
		t.Fatal(err)
	}
	for i, platform := range release.Platforms() {
		if len(manifest.Spec.Platforms) != len(release.Platforms()) {
			t.Fatalf("%d platforms", len(manifest.Spec.Platforms))
		}
		got := manifest.Spec.Platforms[i]
		name := release.ArchiveName("kubectl-plimsoll", version, platform)
		uri := "https://github.com/plimsoll-dev/plimsoll/releases/download/" + version + "/" + name
		if got.URI != uri || got.SHA256 != sumOf(r.read(t, name)) || got.Bin != executable("kubectl-plimsoll", platform) ||
			got.Selector.MatchLabels["os"] != platform.OS || got.Selector.MatchLabels["arch"] != platform.Architecture {
			t.Errorf("%s: %+v", platform, got)
		}
	}
	home := t.TempDir()
	env := []string{"KREW_ROOT=" + home, "KREW_NO_UPGRADE_CHECK=1"}
	host := release.Platform{OS: runtime.GOOS, Architecture: runtime.GOARCH}
	out := command(t, r.dir, env, filepath.Join(bin, "krew"), "install", "--manifest="+release.Krew,
		"--archive="+release.ArchiveName("kubectl-plimsoll", version, host))
	if !strings.Contains(out, "Installed plugin: plimsoll") {
		t.Errorf("krew install printed\n%s", out)
	}
	installed := command(t, "", nil, filepath.Join(home, "bin", executable("kubectl-plimsoll", host)), "version")
	if !strings.HasPrefix(installed, "plimsoll "+version+" ") {
		t.Errorf("what krew installed prints %q", installed)
	}
	// Another platform's archive has another sum, and krew refuses it.
	other := release.ArchiveName("kubectl-plimsoll", version, release.Platform{OS: "darwin", Architecture: "arm64"})
	out, err := run(t.Context(), r.dir, []string{"KREW_ROOT=" + t.TempDir(), "KREW_NO_UPGRADE_CHECK=1"},
		filepath.Join(bin, "krew"), "install", "--manifest="+release.Krew, "--archive="+other)
	if err == nil || !strings.Contains(out, "checksum") {
		t.Errorf("krew took another archive: %v\n%s", err, out)
	}
}

var imageLine = regexp.MustCompile(`(?m)^\s+(?:- )?image: "?([^"\n]+)"?$`)

// images returns those that run in the objects of a text.
func images(text string) []string {
	var found []string
	for _, match := range imageLine.FindAllStringSubmatch(text, -1) {
		found = append(found, match[1])
	}
	return found
}

// manifests run the image of this version.
func (r *released) manifests(t *testing.T) {
	const image = "ghcr.io/plimsoll-dev/plimsoll:" + version
	for name, want := range map[string][]string{
		"install.yaml": {image, image}, "install-horizontal.yaml": {image}, "install-node-agent.yaml": {image}, "crds.yaml": nil,
	} {
		text := string(r.read(t, name))
		if got := images(text); !slices.Equal(got, want) {
			t.Errorf("%s runs %q, want %q", name, got, want)
		}
		if !strings.HasPrefix(text, "# Plimsoll "+version+": ") {
			t.Errorf("%s begins with %.60q", name, text)
		}
	}
	if got := strings.Count(string(r.read(t, "crds.yaml")), "\nkind: CustomResourceDefinition\n"); got != 4 {
		t.Errorf("%d definitions", got)
	}
}

// chart checks that helm accepts it, with the version.
func (r *released) chart(t *testing.T) {
	helm, chart := filepath.Join(r.root, "bin", "helm"), r.path("plimsoll-0.0.0-test.1.tgz")
	// Nothing of this machine's user.
	env := []string{"HELM_CONFIG_HOME=" + t.TempDir(), "HELM_CACHE_HOME=" + t.TempDir(), "HELM_DATA_HOME=" + t.TempDir()}
	command(t, "", env, helm, "lint", "--strict", chart)
	shown := command(t, "", env, helm, "show", "chart", chart)
	for _, want := range []string{"\nversion: 0.0.0-test.1\n", "\nappVersion: " + version + "\n"} {
		if !strings.Contains("\n"+shown, want) {
			t.Errorf("the chart does not have %q:\n%s", want, shown)
		}
	}
	rendered := command(t, "", env, helm, "template", "plimsoll", chart)
	const image = "ghcr.io/plimsoll-dev/plimsoll:" + version
	if got := images(rendered); !slices.Equal(got, []string{image, image}) {
		t.Errorf("the chart runs %q", got)
	}
}
