package architecture

import (
	"cmp"
	"fmt"
	"go/ast"
	"path"
	"slices"
	"strings"
)

// mostPrinted is how many of each measure are printed.
const mostPrinted = 10

// measure counts something of the product's packages or types. Nothing enforces it: a split that only serves a number
// helps nobody.
type measure struct {
	title  string
	counts map[string]int
	// smallestFirst prints the smallest ones, and not the largest.
	smallestFirst bool
}

// measures of the product: tests and what only develops are left out.
func measures(packages []Package, files []file) []measure {
	imports := measure{title: "imports of a package", counts: map[string]int{}}
	single := measure{title: "lines of a package that one other imports", counts: map[string]int{}, smallestFirst: true}
	small := measure{title: "lines of a package, if fewer than 100", counts: map[string]int{}, smallestFirst: true}
	core := measure{title: "lines of a package of internal/decide", counts: map[string]int{}}
	lines, importers := map[string]int{}, map[string]int{}
	for _, f := range files {
		if isProduct(f) {
			lines[path.Dir(f.path)] += f.lines
		}
	}
	for _, p := range packages {
		name, _ := local(p.ImportPath)
		if lines[name] > 0 {
			imports.counts[name] = len(p.Imports)
		}
		for _, imported := range p.Imports {
			if of, isOurs := local(imported); isOurs {
				importers[of]++
			}
		}
	}
	for name, count := range lines {
		if importers[name] == 1 {
			single.counts[name] = count
		}
		if count < 100 {
			small.counts[name] = count
		}
		if strings.HasPrefix(name, "internal/decide/") {
			core.counts[name] = count
		}
	}
	methods, fields := typeMeasures(files)
	return []measure{imports, methods, fields, core, small, single}
}

func isProduct(f file) bool {
	ours := f.isBelow("internal") || f.isBelow("cmd/plimsoll") || f.isBelow("api")
	return ours && !f.isForTests() && !f.isBelow(development) && !ast.IsGenerated(f.syntax)
}

// typeMeasures counts the methods of each type, and the fields of each struct with a lock.
func typeMeasures(files []file) (methods, fields measure) {
	methods = measure{title: "methods of a type", counts: map[string]int{}}
	fields = measure{title: "fields of a struct with a lock", counts: map[string]int{}}
	for _, f := range files {
		if !isProduct(f) {
			continue
		}
		for _, declaration := range f.syntax.Decls {
			if d, isFunction := declaration.(*ast.FuncDecl); isFunction && d.Recv != nil {
				methods.counts[path.Dir(f.path)+"."+receiver(d)]++
			}
			if d, isOther := declaration.(*ast.GenDecl); isOther {
				countLockedFields(f, d, fields.counts)
			}
		}
	}
	return methods, fields
}

// receiver is the name of the method's type.
func receiver(d *ast.FuncDecl) string {
	t := d.Recv.List[0].Type
	if pointer, isPointer := t.(*ast.StarExpr); isPointer {
		t = pointer.X
	}
	switch generic := t.(type) {
	case *ast.IndexExpr:
		t = generic.X
	case *ast.IndexListExpr:
		t = generic.X
	}
	if name, isName := t.(*ast.Ident); isName {
		return name.Name
	}
	return ""
}

func countLockedFields(f file, d *ast.GenDecl, counts map[string]int) {
	for _, spec := range d.Specs {
		named, isType := spec.(*ast.TypeSpec)
		if !isType {
			continue
		}
		structure, isStruct := named.Type.(*ast.StructType)
		if !isStruct {
			continue
		}
		if count, hasLock := fieldsOf(f, structure); hasLock {
			counts[path.Dir(f.path)+"."+named.Name.Name] = count
		}
	}
}

// fieldsOf counts a struct's fields, and reports whether one of them is a lock.
func fieldsOf(f file, structure *ast.StructType) (count int, hasLock bool) {
	locks := f.importName("sync")
	for _, field := range structure.Fields.List {
		count += max(1, len(field.Names))
		selector, isSelector := field.Type.(*ast.SelectorExpr)
		if !isSelector {
			continue
		}
		from, isName := selector.X.(*ast.Ident)
		hasLock = hasLock || isName && from.Name == locks && strings.HasSuffix(selector.Sel.Name, "Mutex")
	}
	return count, hasLock
}

// table has the first of each measure, and how many there are.
func table(all []measure) string {
	var text strings.Builder
	for _, m := range all {
		names := make([]string, 0, len(m.counts))
		for name := range m.counts {
			names = append(names, name)
		}
		slices.SortFunc(names, func(a, b string) int {
			order := cmp.Compare(m.counts[b], m.counts[a])
			if m.smallestFirst {
				order = -order
			}
			return cmp.Or(order, strings.Compare(a, b))
		})
		fmt.Fprintf(&text, "%s (%d in all)\n", m.title, len(names))
		for _, name := range names[:min(mostPrinted, len(names))] {
			fmt.Fprintf(&text, "  %5d  %s\n", m.counts[name], name)
		}
	}
	return text.String()
}
