package docs

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"

	horizontaldivergence "github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/divergence"
	verticaldivergence "github.com/plimsoll-dev/plimsoll/internal/decide/vertical/divergence"
)

// TestDivergences: the list of divergences has those of the program, with the sentence that the code has of each.
func TestDivergences(t *testing.T) {
	t.Parallel()
	b := generated("Divergences", "A divergence is a deliberate difference from upstream, with a name. Each links to what upstream does "+
		"instead, and to the tests.",
		"internal/decide/{horizontal,vertical}/divergence")
	b.WriteString("\nAll are on by default. Each command that decides has a flag for them ([commands and flags](flags.md)): `none` turns " +
		"all off, a list of names turns on those alone.\n")
	writeDivergences(t, b, "Horizontal", namesOf(horizontaldivergence.All()))
	writeDivergences(t, b, "Vertical", namesOf(verticaldivergence.All()))
	compare(t, "divergences.md", b.String())
}

func namesOf[D fmt.Stringer](all []D) []string {
	names := make([]string, 0, len(all))
	for _, d := range all {
		names = append(names, d.String())
	}
	return names
}

func writeDivergences(t *testing.T, b *strings.Builder, direction string, names []string) {
	t.Helper()
	sentences := constants(t, filepath.Join("internal", "decide", strings.ToLower(direction), "divergence", "divergence.go"))
	if len(sentences) < len(names) {
		t.Fatalf("%s: %d constants for %d divergences", direction, len(sentences), len(names))
	}
	fmt.Fprintf(b, "\n## %s\n\n| name | what it does |\n|---|---|\n", direction)
	for i, name := range names {
		fmt.Fprintf(b, "| [%s](../contributing/compatibility.md#%s) | %s |\n", code(name), name, cell(sentences[i]))
	}
}

// constants are the comments of the constants of the first block that counts by iota, without their names.
func constants(t *testing.T, file string) []string {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), filepath.Join(repository(t), file), nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	for _, declaration := range parsed.Decls {
		block, isBlock := declaration.(*ast.GenDecl)
		if !isBlock || block.Tok != token.CONST || len(block.Specs) < 2 {
			continue
		}
		var sentences []string
		for _, spec := range block.Specs {
			value := spec.(*ast.ValueSpec)
			sentence := strings.TrimPrefix(value.Doc.Text(), value.Names[0].Name+" ")
			if sentence != "" {
				sentences = append(sentences, strings.ToUpper(sentence[:1])+sentence[1:])
			}
		}
		return sentences
	}
	t.Fatalf("%s has no block of constants", file)
	return nil
}
