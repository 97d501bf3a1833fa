package oracle

import (
	"bufio"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the table of upstream's cases into docs/compatibility.md")

const (
	// root is the repository's root, seen from here.
	root          = "../.."
	scenarios     = "internal/decide/horizontal/testdata/upstream"
	ledger        = "testdata/upstream-cases.txt"
	compatibility = "docs/compatibility.md"
)

// place is where one of upstream's cases is to be found, or why it is not.
// Exactly one of its fields is set.
type place struct {
	scenario string
	// test is "./package TestName/subtest".
	test   string
	reason string
}

// TestUpstreamCases fails unless each case of upstream's own tests is named by
// a scenario, is held by a test, or has a reason for having neither. The last
// two stand in testdata/upstream-cases.txt, as
//
//	TestFunc/case  -> ./internal/package TestName/subtest
//	TestFunc/case  none: reason
//
// where TestFunc/* means each row of its table.
func TestUpstreamCases(t *testing.T) {
	funcs, err := upstreamFuncs()
	if err != nil {
		t.Fatal(err)
	}
	b := book{t: t, known: map[string][]string{}, places: map[string]place{}}
	for i := range funcs {
		b.know(&funcs[i])
	}
	b.readScenarios()
	b.readLedger()
	if missing := b.missing(); len(missing) > 0 {
		t.Errorf("%d of %d cases have no place:\n%s", len(missing), b.cases(), strings.Join(missing, "\n"))
	}
	compareTable(t, b.table(funcs))
}

// book says where each case is.
type book struct {
	t *testing.T
	// known are upstream's names; TestFunc/* are all the rows of a table.
	known  map[string][]string
	places map[string]place
}

func (b *book) know(f *upstreamFunc) {
	for _, name := range f.full() {
		b.known[name] = []string{name}
	}
	if len(f.cases) > 0 {
		b.known[f.name+"/*"] = f.full()
	}
}

// enter notes the place of a case, from a file's line.
func (b *book) enter(name, line string, p place) {
	names, known := b.known[name]
	if !known || strings.HasSuffix(name, "/*") && p.scenario != "" {
		b.t.Errorf("%s: upstream has no case %q", line, name)
		return
	}
	for _, n := range names {
		if _, twice := b.places[n]; twice {
			b.t.Errorf("%s: %q has a place already", line, n)
			continue
		}
		b.places[n] = p
	}
}

func (b *book) readScenarios() {
	files, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(scenarios), "*.txt"))
	if err != nil || len(files) == 0 {
		b.t.Fatalf("no scenarios of upstream's cases: %v", err)
	}
	for _, file := range files {
		eachLine(b.t, file, func(line, text string) {
			if name, found := strings.CutPrefix(text, "upstream "); found && !strings.HasPrefix(text, "upstream  ") {
				b.enter(strings.TrimSpace(name), line, place{scenario: filepath.Base(file)})
			}
		})
	}
}

func (b *book) readLedger() {
	eachLine(b.t, filepath.FromSlash(ledger), func(line, text string) {
		if text == "" || strings.HasPrefix(text, "#") {
			return
		}
		if name, test, found := strings.Cut(text, " -> "); found {
			b.held(line, test)
			b.enter(strings.TrimSpace(name), line, place{test: test})
			return
		}
		name, reason, found := strings.Cut(text, " none: ")
		if !found || strings.TrimSpace(reason) == "" {
			b.t.Errorf("%s: neither a test nor a reason: %q", line, text)
			return
		}
		b.enter(strings.TrimSpace(name), line, place{reason: strings.TrimSpace(reason)})
	})
}

func (b *book) held(line, test string) {
	folder, name, _ := strings.Cut(test, " ")
	found, err := holds(filepath.Join(root, filepath.FromSlash(folder)), strings.TrimSpace(name))
	if err != nil || !found {
		b.t.Errorf("%s: there is no test %q: %v", line, test, err)
	}
}

// missing are the names without a place, in order.
func (b *book) missing() []string {
	var all []string
	for name := range b.known {
		if _, found := b.places[name]; !found && !strings.HasSuffix(name, "/*") {
			all = append(all, name)
		}
	}
	slices.Sort(all)
	return all
}

func (b *book) cases() int {
	n := 0
	for name := range b.known {
		if !strings.HasSuffix(name, "/*") {
			n++
		}
	}
	return n
}

// eachLine calls do with each line and how messages name it.
func eachLine(t *testing.T, path string, do func(line, text string)) {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	for n := 1; lines.Scan(); n++ {
		do(fmt.Sprintf("%s:%d", filepath.Base(path), n), strings.TrimRight(lines.Text(), " "))
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
}
