package architecture

import (
	"fmt"
	"go/ast"
	"go/token"
	"path"
	"slices"
	"strings"
)

// coreBreaches finds what makes a package of internal/decide more than functions of their arguments: goroutines,
// channels, and reading the clock.
func coreBreaches(files []file) []string {
	clock := []string{"Now", "Since", "Until", "After", "AfterFunc", "Tick", "NewTicker", "NewTimer", "Sleep"}
	var found []string
	for _, f := range files {
		if f.isTest() || !f.isBelow("internal/decide") {
			continue
		}
		found = append(found, selections(f, "time", clock, "reads the clock: the time is a parameter")...)
		ast.Inspect(f.syntax, func(node ast.Node) bool {
			if what := concurrency(node); what != "" {
				found = append(found, fmt.Sprintf("%s: %s in the core", f.at(node.Pos()), what))
			}
			return true
		})
	}
	return found
}

func concurrency(node ast.Node) string {
	switch n := node.(type) {
	case *ast.GoStmt:
		return "goroutine"
	case *ast.ChanType, *ast.SendStmt:
		return "channel"
	case *ast.SelectStmt:
		return "select"
	case *ast.UnaryExpr:
		if n.Op == token.ARROW {
			return "channel"
		}
	}
	return ""
}

// selections finds uses of names of an imported package.
func selections(f file, importPath string, names []string, why string) []string {
	imported := f.importName(importPath)
	if imported == "" {
		return nil
	}
	var found []string
	ast.Inspect(f.syntax, func(node ast.Node) bool {
		selector, isSelector := node.(*ast.SelectorExpr)
		if !isSelector || !slices.Contains(names, selector.Sel.Name) {
			return true
		}
		if base, isIdent := selector.X.(*ast.Ident); isIdent && base.Name == imported {
			found = append(found, fmt.Sprintf("%s: %s.%s %s", f.at(node.Pos()), importPath, selector.Sel.Name, why))
		}
		return true
	})
	return found
}

// waiverBreaches finds nolint comments in the core: its limits know no exceptions.
func waiverBreaches(files []file) []string {
	var found []string
	for _, f := range files {
		if f.isBelow("internal/decide") {
			found = append(found, waivers(f)...)
		}
	}
	return found
}

func waivers(f file) []string {
	var found []string
	for _, group := range f.syntax.Comments {
		for _, comment := range group.List {
			if strings.Contains(comment.Text, "nolint") {
				found = append(found, f.at(comment.Pos())+": a linter's finding is waived in the core")
			}
		}
	}
	return found
}

// sleepBreaches finds tests that wait for time to pass instead of for a condition. Under testing/synctest sleeping is
// what moves the virtual time: there a sleep may stay whose line says "virtual time".
func sleepBreaches(files []file) []string {
	isVirtual := map[string]bool{}
	for _, f := range files {
		if f.importName("testing/synctest") != "" {
			isVirtual[path.Dir(f.path)] = true
		}
	}
	var found []string
	for _, f := range files {
		if !f.isForTests() {
			continue
		}
		sleeps := selections(f, "time", []string{"Sleep"}, "in a test: wait for a condition with a deadline")
		if isVirtual[path.Dir(f.path)] {
			said := linesSaying(f, "virtual time")
			sleeps = slices.DeleteFunc(sleeps, func(sleep string) bool {
				return slices.ContainsFunc(said, func(line string) bool { return strings.HasPrefix(sleep, line+":") })
			})
		}
		found = append(found, sleeps...)
	}
	return found
}

// linesSaying are the lines whose comments contain the text.
func linesSaying(f file, words string) []string {
	var lines []string
	for _, group := range f.syntax.Comments {
		for _, comment := range group.List {
			if strings.Contains(comment.Text, words) {
				lines = append(lines, f.at(comment.Pos()))
			}
		}
	}
	return lines
}
