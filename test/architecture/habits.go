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

// virtualTimes are the packages by which tests run in virtual time.
var virtualTimes = []string{"testing/synctest", modulePath + "/internal/controller/horizontal/horizontaltest"}

// sleepBreaches finds tests that wait for time to pass instead of for a condition. Under testing/synctest sleeping is
// what moves the virtual time: there a sleep may stay whose line says "virtual time".
func sleepBreaches(files []file) []string {
	isVirtual := map[string]bool{}
	for _, f := range files {
		for _, virtual := range virtualTimes {
			if f.importName(virtual) != "" {
				isVirtual[path.Dir(f.path)] = true
			}
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

// sourceOfMetrics is the package by which a source knows what it is to read.
const sourceOfMetrics = modulePath + "/internal/collect/subscriptions"

// reads are the methods by which a source is read: Latest and, where it reads single pods and nodes, those of a
// podload.Reader.
var reads = []string{"Latest", "latest", "Agent", "Kubelet", "Health"}

// readBreaches finds what makes a read change its source, as far as these methods themselves show it: that writes to
// their receiver, begins a goroutine, sends, or subscribes.
func readBreaches(files []file) []string {
	isSource := map[string]bool{}
	for _, f := range files {
		if !f.isTest() && f.importName(sourceOfMetrics) != "" {
			isSource[path.Dir(f.path)] = true
		}
	}
	var found []string
	for _, f := range files {
		if f.isTest() || !isSource[path.Dir(f.path)] {
			continue
		}
		for _, declaration := range f.syntax.Decls {
			if m, isFunc := declaration.(*ast.FuncDecl); isFunc && m.Recv != nil && slices.Contains(reads, m.Name.Name) {
				found = append(found, writesIn(f, m)...)
			}
		}
	}
	return found
}

func writesIn(f file, method *ast.FuncDecl) []string {
	var found []string
	ast.Inspect(method.Body, func(node ast.Node) bool {
		if what := writeTo(receiverOf(method), node); what != "" {
			found = append(found, fmt.Sprintf("%s: a read %s: only Set subscribes", f.at(node.Pos()), what))
		}
		return true
	})
	return found
}

// receiverOf is the name of a method's receiver.
func receiverOf(method *ast.FuncDecl) string {
	for _, name := range method.Recv.List[0].Names {
		return name.Name
	}
	return ""
}

// writeTo is how a statement writes to what a receiver has, or lets others do so; empty if it does not.
func writeTo(receiver string, node ast.Node) string {
	switch n := node.(type) {
	case *ast.AssignStmt:
		if n.Tok != token.DEFINE && slices.ContainsFunc(n.Lhs, func(e ast.Expr) bool { return rootOf(e) == receiver }) {
			return "assigns"
		}
	case *ast.IncDecStmt:
		if rootOf(n.X) == receiver {
			return "counts"
		}
	case *ast.GoStmt:
		return "begins a goroutine"
	case *ast.SendStmt:
		return "sends"
	case *ast.CallExpr:
		return subscribes(receiver, n)
	}
	return ""
}

// subscribing are the methods by which a source is told what to read.
var subscribing = []string{
	"Set", "SetAll", "Forget", "Follow", "Urgent", "Prefer", "ReportMissing", "reportMissingPod", "setMissing",
	"subscribe", "unsubscribe",
}

func subscribes(receiver string, call *ast.CallExpr) string {
	switch called := call.Fun.(type) {
	case *ast.SelectorExpr:
		if slices.Contains(subscribing, called.Sel.Name) {
			return "calls " + called.Sel.Name
		}
	case *ast.Ident:
		if (called.Name == "delete" || called.Name == "clear") && rootOf(call.Args[0]) == receiver {
			return "calls " + called.Name
		}
	}
	return ""
}

// rootOf is the variable that an expression begins with.
func rootOf(expression ast.Expr) string {
	switch e := expression.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return rootOf(e.X)
	case *ast.IndexExpr:
		return rootOf(e.X)
	case *ast.StarExpr:
		return rootOf(e.X)
	case *ast.ParenExpr:
		return rootOf(e.X)
	}
	return ""
}
