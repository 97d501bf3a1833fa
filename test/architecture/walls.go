package architecture

import (
	"fmt"
	"strings"
)

// wall says what the packages below a path may import. A path means the package itself and all below it; one that ends
// in $ means only itself.
type wall struct {
	within string   // path below the module
	why    string   // printed with each violation
	ours   []string // paths below the module that may be imported; nil means no restriction
	never  []string // import paths: those of the standard library directly, others not through anything either
	except []string // exceptions from never
}

// covers reports whether the path is one of the patterns, or below one.
func covers(patterns []string, path string) bool {
	for _, pattern := range patterns {
		if exact, isExact := strings.CutSuffix(pattern, "$"); isExact {
			if path == exact {
				return true
			}
			continue
		}
		if path == pattern || strings.HasPrefix(path, pattern+"/") {
			return true
		}
	}
	return false
}

// isStandard reports whether the import path is of the standard library: only there the first element has no dot.
func isStandard(importPath string) bool {
	first, _, _ := strings.Cut(importPath, "/")
	return !strings.Contains(first, ".")
}

// breaches returns a line for each import of p that the wall forbids.
func (w wall) breaches(p Package) []string {
	path, isOurs := local(p.ImportPath)
	if !isOurs || !covers([]string{w.within}, path) || isForTests(path) {
		return nil
	}
	var found []string
	for _, imported := range p.Imports {
		if target, isOurs := local(imported); isOurs && w.ours != nil && !covers(w.ours, target) {
			found = append(found, fmt.Sprintf("%s imports %s: %s", path, target, w.why))
		}
		if isStandard(imported) && w.forbids(imported) {
			found = append(found, fmt.Sprintf("%s imports %s: %s", path, imported, w.why))
		}
	}
	for _, dependency := range p.Deps {
		if !isStandard(dependency) && w.forbids(dependency) {
			found = append(found, fmt.Sprintf("%s depends on %s: %s", path, dependency, w.why))
		}
	}
	return found
}

// isForTests reports whether a package is imported by tests alone. Then it may import what they may.
func isForTests(path string) bool {
	return strings.HasPrefix(path, "internal/") && strings.HasSuffix(path, "test") && !covers(mayImportAll, path)
}

// testImports returns a line for each import of a package for tests by one that is not.
func testImports(packages []Package) []string {
	var found []string
	for _, p := range packages {
		path, isOurs := local(p.ImportPath)
		if !isOurs || isForTests(path) || covers([]string{development}, path) {
			continue
		}
		for _, imported := range p.Imports {
			if target, isOurs := local(imported); isOurs && isForTests(target) {
				found = append(found, fmt.Sprintf("%s imports %s, which is for tests", path, target))
			}
		}
	}
	return found
}

func (w wall) forbids(importPath string) bool {
	return covers(w.never, importPath) && !covers(w.except, importPath)
}

// allBreaches applies all walls to all packages.
func allBreaches(walls []wall, packages []Package) []string {
	var found []string
	for _, p := range packages {
		for _, w := range walls {
			found = append(found, w.breaches(p)...)
		}
	}
	return found
}

// mayImportAll are folders of packages that put everything together: the commands and tests of what only develops.
var mayImportAll = []string{development + "/cmd", development + "/test"}

// homeless returns the packages below internal that no wall covers: a new layer needs a row with what it may import.
func homeless(walls []wall, packages []Package) []string {
	var found []string
	for _, p := range packages {
		path, isOurs := local(p.ImportPath)
		if !isOurs || !strings.HasPrefix(path, "internal/") || covers(mayImportAll, path) {
			continue
		}
		isHome := false
		for _, w := range walls {
			isHome = isHome || w.ours != nil && covers([]string{w.within}, path)
		}
		if !isHome {
			found = append(found, path+" is in no layer: say in test/architecture/table.go what it may import, and in "+
				"docs/ARCHITECTURE.md what it is for")
		}
	}
	return found
}
