package triggers

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestTypesAreKEDAs compares the types with those of KEDA's own table.
func TestTypesAreKEDAs(t *testing.T) {
	list := exec.CommandContext(t.Context(), "go", "list", "-f", "{{.Dir}}", "github.com/kedacore/keda/v2/pkg/scaling")
	directory, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(strings.TrimSpace(string(directory)), "scalers_builder.go")
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var kedas []string
	ast.Inspect(file, func(n ast.Node) bool {
		if c, ok := n.(*ast.CaseClause); ok {
			for _, e := range c.List {
				if literal, ok := e.(*ast.BasicLit); ok && literal.Kind == token.STRING {
					name, err := strconv.Unquote(literal.Value)
					if err != nil {
						t.Fatal(err)
					}
					kedas = append(kedas, name)
				}
			}
		}
		return true
	})
	if len(kedas) < 70 {
		t.Fatalf("found %d types in KEDA's table", len(kedas))
	}
	// KEDA has it for its own tests.
	const test = "external-mock"
	for _, name := range kedas {
		_, err := For(name)
		_, isElsewhere := Elsewhere[name]
		if name != test && (err != nil) != isElsewhere {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, name := range Types() {
		if !slices.Contains(kedas, name) {
			t.Errorf("KEDA has no type %s", name)
		}
	}
}

func TestUnknownTypes(t *testing.T) {
	for name, want := range map[string]string{
		"kafkaa": `type: "kafkaa": KEDA 2.21 has no such trigger`,
		"cpu":    `type: "cpu": use a metric of type Resource or ContainerResource`,
	} {
		if _, err := For(name); err == nil || err.Error() != want {
			t.Errorf("%s: got %v", name, err)
		}
	}
}
