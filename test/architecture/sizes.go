package architecture

import (
	"fmt"
	"go/ast"
	"go/token"
	"slices"
)

// The limits on lines that are not blank, without tests and generated files.
const (
	maxFileLines = 400
	maxNesting   = 3
)

// sizeBreaches finds files that are too long.
func sizeBreaches(files []file) []string {
	var found []string
	for _, f := range files {
		if !f.isTest() && !ast.IsGenerated(f.syntax) && f.lines > maxFileLines {
			found = append(found, fmt.Sprintf("%s: %d lines, at most %d", f.path, f.lines, maxFileLines))
		}
	}
	slices.Sort(found)
	return found
}

// nestingBreaches finds control statements inside more than two others. The linters count either only ifs or no range
// loops. A function literal begins anew: it is a function of its own.
func nestingBreaches(files []file) []string {
	var found []string
	for _, f := range files {
		if f.isTest() {
			continue
		}
		n := nesting{onDeep: func(pos token.Pos) {
			found = append(found, fmt.Sprintf("%s: control statements nested deeper than %d", f.at(pos), maxNesting))
		}}
		ast.Walk(n, f.syntax)
	}
	return found
}

// nesting walks a syntax tree and knows how many control statements it is in.
type nesting struct {
	depth  int
	onDeep func(token.Pos)
}

// Visit implements ast.Visitor.
func (n nesting) Visit(node ast.Node) ast.Visitor {
	switch s := node.(type) {
	case *ast.FuncLit:
		return nesting{onDeep: n.onDeep}
	case *ast.IfStmt:
		return n.visitIf(s)
	case *ast.ForStmt, *ast.RangeStmt, *ast.SwitchStmt, *ast.TypeSwitchStmt, *ast.SelectStmt:
		return n.deeper(node.Pos())
	}
	return n
}

func (n nesting) deeper(pos token.Pos) ast.Visitor {
	n.depth++
	if n.depth == maxNesting+1 {
		n.onDeep(pos)
	}
	return n
}

// visitIf keeps an else if on the level of its if: a reader sees one chain, not a staircase.
func (n nesting) visitIf(s *ast.IfStmt) ast.Visitor {
	inner := n.deeper(s.Pos())
	for chained := s; chained != nil; {
		for _, part := range []ast.Node{chained.Init, chained.Cond, chained.Body} {
			if part != nil {
				ast.Walk(inner, part)
			}
		}
		next, isIf := chained.Else.(*ast.IfStmt)
		if !isIf && chained.Else != nil {
			ast.Walk(inner, chained.Else)
		}
		chained = next
	}
	return nil
}
