package docs

import (
	"fmt"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"
)

// TestLinks: each relative link of a page leads to a file of the repository and, if that is a page, to a heading of it.
// Links to other hosts are not tried.
func TestLinks(t *testing.T) {
	t.Parallel()
	root, all := repository(t), pages(t)
	links := 0
	for _, p := range all {
		for _, l := range p.links {
			links++
			if err := follow(root, all, p, l.target); err != nil {
				t.Errorf("%s:%d: %v", p.path, l.line, err)
			}
		}
	}
	// Otherwise parse finds none.
	if links < 300 {
		t.Errorf("%d links on %d pages", links, len(all))
	}
}

func follow(root string, all map[string]page, from page, target string) error {
	u, err := url.Parse(target)
	if err != nil || u.Scheme != "" || u.Host != "" {
		return err
	}
	file := from.path
	if u.Path != "" {
		file = path.Join(path.Dir(from.path), u.Path)
	}
	if _, err := os.Stat(filepath.Join(root, file)); err != nil {
		return fmt.Errorf("%s: there is no %s", target, file)
	}
	if u.Fragment == "" {
		return nil
	}
	to, isPage := all[file]
	if !isPage {
		// Another Markdown file of the repository, or no headings.
		text, err := os.ReadFile(filepath.Join(root, file))
		if err != nil {
			return fmt.Errorf("%s: %w", target, err)
		}
		to = parse(file, string(text))
	}
	if !to.anchors[u.Fragment] {
		return fmt.Errorf("%s: %s has no heading #%s", target, file, u.Fragment)
	}
	return nil
}

// TestOpenings: each page begins with what it has to say, not with whom it is for.
func TestOpenings(t *testing.T) {
	t.Parallel()
	for _, p := range pages(t) {
		if p.first == "" || strings.HasPrefix(p.first, "This page is for") {
			t.Errorf("%s begins with %q", p.path, p.first)
		}
	}
}
