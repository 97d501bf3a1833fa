package build_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/plimsoll-dev/plimsoll/internal/dev/devcluster/build"
)

// addVersion adds a version of Kubernetes to the small repository, whose API server prints its version.
func addVersion(t *testing.T, root, minor, release string) {
	t.Helper()
	dir := filepath.Join(root, "tools", "versions", "v"+minor)
	for name, text := range map[string]string{
		"go.mod": "module small\n\ngo 1.26\n\nrequire k8s.io/kubernetes " + release + " // indirect\n\nrequire " +
			"k8s.io/component-base v0.0.0\n\nreplace (\n\tk8s.io/kubernetes => ./kubernetes\n\tk8s.io/component-base => " +
			"./base\n)\n",
		"go.sum":      "",
		"base/go.mod": "module k8s.io/component-base\n\ngo 1.26\n",
		"base/version/v.go": "package version\n\nvar gitVersion, gitMinor string\n\n" +
			"func Print() { println(gitVersion, gitMinor) }\n",
		"kubernetes/go.mod": "module k8s.io/kubernetes\n\ngo 1.26\n\nrequire k8s.io/component-base v0.0.0\n",
		"kubernetes/cmd/kube-apiserver/main.go": "package main\n\nimport \"k8s.io/component-base/version\"\n\n" +
			"func main() { version.Print() }\n",
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func TestBuildsOtherVersionsIntoFoldersOfTheirOwn(t *testing.T) {
	root := smallRepository(t)
	addVersion(t, root, "1.32", "v1.32.13")
	config := build.Config{Root: root, Kubernetes: "1.32", Parts: []string{"etcd", "kube-apiserver"}}
	result, err := build.Run(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	if want := filepath.Join(root, "bin", "v1.32"); result.BinDir != want {
		t.Errorf("the parts are in %s, want %s", result.BinDir, want)
	}
	for program, want := range map[string]string{"kube-apiserver": "v1.32.13 32\n", "etcd": "etcd\n"} {
		text, err := exec.CommandContext(t.Context(), filepath.Join(result.BinDir, program)).CombinedOutput()
		if err != nil || string(text) != want {
			t.Errorf("%s says %q, %v", program, text, err)
		}
	}
	if _, err := os.Stat(filepath.Join(root, "bin", "kube-apiserver")); !os.IsNotExist(err) {
		t.Errorf("another version's API server is where the pinned one belongs: %v", err)
	}
	if again, err := build.Run(t.Context(), config); err != nil || len(again.Built) > 0 {
		t.Errorf("second run built %v, %v", again.Built, err)
	}
}

func TestUnknownVersionNamesThoseThatThereAre(t *testing.T) {
	root := smallRepository(t)
	addVersion(t, root, "1.32", "v1.32.13")
	addVersion(t, root, "1.34", "v1.34.4")
	_, err := build.Run(t.Context(), build.Config{Root: root, Kubernetes: "1.33", Parts: []string{"kube-apiserver"}})
	if err == nil || !strings.Contains(err.Error(), "it has 1.32, 1.34") {
		t.Errorf("%v", err)
	}
}

// Each folder pins a release of the version that it is called after, and its staging modules are of that version too.
func TestVersionsPinWhatTheyAreCalled(t *testing.T) {
	root, err := build.Root()
	if err != nil {
		t.Fatal(err)
	}
	all, err := build.Versions(root)
	if err != nil || len(all) < 3 || !slices.IsSortedFunc(all, strings.Compare) {
		t.Fatalf("%v, %v", all, err)
	}
	for _, minor := range all {
		release, err := build.PinnedVersion(root, minor)
		if err != nil || !strings.HasPrefix(release, "v"+minor+".") {
			t.Errorf("%s pins %s, %v", minor, release, err)
		}
		staging := "v0." + strings.TrimPrefix(minor, "1.") + "."
		pinned := requirements(t, filepath.Join(root, "tools", "versions", "v"+minor))
		for _, module := range []string{"k8s.io/api", "k8s.io/apiserver", "k8s.io/apiextensions-apiserver"} {
			if !strings.HasPrefix(pinned[module], staging) {
				t.Errorf("%s has %s %s", minor, module, pinned[module])
			}
		}
	}
}
