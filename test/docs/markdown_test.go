package docs

import (
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"
)

// atRoot are the pages outside of docs/.
var atRoot = []string{"README.md", "CONTRIBUTING.md", "SCOPE.md"}

// forContributors are the pages in docs/ and docs/reference that the site does not have. It has none of other folders.
var forContributors = []string{"docs/ARCHITECTURE.md", "docs/licences.md"}

// A page is a Markdown file of the documentation.
type page struct {
	// path is relative to the repository, with slashes.
	path    string
	links   []link
	anchors map[string]bool
	// title is the first heading, first the first line after it.
	title, first string
}

type link struct {
	line   int
	target string
}

// isOnSite reports whether the page is one for users: README.md, or in docs/ or docs/reference.
func (p page) isOnSite() bool {
	folder := path.Dir(p.path)
	return p.path == "README.md" ||
		(folder == "docs" || folder == "docs/reference") && !slices.Contains(forContributors, p.path)
}

func repository(t testing.TB) string {
	t.Helper()
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	return root
}

// pages reads all pages.
func pages(t testing.TB) map[string]page {
	t.Helper()
	root := repository(t)
	paths := slices.Clone(atRoot)
	err := filepath.WalkDir(filepath.Join(root, "docs"), func(file string, _ os.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(file, ".md") {
			var relative string
			relative, err = filepath.Rel(root, file)
			paths = append(paths, filepath.ToSlash(relative))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]page{}
	for _, file := range paths {
		text, err := os.ReadFile(filepath.Join(root, file))
		if err != nil {
			t.Fatal(err)
		}
		all[file] = parse(file, string(text))
	}
	return all
}

var (
	headings = regexp.MustCompile(`^#{1,6} +(.*?) *#*$`)
	// targets matches the second half of a link or an image; its text may begin lines before.
	targets = regexp.MustCompile(`\]\(<?([^)\s>]+)>?(?: +"[^"]*")?\)`)
	// definitions are the targets of links by reference.
	definitions = regexp.MustCompile(`^ {0,3}\[[^\]]+\]: *<?([^\s>]+)`)
	codeSpans   = regexp.MustCompile("`+[^`]*`+")
	linkTexts   = regexp.MustCompile(`!?\[([^\]]*)\]\([^)]*\)`)
)

// parse reads what the tests compare, and no more of Markdown than the pages have.
func parse(file, text string) page {
	p := page{path: file, anchors: map[string]bool{}}
	counts := map[string]int{}
	fence, before := "", ""
	for i, line := range strings.Split(text, "\n") {
		trimmed := strings.TrimLeft(line, " ")
		isIndented := strings.HasPrefix(line, "    ") && strings.TrimSpace(before) == "" || before == "code"
		switch {
		case fence != "":
			if strings.HasPrefix(trimmed, fence) {
				fence = ""
			}
			continue
		case strings.HasPrefix(trimmed, "```"):
			fence = "```"
			continue
		case isIndented && strings.HasPrefix(line, "    ") && !isListItem(trimmed):
			before = "code"
			continue
		}
		before = line
		if heading := headings.FindStringSubmatch(line); heading != nil {
			p.addHeading(heading[1], counts)
		} else if p.title != "" && p.first == "" {
			p.first = trimmed
		}
		prose := codeSpans.ReplaceAllString(line, "")
		for _, match := range append(targets.FindAllStringSubmatch(prose, -1),
			definitions.FindAllStringSubmatch(prose, -1)...) {
			p.links = append(p.links, link{i + 1, match[1]})
		}
	}
	return p
}

// isListItem: a paragraph below an item of a list is indented, and no code.
func isListItem(trimmed string) bool {
	return strings.HasPrefix(trimmed, "- ") || strings.HasPrefix(trimmed, "* ")
}

// addHeading adds the anchor of a heading, numbered where others before are the same.
func (p *page) addHeading(heading string, counts map[string]int) {
	if p.title == "" {
		p.title = heading
	}
	anchor := anchorOf(heading)
	n := counts[anchor]
	counts[anchor]++
	if n > 0 {
		anchor += "-" + strconv.Itoa(n)
	}
	p.anchors[anchor] = true
}

// anchorOf is the anchor that GitHub and Hugo give a heading.
func anchorOf(heading string) string {
	heading = linkTexts.ReplaceAllString(heading, "$1")
	return strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r):
			return unicode.ToLower(r)
		}
		return -1
	}, heading)
}

func TestParse(t *testing.T) {
	t.Parallel()
	p := parse("docs/a.md", "# The `a` page\n\nSee [b\nc](b.md#x) and ![d](d.svg \"e\").\n\n## x, y\n\n## x, y\n\n"+
		"```sh\n# no heading\n[no](link)\n```\n\n    [no](link)\n\n`[no](link)` [f]\n\n[f]: f.md\n")
	for _, anchor := range []string{"the-a-page", "x-y", "x-y-1"} {
		if !p.anchors[anchor] {
			t.Errorf("no anchor %s in %v", anchor, p.anchors)
		}
	}
	want := []link{{4, "b.md#x"}, {4, "d.svg"}, {19, "f.md"}}
	if !slices.Equal(p.links, want) || len(p.anchors) != 3 || p.title != "The `a` page" {
		t.Errorf("%+v, want the links %+v", p, want)
	}
}
