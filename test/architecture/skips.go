package architecture

import (
	"go/ast"
	"maps"
	"strings"
)

// skipBreaches finds tests that can pass without testing: skipped ones, and those that ask for -short. The key of
// allowed is a file's path, the value says why its tests may skip.
func skipBreaches(files []file, allowed map[string]string) []string {
	var found []string
	for _, f := range files {
		if _, isAllowed := allowed[f.path]; isAllowed || !f.isForTests() {
			continue
		}
		found = append(found, selections(f, "testing", []string{"Short"}, "hides tests")...)
		testing := f.importName("testing")
		if testing == "" {
			continue
		}
		ast.Walk(skips{testing: testing, onSkip: func(node ast.Node) {
			found = append(found, f.at(node.Pos())+": a skipped test hides a missing part")
		}}, f.syntax)
	}
	return found
}

// skips walks a syntax tree and knows which names are parameters of a type of package testing: other packages' Skip (a
// property test discards an example so) is something else.
type skips struct {
	testing    string // the name under which package testing is imported
	parameters map[string]bool
	onSkip     func(ast.Node)
}

// Visit implements ast.Visitor.
func (s skips) Visit(node ast.Node) ast.Visitor {
	switch n := node.(type) {
	case *ast.FuncDecl:
		return s.inside(n.Type)
	case *ast.FuncLit:
		return s.inside(n.Type)
	case *ast.SelectorExpr:
		base, isIdent := n.X.(*ast.Ident)
		if isIdent && s.parameters[base.Name] && strings.HasPrefix(n.Sel.Name, "Skip") && n.Sel.Name != "Skipped" {
			s.onSkip(node)
		}
	}
	return s
}

func (s skips) inside(function *ast.FuncType) skips {
	parameters := maps.Clone(s.parameters)
	if parameters == nil {
		parameters = map[string]bool{}
	}
	for _, field := range function.Params.List {
		for _, name := range field.Names {
			parameters[name.Name] = s.isTesting(field.Type)
		}
	}
	s.parameters = parameters
	return s
}

func (s skips) isTesting(expression ast.Expr) bool {
	if pointer, isPointer := expression.(*ast.StarExpr); isPointer {
		expression = pointer.X
	}
	selector, isSelector := expression.(*ast.SelectorExpr)
	if !isSelector {
		return false
	}
	base, isIdent := selector.X.(*ast.Ident)
	return isIdent && base.Name == s.testing
}
