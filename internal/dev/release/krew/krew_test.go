package krew

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

func archive(system, architecture string) Archive {
	return Archive{
		OS: system, Architecture: architecture, Program: "kubectl-plimsoll", SHA256: strings.Repeat("0a", 32),
		URL: "https://example.com/" + system + "_" + architecture + ".tar.gz",
	}
}

func TestManifest(t *testing.T) {
	text, err := Manifest("v1.2.3", []Archive{archive("linux", "amd64"), archive("darwin", "arm64")})
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := yaml.UnmarshalStrict(text, &got); err != nil {
		t.Fatal(err)
	}
	spec := got["spec"].(map[string]any)
	// krew cuts the table of plugins after fifty characters, and takes no line breaks there.
	if short := spec["shortDescription"].(string); len(short) > 50 || short == "" || strings.Contains(short, "\n") {
		t.Errorf("the short description has %d characters", len(short))
	}
	if long := spec["description"].(string); !strings.Contains(long, "explain") {
		t.Errorf("description %q", long)
	}
	delete(spec, "shortDescription")
	delete(spec, "description")
	platform := func(system, architecture string) any {
		return map[string]any{
			"selector": map[string]any{"matchLabels": map[string]any{"os": system, "arch": architecture}},
			"uri":      "https://example.com/" + system + "_" + architecture + ".tar.gz",
			"sha256":   strings.Repeat("0a", 32), "bin": "kubectl-plimsoll",
		}
	}
	want := map[string]any{
		"apiVersion": "krew.googlecontainertools.github.com/v1alpha2", "kind": "Plugin",
		"metadata": map[string]any{"name": "plimsoll"},
		"spec": map[string]any{
			"version": "v1.2.3", "homepage": "https://github.com/plimsoll-dev/plimsoll",
			"platforms": []any{platform("linux", "amd64"), platform("darwin", "arm64")},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestManifestRefuses(t *testing.T) {
	changed := func(change func(*Archive)) []Archive {
		one := archive("linux", "amd64")
		change(&one)
		return []Archive{one}
	}
	cases := map[string]struct {
		archives []Archive
		want     string
	}{
		"no archives":      {nil, "no archives"},
		"a sum of letters": {changed(func(a *Archive) { a.SHA256 = strings.Repeat("Z", 64) }), "no SHA-256 sum"},
		"a short sum":      {changed(func(a *Archive) { a.SHA256 = "0a" }), "no SHA-256 sum"},
		"no URL":           {changed(func(a *Archive) { a.URL = "" }), "no URL"},
		"no program":       {changed(func(a *Archive) { a.Program = "" }), "no program"},
		"no architecture":  {changed(func(a *Archive) { a.Architecture = "" }), "no platform"},
		"a platform twice": {slices.Repeat([]Archive{archive("linux", "amd64")}, 2), "linux/amd64 is there twice"},
	}
	for name, tc := range cases {
		if _, err := Manifest("v1.2.3", tc.archives); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: error %v, want %q", name, err, tc.want)
		}
	}
}
