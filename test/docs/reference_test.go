package docs

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// update is make reference.
var update = flag.Bool("update", false, "write docs/reference/")

// compare compares a page of the reference with what the program has, or writes it.
func compare(t *testing.T, name, text string) {
	t.Helper()
	file := filepath.Join(repository(t), "docs", "reference", name)
	if *update {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	have, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(have), text); diff != "" {
		t.Errorf("docs/reference/%s is out of date; make reference writes it (-is +should be):\n%s", name, diff)
	}
}

// generated is the beginning of each page of the reference.
func generated(title, opening, from string) *strings.Builder {
	var b strings.Builder
	fmt.Fprintf(&b, "<!-- Generated from %s by make reference. -->\n\n# %s\n\n%s\n", from, title, opening)
	return &b
}

// cell is a text in a cell of a table, in one line.
func cell(text string) string {
	return strings.NewReplacer("|", `\|`, "<", "&lt;", "*", `\*`).Replace(strings.Join(strings.Fields(text), " "))
}

// code is a text as code in a cell of a table; nothing if it is empty.
func code(text string) string {
	if text == "" {
		return ""
	}
	return "`" + strings.ReplaceAll(text, "|", `\|`) + "`"
}
