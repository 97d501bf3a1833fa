package docs

import (
	"os"
	"path/filepath"
	"testing"

	"sigs.k8s.io/yaml"
)

// TestMenu: the menu of the site has each page of it once, and no others.
func TestMenu(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join(repository(t), "site", "data", "menu.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var menu []struct {
		Title string `json:"title"`
		Pages []struct {
			Page  string `json:"page"`
			Title string `json:"title"`
		} `json:"pages"`
	}
	if err := yaml.UnmarshalStrict(text, &menu); err != nil {
		t.Fatal(err)
	}
	all, listed := pages(t), map[string]bool{}
	for _, section := range menu {
		for _, p := range section.Pages {
			if !all[p.Page].isOnSite() {
				t.Errorf("%s: the site has no page %s", section.Title, p.Page)
			}
			if listed[p.Page] {
				t.Errorf("%s is in the menu twice", p.Page)
			}
			listed[p.Page] = true
		}
	}
	for path, p := range all {
		if p.isOnSite() && !listed[path] {
			t.Errorf("%s is not in the menu", path)
		}
	}
}
