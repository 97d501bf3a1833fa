//go:build site

package docs

import (
	"bytes"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/net/html"
)

// A document is a page of the site as it was built.
type document struct {
	links []string
	ids   map[string]bool
}

// TestSite: each relative link, image, script and style sheet of the site that make docs has built leads to a file of
// it, and each fragment to an element.
func TestSite(t *testing.T) {
	t.Parallel()
	site := os.DirFS(filepath.Join(repository(t), "dist", "docs"))
	documents := map[string]document{}
	err := fs.WalkDir(site, ".", func(name string, _ fs.DirEntry, err error) error {
		if err == nil && path.Ext(name) == ".html" {
			documents[name], err = read(site, name)
		}
		return err
	})
	if err != nil {
		t.Fatalf("make docs builds the site: %v", err)
	}
	if want := pagesOnSite(t); len(documents) != want {
		t.Errorf("the site has %d pages, want %d", len(documents), want)
	}
	links := 0
	for name, d := range documents {
		for _, target := range d.links {
			links++
			if err := d.follow(site, documents, name, target); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	if links < 1000 {
		t.Errorf("%d links on %d pages", links, len(documents))
	}
}

func pagesOnSite(t *testing.T) int {
	t.Helper()
	n := 0
	for _, p := range pages(t) {
		if p.isOnSite() {
			n++
		}
	}
	return n
}

func read(site fs.FS, name string) (document, error) {
	d := document{ids: map[string]bool{}}
	text, err := fs.ReadFile(site, name)
	if err != nil {
		return d, err
	}
	root, err := html.Parse(bytes.NewReader(text))
	if err != nil {
		return d, err
	}
	for node := range root.Descendants() {
		for _, attribute := range node.Attr {
			switch attribute.Key {
			case "href", "src":
				d.links = append(d.links, attribute.Val)
			case "id":
				if d.ids[attribute.Val] {
					return d, fmt.Errorf("%s: two elements have the id %s", name, attribute.Val)
				}
				d.ids[attribute.Val] = true
			}
		}
	}
	return d, nil
}

func (d document) follow(site fs.FS, documents map[string]document, from, target string) error {
	u, err := url.Parse(target)
	if err != nil || u.Scheme != "" || u.Host != "" {
		return err
	}
	if strings.HasPrefix(u.Path, "/") {
		return fmt.Errorf("%s: the site can then be served from one place only", target)
	}
	file := from
	if u.Path != "" {
		file = path.Join(path.Dir(from), u.Path)
	}
	if info, err := fs.Stat(site, file); err != nil || info.IsDir() {
		return fmt.Errorf("%s: there is no file %s", target, file)
	}
	if to, isPage := documents[file]; u.Fragment != "" && (!isPage || !to.ids[u.Fragment]) {
		return fmt.Errorf("%s: %s has no element #%s", target, file, u.Fragment)
	}
	return nil
}
