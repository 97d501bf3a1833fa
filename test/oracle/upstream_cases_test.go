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

var update = flag.Bool("update", false, "write the table of upstream's cases into docs/contributing/compatibility.md")

const (
	// root is the repository's root, seen from here.
	root          = "../.."
	scenarios     = "internal/decide/horizontal/testdata/upstream"
	ledger        = "testdata/upstream-cases.txt"
	compatibility = "docs/contributing/compatibility.md"
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
// a scenario, is covered by a test, or has a reason for having neither. The last
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
	b := newBook(funcs)
	if err := b.readScenarios(); err != nil {
		t.Fatal(err)
	}
	if err := b.readLedger(); err != nil {
		t.Fatal(err)
	}
	for _, problem := range b.problems {
		t.Error(problem)
	}
	if missing := b.missing(); len(missing) > 0 {
		t.Errorf("%d of %d cases have no place:\n%s", len(missing), b.cases(), strings.Join(missing, "\n"))
	}
	compareTable(t, b.table(funcs))
}

// TestUpstreamBook: what TestUpstreamCases must not overlook.
func TestUpstreamBook(t *testing.T) {
	const test = "./test/oracle TestUpstreamBook"
	funcs := []upstreamFunc{{name: "TestA"}, {name: "TestB", cases: []string{"x", "y"}}}
	for name, tt := range map[string]struct {
		lines            []string
		scenario         bool
		missing, problem string
	}{
		"nothing":        {nil, false, "TestA TestB/x TestB/y", ""},
		"all":            {[]string{"TestA -> " + test, "", "# more", "TestB/* none: other"}, false, "", ""},
		"a part":         {[]string{"TestB/y -> " + test + "/a part"}, false, "TestA TestB/x", ""},
		"unknown":        {[]string{"TestC -> " + test}, false, "TestA TestB/x TestB/y", `no case "TestC"`},
		"unknown row":    {[]string{"TestB/z none: other"}, false, "TestA TestB/x TestB/y", `no case "TestB/z"`},
		"a table as one": {[]string{"TestB none: other"}, false, "TestA TestB/x TestB/y", `no case "TestB"`},
		"twice": {[]string{"TestA none: other", "TestA -> " + test}, false, "TestB/x TestB/y",
			"has a place already"},
		"a row twice": {[]string{"TestB/* none: other", "TestB/x -> " + test}, false,
			"TestA", "has a place already"},
		"no such test": {[]string{"TestA -> ./test/oracle TestNowhere"}, false, "TestB/x TestB/y",
			"there is no test"},
		"no such subtest": {[]string{"TestA -> " + test + "/no such " + "subtest at all"}, false, "TestB/x TestB/y",
			"there is no test"},
		"no reason":              {[]string{"TestA none: "}, false, "TestA TestB/x TestB/y", "neither a test nor a reason"},
		"scenarios":              {[]string{"upstream TestA", "upstream  ==", "upstream TestB/x"}, true, "TestB/y", ""},
		"a scenario for a table": {[]string{"upstream TestB/*"}, true, "TestA TestB/x TestB/y", `no case "TestB/*"`},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBook(funcs)
			for _, line := range tt.lines {
				if tt.scenario {
					b.scenarioLine("a.txt", "line", line)
				} else {
					b.ledgerLine("line", line)
				}
			}
			if got := strings.Join(b.missing(), " "); got != tt.missing {
				t.Errorf("missing are %q, want %q", got, tt.missing)
			}
			if got := strings.Join(b.problems, "\n"); !strings.Contains(got, tt.problem) || (got == "") != (tt.problem == "") {
				t.Errorf("problems are %q, want %q", got, tt.problem)
			}
		})
	}
}

// book says where each case is.
type book struct {
	// known are upstream's names; TestFunc/* are all the rows of a table.
	known    map[string][]string
	places   map[string]place
	problems []string
}

func newBook(funcs []upstreamFunc) *book {
	b := &book{known: map[string][]string{}, places: map[string]place{}}
	for i := range funcs {
		b.know(&funcs[i])
	}
	return b
}

func (b *book) problem(format string, args ...any) {
	b.problems = append(b.problems, fmt.Sprintf(format, args...))
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
		b.problem("%s: upstream has no case %q", line, name)
		return
	}
	for _, n := range names {
		if _, twice := b.places[n]; twice {
			b.problem("%s: %q has a place already", line, n)
			continue
		}
		b.places[n] = p
	}
}

func (b *book) readScenarios() error {
	files, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(scenarios), "*.txt"))
	if err != nil {
		return err
	}
	for _, file := range files {
		err := eachLine(file, func(line, text string) { b.scenarioLine(filepath.Base(file), line, text) })
		if err != nil {
			return err
		}
	}
	return nil
}

func (b *book) scenarioLine(file, line, text string) {
	name, found := strings.CutPrefix(text, "upstream ")
	// With another space it is a picture of what upstream does.
	if found && !strings.HasPrefix(name, " ") {
		b.enter(name, line, place{scenario: file})
	}
}

func (b *book) readLedger() error { return eachLine(filepath.FromSlash(ledger), b.ledgerLine) }

func (b *book) ledgerLine(line, text string) {
	if text == "" || strings.HasPrefix(text, "#") {
		return
	}
	if name, test, found := strings.Cut(text, " -> "); found {
		b.held(line, test)
		b.enter(strings.TrimSpace(name), line, place{test: test})
		return
	}
	name, reason, found := strings.Cut(text, " none: ")
	if !found || reason == "" {
		b.problem("%s: neither a test nor a reason: %q", line, text)
		return
	}
	b.enter(strings.TrimSpace(name), line, place{reason: reason})
}

func (b *book) held(line, test string) {
	folder, name, _ := strings.Cut(test, " ")
	found, err := holds(filepath.Join(root, filepath.FromSlash(folder)), strings.TrimSpace(name))
	if err != nil || !found {
		b.problem("%s: there is no test %q: %v", line, test, err)
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
func eachLine(path string, do func(line, text string)) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	for n := 1; lines.Scan(); n++ {
		do(fmt.Sprintf("%s:%d", filepath.Base(path), n), strings.TrimRight(lines.Text(), " "))
	}
	return lines.Err()
}
