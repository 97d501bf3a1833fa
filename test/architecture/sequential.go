package architecture

import (
	"fmt"
	"go/ast"
	"path"
	"regexp"
	"slices"
	"strings"
)

// concurrent are packages that run code at the same time, or are there for code that does.
var concurrent = []string{
	"sync", "testing/synctest", "net/http", "golang.org/x/sync",
	"k8s.io/client-go/informers", "k8s.io/client-go/kubernetes/fake", "k8s.io/client-go/tools",
	"k8s.io/client-go/util/workqueue",
}

// sequentialBreaches finds what runs at the same time as something else in the packages that the pattern names: in
// their own code, in their tests, and in what of ours they reach. They are tested without the race detector.
func sequentialBreaches(pattern *regexp.Regexp, packages []Package, files []file) []string {
	breaches := map[string][]string{} // by folder; those of tests under the folder and "_test"
	for _, f := range files {
		key := path.Dir(f.path)
		if f.isTest() {
			key += "_test"
		}
		breaches[key] = append(breaches[key], concurrentCode(f)...)
	}
	byPath := map[string]Package{}
	for _, p := range packages {
		byPath[p.ImportPath] = p
	}
	var found []string
	for _, p := range packages {
		if !pattern.MatchString(p.ImportPath) {
			continue
		}
		own, _ := local(p.ImportPath)
		lines := slices.Clone(breaches[own+"_test"])
		for _, reached := range reach(p, byPath) {
			lines = append(lines, breaches[reached]...)
		}
		for _, line := range lines {
			found = append(found, fmt.Sprintf("%s is tested without the race detector, and %s", own, line))
		}
	}
	return found
}

// unracedGoroutines finds packages of the first pattern that start goroutines and have no test of the second one's
// names.
func unracedGoroutines(long, raced *regexp.Regexp, files []file) []string {
	starts, hasRaced := map[string]bool{}, map[string]bool{}
	for _, f := range files {
		folder := path.Dir(f.path)
		if !long.MatchString(modulePath + "/" + folder) {
			continue
		}
		if !f.isTest() {
			starts[folder] = starts[folder] || startsGoroutines(f)
			continue
		}
		for _, declaration := range f.syntax.Decls {
			if d, isFunction := declaration.(*ast.FuncDecl); isFunction && raced.MatchString(d.Name.Name) {
				hasRaced[folder] = true
			}
		}
	}
	var found []string
	for folder, does := range starts {
		if does && !hasRaced[folder] {
			found = append(found, folder+" starts goroutines, and no test of it runs with the race detector")
		}
	}
	slices.Sort(found)
	return found
}

func startsGoroutines(f file) bool {
	does := f.importName("golang.org/x/sync/errgroup") != ""
	ast.Inspect(f.syntax, func(node ast.Node) bool {
		_, isGo := node.(*ast.GoStmt)
		does = does || isGo
		return true
	})
	return does
}

// reach is the package and every other one of ours that its code and its tests need.
func reach(p Package, byPath map[string]Package) []string {
	imports := append([]string{p.ImportPath}, p.Deps...)
	for _, imported := range append(slices.Clone(p.TestImports), p.XTestImports...) {
		imports = append(append(imports, imported), byPath[imported].Deps...)
	}
	var reached []string
	for _, imported := range imports {
		if path, isOurs := local(imported); isOurs && !slices.Contains(reached, path) {
			reached = append(reached, path)
		}
	}
	return reached
}

func concurrentCode(f file) []string {
	var found []string
	for _, spec := range f.syntax.Imports {
		if imported := strings.Trim(spec.Path.Value, `"`); covers(concurrent, imported) {
			found = append(found, fmt.Sprintf("%s imports %s", f.path, imported))
		}
	}
	ast.Inspect(f.syntax, func(node ast.Node) bool {
		if what := concurrency(node); what != "" {
			found = append(found, fmt.Sprintf("%s has a %s", f.at(node.Pos()), what))
		}
		if call, isCall := node.(*ast.CallExpr); isCall {
			if selector, isSelector := call.Fun.(*ast.SelectorExpr); isSelector && selector.Sel.Name == "Parallel" {
				found = append(found, f.at(node.Pos())+" is a parallel test")
			}
		}
		return true
	})
	return found
}
