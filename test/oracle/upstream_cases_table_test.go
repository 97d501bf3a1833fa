package oracle

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const (
	tableBegin = "<!-- upstream's cases: written by go test -run TestUpstreamCases . -update in test/oracle -->"
	tableEnd   = "<!-- end of upstream's cases -->"
)

// table lists upstream's functions, with the places of their cases.
func (b *book) table(funcs []upstreamFunc) string {
	var out strings.Builder
	fmt.Fprintf(&out, "| function | cases | where |\n|---|---|---|\n")
	total := 0
	for i := range funcs {
		names := funcs[i].full()
		total += len(names)
		fmt.Fprintf(&out, "| `%s` | %d | %s |\n", funcs[i].name, len(names), b.where(names))
	}
	fmt.Fprintf(&out, "| %d functions | %d | |\n", len(funcs), total)
	return out.String()
}

// where names the places of a function's cases, with how many are there if they
// are in more than one.
func (b *book) where(names []string) string {
	var order []string
	counts := map[string]int{}
	for _, name := range names {
		p, found := b.places[name]
		words := p.words()
		if !found {
			words = "missing"
		}
		if counts[words] == 0 {
			order = append(order, words)
		}
		counts[words]++
	}
	if len(order) == 1 {
		return order[0]
	}
	for i, words := range order {
		order[i] = fmt.Sprintf("%d: %s", counts[words], words)
	}
	return strings.Join(order, "; ")
}

// words is the place as text in the table.
func (p *place) words() string {
	switch {
	case p.scenario != "":
		return fmt.Sprintf("[%s](../../%s/%s)", strings.TrimSuffix(p.scenario, ".txt"), scenarios, p.scenario)
	case p.test != "":
		folder, name, _ := strings.Cut(p.test, " ")
		test, _, _ := strings.Cut(name, "/")
		return fmt.Sprintf("%#q in [%s](../../%s)", test, strings.TrimPrefix(folder, "./"), strings.TrimPrefix(folder, "./"))
	default:
		return "none: " + p.reason
	}
}

// compareTable compares the table with the one in docs/contributing/compatibility.md, or
// writes it there.
func compareTable(t *testing.T, table string) {
	t.Helper()
	path := filepath.Join(root, filepath.FromSlash(compatibility))
	page, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, begun := strings.Cut(string(page), tableBegin+"\n")
	old, after, ended := strings.Cut(rest, tableEnd)
	if !begun || !ended {
		t.Fatalf("%s has no place for upstream's cases", compatibility)
	}
	if !*update {
		if old != table {
			t.Errorf("%s does not say where the cases are; -update writes it:\n%s", compatibility, table)
		}
		return
	}
	if err := os.WriteFile(path, []byte(before+tableBegin+"\n"+table+tableEnd+after), 0o644); err != nil {
		t.Fatal(err)
	}
}
