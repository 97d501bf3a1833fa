package architecture

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// commentBreaches wants exactly one package comment for each package, in the form that go doc expects. In a package
// that has only tests one of them carries it.
func commentBreaches(files []file) []string {
	byDir := map[string][]file{}
	for _, f := range files {
		byDir[path.Dir(f.path)] = append(byDir[path.Dir(f.path)], f)
	}
	var found []string
	for dir, all := range byDir {
		found = append(found, packageCommentBreaches(dir, all)...)
	}
	slices.Sort(found)
	return found
}

func packageCommentBreaches(dir string, all []file) []string {
	name := all[0].syntax.Name.Name
	for _, f := range all {
		if !f.isTest() {
			name = f.syntax.Name.Name
		}
	}
	want := "Package " + strings.TrimSuffix(name, "_test") + " "
	if name == "main" {
		want = "Command " + path.Base(dir) + " "
	}

	var found []string
	var commented []string
	for _, f := range all {
		if f.syntax.Doc == nil {
			continue
		}
		commented = append(commented, path.Base(f.path))
		if text := f.syntax.Doc.Text(); !strings.HasPrefix(text, want) {
			found = append(found, fmt.Sprintf("%s: the package comment does not begin with %q", f.path, want))
		}
	}
	switch len(commented) {
	case 0:
		found = append(found, dir+": no package comment")
	case 1:
	default:
		found = append(found, fmt.Sprintf("%s: several package comments: %s", dir, strings.Join(commented, ", ")))
	}
	return found
}
