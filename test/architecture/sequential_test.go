package architecture

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The Makefile names the packages that are tested without the race detector. A package that starts a goroutine or
// takes a lock must not be among them.
func TestSequentialPackagesAreSequential(t *testing.T) {
	pattern := inMakefile(t, "SEQUENTIAL")
	hasCore := pattern.MatchString(modulePath + "/internal/decide/horizontal")
	if !hasCore || pattern.MatchString(modulePath+"/internal/controller/horizontal") {
		t.Errorf("SEQUENTIAL in the Makefile is %q: it should name the core, and not the controllers", pattern)
	}
	report(t, sequentialBreaches(pattern, packages(t), source(t)))
}

// inMakefile returns a variable of the Makefile that is a regular expression.
func inMakefile(t *testing.T, name string) *regexp.Regexp {
	t.Helper()
	makefile, err := os.ReadFile(filepath.Join(root, "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(makefile), "\n"+name+" := ")
	line, _, _ := strings.Cut(rest, "\n")
	pattern, err := regexp.Compile(strings.ReplaceAll(line, "$$", "$"))
	if err != nil || line == "" {
		t.Fatalf("%s in the Makefile is %q: %v", name, line, err)
	}
	return pattern
}

// The tests of LONG packages run without the race detector. Each of these packages that starts a goroutine has a short
// test that runs under it too.
func TestLongPackagesHaveRacedTests(t *testing.T) {
	long, raced := inMakefile(t, "LONG"), inMakefile(t, "LONG_RACED")
	report(t, unracedGoroutines(long, raced, source(t)))
}

func TestUnracedGoroutines(t *testing.T) {
	files := tree(t, map[string]string{
		"a/a.go":      "package a\nimport \"golang.org/x/sync/errgroup\"\n",
		"a/a_test.go": "package a\nfunc TestShort(t *testing.T) {}\n",
		"b/b.go":      "package b\nfunc B() { go B() }\n",
		"b/b_test.go": "package b\nfunc TestOther(t *testing.T) {}\n",
		"c/c.go":      "package c\n",
		"d/d.go":      "package d\nfunc D() { go D() }\n",
	})
	wantFound(t, unracedGoroutines(regexp.MustCompile("/[abc]$"), regexp.MustCompile("TestShort$"), files),
		"b starts goroutines, and no test of it runs with the race detector")
}

func TestSequentialBreaches(t *testing.T) {
	files := tree(t, map[string]string{
		"a/a.go":      "package a\n",
		"a/a_test.go": "package a\nfunc TestA(t *testing.T) { t.Parallel() }\n",
		"b/b.go":      "package b\nfunc B() { go B() }\n",
		"c/c.go":      "package c\nimport \"sync\"\n",
		"d/d.go":      "package d\n",
	})
	of := func(name string, tests ...string) Package {
		return Package{ImportPath: modulePath + "/" + name, TestImports: tests}
	}
	a, b, c, d := of("a"), of("b"), of("c"), of("d", modulePath+"/b")
	d.Deps = []string{modulePath + "/c"}
	wantFound(t, sequentialBreaches(regexp.MustCompile("/(a|d)$"), []Package{a, b, c, d}, files),
		"a is tested without the race detector, and a/a_test.go:2 is a parallel test",
		"d is tested without the race detector, and c/c.go imports sync",
		"d is tested without the race detector, and b/b.go:2 has a goroutine",
	)
}
