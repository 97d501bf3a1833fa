package architecture

import (
	"fmt"
	"go/ast"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
)

// The limits on the width of a type and of a package, without tests. What a function no longer contains must not move
// into the fields and methods of one type.
const (
	maxMethods      = 25
	maxLockedFields = 15 // in a struct with a lock: each is one more thing that the lock may guard
	maxImports      = 35
)

// typeBreaches finds types with too many methods, and structs with a lock and too many fields.
func typeBreaches(files []file) []string {
	var found []string
	methods := map[string]int{}
	for _, f := range files {
		if f.isForTests() || ast.IsGenerated(f.syntax) {
			continue
		}
		for _, declaration := range f.syntax.Decls {
			if d, isFunction := declaration.(*ast.FuncDecl); isFunction && d.Recv != nil {
				methods[path.Dir(f.path)+"."+receiver(d)]++
			}
			if d, isOther := declaration.(*ast.GenDecl); isOther {
				found = append(found, lockedBreaches(f, d)...)
			}
		}
	}
	for name, count := range methods {
		if count > maxMethods {
			found = append(found, fmt.Sprintf("%s: %d methods, at most %d", name, count, maxMethods))
		}
	}
	slices.Sort(found)
	return found
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

func lockedBreaches(f file, d *ast.GenDecl) []string {
	var found []string
	for _, spec := range d.Specs {
		named, isType := spec.(*ast.TypeSpec)
		if !isType {
			continue
		}
		structure, isStruct := named.Type.(*ast.StructType)
		if !isStruct {
			continue
		}
		if count, hasLock := fieldsOf(f, structure); hasLock && count > maxLockedFields {
			found = append(found, fmt.Sprintf("%s: %s has a lock and %d fields, at most %d",
				f.at(named.Pos()), named.Name.Name, count, maxLockedFields))
		}
	}
	return found
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

// widthBreaches finds packages that import too many others.
func widthBreaches(packages []Package) []string {
	var found []string
	for _, p := range packages {
		name, _ := local(p.ImportPath)
		if len(p.Imports) > maxImports {
			found = append(found, fmt.Sprintf("%s: %d imports, at most %d", name, len(p.Imports), maxImports))
		}
	}
	slices.Sort(found)
	return found
}

// importNameBreaches finds folders whose files, or whose tests, mean several packages by one import name: a line that
// is moved from one file to another would change its meaning.
func importNameBreaches(files []file) []string {
	meanings := map[string]map[string]bool{}
	for _, f := range files {
		for _, spec := range f.syntax.Imports {
			imported, err := strconv.Unquote(spec.Path.Value)
			if err != nil || spec.Name != nil && (spec.Name.Name == "_" || spec.Name.Name == ".") {
				continue
			}
			key := path.Dir(f.path) + ": " + f.importName(imported)
			if f.isTest() {
				key = path.Dir(f.path) + " (tests): " + f.importName(imported)
			}
			if meanings[key] == nil {
				meanings[key] = map[string]bool{}
			}
			meanings[key][imported] = true
		}
	}
	var found []string
	for key, paths := range meanings {
		if len(paths) > 1 {
			found = append(found, fmt.Sprintf("%s means %s", key, strings.Join(slices.Sorted(maps.Keys(paths)), " and ")))
		}
	}
	slices.Sort(found)
	return found
}
