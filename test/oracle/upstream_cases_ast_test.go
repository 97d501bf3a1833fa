package oracle

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// upstreamFunc is a test function of upstream and the names of its cases: those
// of its table's rows, or none where it has no table.
type upstreamFunc struct {
	name  string
	cases []string
}

// full are the names that the cases go by: TestFunc/case, or TestFunc alone.
func (f *upstreamFunc) full() []string {
	if len(f.cases) == 0 {
		return []string{f.name}
	}
	var all []string
	for _, c := range f.cases {
		all = append(all, f.name+"/"+c)
	}
	return all
}

// upstreamFiles have the cases.
var upstreamFiles = []string{"replica_calculator_test.go", "horizontal_test.go"}

// upstreamFuncs reads upstream's test functions from the module's source.
func upstreamFuncs() ([]upstreamFunc, error) {
	const module = "k8s.io/kubernetes"
	dir, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", module).Output()
	if err != nil {
		return nil, fmt.Errorf("find %s: %w", module, err)
	}
	folder := filepath.Join(strings.TrimSpace(string(dir)), "pkg", "controller", "podautoscaler")
	var all []upstreamFunc
	for _, name := range upstreamFiles {
		file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(folder, name), nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, fmt.Errorf("read upstream's cases: %w", err)
		}
		for _, decl := range file.Decls {
			f, ok := decl.(*ast.FuncDecl)
			if !ok || !isTest(f) {
				continue
			}
			rows := tableRows(f.Body)
			if len(rows) == 0 && runs(f.Body) {
				return nil, fmt.Errorf("%s has subtests, but no table that can be read", f.Name.Name)
			}
			all = append(all, upstreamFunc{name: f.Name.Name, cases: rows})
		}
	}
	return all, nil
}

func isTest(f *ast.FuncDecl) bool {
	return f.Recv == nil && f.Body != nil && strings.HasPrefix(f.Name.Name, "Test") && f.Name.Name != "TestMain"
}

// runs reports whether the function has subtests.
func runs(body *ast.BlockStmt) bool {
	found := false
	ast.Inspect(body, func(n ast.Node) bool {
		if call, ok := n.(*ast.SelectorExpr); ok && call.Sel.Name == "Run" {
			on, ok := call.X.(*ast.Ident)
			found = found || ok && on.Name == "t"
		}
		return !found
	})
	return found
}

// tableRows names the rows of the literals that the function loops over. Loops
// within loops are over parts of a row.
func tableRows(body *ast.BlockStmt) []string {
	literals := map[string]*ast.CompositeLit{}
	var rows []string
	ast.Inspect(body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit:
			return false
		case *ast.AssignStmt:
			if name, ok := n.Lhs[0].(*ast.Ident); ok && len(n.Rhs) == 1 {
				if literal, ok := n.Rhs[0].(*ast.CompositeLit); ok {
					literals[name.Name] = literal
				}
			}
		case *ast.RangeStmt:
			literal, ok := n.X.(*ast.CompositeLit)
			if name, named := n.X.(*ast.Ident); named {
				literal, ok = literals[name.Name]
			}
			if ok {
				rows = append(rows, rowNames(literal)...)
			}
			return false
		}
		return true
	})
	return rows
}

// rowNames names the rows of one table as upstream does; a row without a name
// gets its number, and a name that comes again what go test makes of it.
func rowNames(table *ast.CompositeLit) []string {
	var names []string
	for i, row := range table.Elts {
		name := rowName(row)
		if name == "" {
			name = "#" + strconv.Itoa(i+1)
		}
		unique := name
		for n := 1; slices.Contains(names, unique); n++ {
			unique = fmt.Sprintf("%s#%02d", name, n)
		}
		names = append(names, unique)
	}
	return names
}

// rowName is the key of a map's row, or what stands in a row's name or
// annotation, or its first text where fields have no names; empty if there is
// none.
func rowName(row ast.Expr) string {
	switch row := row.(type) {
	case *ast.KeyValueExpr:
		return text(row.Key)
	case *ast.Ident:
		return row.Name
	case *ast.CompositeLit:
		for _, field := range row.Elts {
			pair, keyed := field.(*ast.KeyValueExpr)
			if !keyed {
				return text(field)
			}
			if key, ok := pair.Key.(*ast.Ident); ok && (key.Name == "name" || key.Name == "annotation") {
				return text(pair.Value)
			}
		}
	}
	return ""
}

// text is the value of a string literal.
func text(e ast.Expr) string {
	literal, ok := e.(*ast.BasicLit)
	if !ok || literal.Kind != token.STRING {
		return ""
	}
	value, err := strconv.Unquote(literal.Value)
	if err != nil {
		return ""
	}
	return value
}

// holds reports whether a Go package has the test function and, of Test/sub, a
// text literal in the same file that is the subtest's name.
func holds(folder, test string) (bool, error) {
	name, sub, _ := strings.Cut(test, "/")
	files, err := filepath.Glob(filepath.Join(folder, "*_test.go"))
	if err != nil {
		return false, err
	}
	for _, path := range files {
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return false, fmt.Errorf("look for %s: %w", test, err)
		}
		for _, decl := range file.Decls {
			if f, ok := decl.(*ast.FuncDecl); ok && isTest(f) && f.Name.Name == name {
				return sub == "" || hasText(f, sub), nil
			}
		}
	}
	return false, nil
}

func hasText(f *ast.FuncDecl, want string) bool {
	found := false
	ast.Inspect(f, func(n ast.Node) bool {
		if e, ok := n.(*ast.BasicLit); ok && text(e) == want {
			found = true
		}
		return !found
	})
	return found
}
