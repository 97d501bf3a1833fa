package architecture

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// TestDependencyUpdates: Dependabot renews each module and each package.json, but for tools/versions, whose modules are
// those of older versions of Kubernetes.
func TestDependencyUpdates(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, ".github", "dependabot.yml"))
	if err != nil {
		t.Fatal(err)
	}
	var config struct {
		Updates []struct {
			Ecosystem   string `json:"package-ecosystem"`
			Directories []string
		}
	}
	if err := yaml.Unmarshal(text, &config); err != nil {
		t.Fatal(err)
	}
	listed := map[string][]string{}
	for _, update := range config.Updates {
		listed[update.Ecosystem] = update.Directories
	}
	found := map[string][]string{}
	err = filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if slices.Contains([]string{".git", "bin", "dist", "node_modules", "testdata", "versions"}, entry.Name()) {
			if entry.IsDir() {
				return filepath.SkipDir
			}
			return nil
		}
		ecosystem := map[string]string{"go.mod": "gomod", "package.json": "npm"}[entry.Name()]
		if ecosystem == "" {
			return nil
		}
		folder, err := filepath.Rel(root, filepath.Dir(path))
		if err == nil {
			found[ecosystem] = append(found[ecosystem], strings.TrimSuffix("/"+filepath.ToSlash(folder), "."))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for ecosystem, folders := range found {
		slices.Sort(folders)
		if !slices.Equal(folders, listed[ecosystem]) {
			t.Errorf(".github/dependabot.yml has %q of %s, and there are %q", listed[ecosystem], ecosystem, folders)
		}
	}
}
