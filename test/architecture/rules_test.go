package architecture

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

// tree parses files from path and content, in the order of paths.
func tree(t *testing.T, contents map[string]string) []file {
	t.Helper()
	sources := fstest.MapFS{}
	for path, content := range contents {
		sources[path] = &fstest.MapFile{Data: []byte(content)}
	}
	files, err := readSource(sources)
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func TestReadSource(t *testing.T) {
	files := tree(t, map[string]string{
		"a/a.go":             "package a\n\n \nvar x = 1\n",
		"bin/generated.go":   "package generated\n",
		"a/testdata/in.go":   "package broken {{{\n",
		"a/notes.txt":        "no Go\n",
		"tools/x/windows.go": "//go:build windows\n\npackage main\n",
	})
	if len(files) != 2 || files[0].path != "a/a.go" || files[0].lines != 2 || files[1].path != "tools/x/windows.go" {
		t.Errorf("read %+v", files)
	}
}

func TestCommentBreaches(t *testing.T) {
	wantFound(t, commentBreaches(tree(t, map[string]string{
		"good/doc.go":           "// Package good is good.\npackage good\n",
		"good/more.go":          "package good\n",
		"good/good_test.go":     "package good_test\n",
		"cmd/fine/main.go":      "// Command fine does it.\npackage main\n",
		"onlytests/one_test.go": "// Package onlytests tests.\npackage onlytests\n",
		"bad1/none.go":          "package bad1\n",
		"bad2/one.go":           "// Package bad2 is told here.\npackage bad2\n",
		"bad2/two.go":           "// Package bad2 is told again.\npackage bad2\n",
		"bad3/a.go":             "// Copyright somebody.\npackage bad3\n",
		"cmd/bad4/main.go":      "// Package main is no name.\npackage main\n",
		"bad5/a.go":             "// Package bad5 is good.\npackage bad5\n",
		"bad5/a_test.go":        "// Package bad5 is told in a test too.\npackage bad5\n",
	})),
		"bad1: no package comment",
		"bad2: several package comments",
		"bad3/a.go: the package comment does not begin with \"Package bad3 \"",
		"bad5: several package comments",
		"cmd/bad4/main.go: the package comment does not begin with \"Command bad4 \"",
	)
}

func TestSizeBreaches(t *testing.T) {
	lines := func(count int) string { return "package x\n" + strings.Repeat("var _ = 1\n\n", count-1) }
	wantFound(t, sizeBreaches(tree(t, map[string]string{
		"internal/kube/full.go":   lines(400),
		"internal/kube/over.go":   lines(401),
		"internal/kube/a_test.go": lines(2000),
	})),
		"internal/kube/over.go: 401 lines",
	)
}

func TestNestingBreaches(t *testing.T) {
	wantFound(t, nestingBreaches(tree(t, map[string]string{
		"a.go": `package a

func three(xs [][]int) {
	for _, row := range xs {
		for _, x := range row {
			if x > 0 {
				print(x)
			} else if x < -1 {
				print(-x)
			} else if x < -2 {
				print(0)
			}
		}
	}
	if len(xs) > 0 {
		func() {
			for {
				if true {
					switch {
					}
				}
			}
		}()
	}
}

func four(xs [][]int) {
	for _, row := range xs {
		for _, x := range row {
			switch {
			case x > 0:
				if x > 1 { // line 32
					for { // deeper still: reported once
					}
				}
			}
		}
	}
}

func chain(x int) {
	if x > 0 {
	} else {
		for {
			select {
			default:
				for range x { // line 47
				}
			}
		}
	}
}
`,
		"a_test.go": "package a\n\nfunc deep() { if true { if true { if true { if true {} } } } }\n",
	})), "a.go:32", "a.go:47")
}

func TestCoreBreaches(t *testing.T) {
	const impure = `package a

import clock "time"

func a(c chan int) { // line 5
	go a(nil)
	c <- 1
	<-c
	select {}
	_ = clock.Now()
	_ = clock.Second
	var now interface{ Now() }
	now.Now()
}
`
	wantFound(t, coreBreaches(tree(t, map[string]string{
		"internal/decide/a/a.go":      impure,
		"internal/decide/a/a_test.go": impure,
		"internal/kube/a.go":          impure,
	})), "a.go:10: time.Now", "a.go:5: channel", "a.go:6: goroutine", "a.go:7: channel", "a.go:8: channel",
		"a.go:9: select")
}

func TestReadBreaches(t *testing.T) {
	const reads = `package a

import "github.com/plimsoll-dev/plimsoll/internal/collect/subscriptions"

func (s *Source) Latest(key string) int {
	local := s.values[key]
	local++
	s.reads++ // line 8
	s.looked[key] = 1
	(*s).last, local = 1, 2
	delete(s.looked, key)
	delete(other, key)
	s.table.Set(key, nil)
	go s.ask()
	s.wake <- 1
	return len(s.values)
}

func (s *Source) Other() { s.reads++ }

func (r *reader) Agent(i int) bool {
	r.source.want(i)
	r.source.ReportMissing(i)
	r.wanted[i] = true
	return true
}
`
	wantFound(t, readBreaches(tree(t, map[string]string{
		"internal/collect/a/a.go":      reads,
		"internal/collect/a/a_test.go": reads,
		"internal/collect/a/b.go":      "package a\n\nfunc (s *Page) Latest() { s.n++ }\n",
		"internal/collect/b/b.go":      "package b\n\nfunc (s *Source) Latest() { s.n++ }\n",
	})),
		"a/a.go:8", "a/a.go:9", "a/a.go:10", "a/a.go:11", "a/a.go:13", "a/a.go:14", "a/a.go:15",
		"a/a.go:23", "a/a.go:24", "a/b.go:3")
}

func TestWaiverBreaches(t *testing.T) {
	const waived = "package a\n\nvar a = 1 //nolint:gosec // because\n"
	wantFound(t, waiverBreaches(tree(t, map[string]string{
		"internal/decide/a.go":      waived,
		"internal/decide/a_test.go": waived,
		"internal/kube/a.go":        waived,
	})), "internal/decide/a.go:3", "internal/decide/a_test.go:3")
}

func TestSleepBreaches(t *testing.T) {
	const sleeps = "package a\n\nimport \"time\"\n\nfunc a() { time.Sleep(1) }\n"
	const virtual = `package a

import "time"

func a() {
	time.Sleep(1) //nolint:forbidigo // virtual time: a slow adapter
	time.Sleep(1)
}
`
	wantFound(t, sleepBreaches(tree(t, map[string]string{
		"internal/kube/a.go":                      sleeps,
		"internal/kube/a_test.go":                 sleeps,
		"internal/kube/said_test.go":              virtual, // said, but real: no synctest here
		"internal/controller/a_test.go":           virtual,
		"internal/controller/world.go":            "package a\n\nimport _ \"testing/synctest\"\n",
		"internal/kube/kubetest/kubetest.go":      sleeps,
		"internal/dev/test/integration/wait.go":   sleeps,
		"internal/dev/test/integration/other.go":  "package a\n\nfunc a(time interface{ Sleep() }) { time.Sleep() }\n",
		"internal/dev/test/integration/second.go": "package a\n\nimport \"time\"\n\nfunc b() { time.NewTimer(1) }\n",
	})),
		"internal/controller/a_test.go:7", "internal/dev/test/integration/wait.go:5", "internal/kube/a_test.go:5",
		"internal/kube/kubetest/kubetest.go:5", "internal/kube/said_test.go:6",
		"internal/kube/said_test.go:7")
}

func TestOutsideBreaches(t *testing.T) {
	const reads = "package a\n\nvar a, b = \"../b/testdata/x\", \"../../../config\" // line 3\n"
	wantFound(t, outsideBreaches(tree(t, map[string]string{
		"internal/dev/a/a_test.go":      reads,
		"internal/dev/a/a.go":           reads,
		"internal/dev/test/a/a_test.go": reads,
		"internal/kube/a_test.go":       reads,
	})), "internal/dev/a/a_test.go:3 names config")
}

func TestSkipBreaches(t *testing.T) {
	const skipping = `package a

import (
	"testing"

	"pgregory.net/rapid"
)

func TestA(t *testing.T) {
	t.Skip("later") // line 10
	t.Run("b", func(t *testing.T) { t.SkipNow() })
	rapid.Check(t, func(t *rapid.T) { t.Skip("this example") })
	if t.Skipped() || testing.Short() { // line 13
		return
	}
}

func help(tb testing.TB) { tb.Skipf("%d", 1) }
`
	files := tree(t, map[string]string{
		"internal/kube/a_test.go":    skipping,
		"internal/kube/may_test.go":  skipping,
		"internal/kube/a.go":         "package a\n\nfunc a(t interface{ Skip() }) { t.Skip() }\n",
		"internal/kube/none_test.go": "package a\n\nfunc a(t interface{ Skip() }) { t.Skip() }\n",
	})
	wantFound(t, skipBreaches(files, map[string]string{"internal/kube/may_test.go": "it has a reason"}),
		"a_test.go:13", "a_test.go:10", "a_test.go:11", "a_test.go:18")
}

func TestMeasures(t *testing.T) {
	files := tree(t, map[string]string{
		"internal/decide/a/a.go": "package a\nimport \"sync\"\ntype locked struct {\nmu sync.Mutex\nb, c int\n}\n" +
			"func (l *locked) m() {}\n",
		"internal/decide/a/b.go":      "package a\nfunc (l locked) n() {}\nfunc (s set[T]) o() {}\n",
		"internal/decide/a/a_test.go": "package a\nfunc (l locked) p() {}\n",
		"internal/kube/large.go":      "package kube\n" + strings.Repeat("var _ = 1\n", 100),
		"internal/dev/d/d.go":         "package d\nfunc (d d) m() {}\n",
	})
	got := table(measures([]Package{
		{ImportPath: modulePath + "/internal/decide/a", Imports: []string{"sync"}, TestImports: []string{"testing", "os"}},
		{ImportPath: modulePath + "/internal/kube", Imports: []string{"sync", modulePath + "/internal/decide/a"}},
	}, files))
	want := `imports of a package (2 in all)
      2  internal/kube
      1  internal/decide/a
methods of a type (2 in all)
      2  internal/decide/a.locked
      1  internal/decide/a.set
fields of a struct with a lock (1 in all)
      3  internal/decide/a.locked
lines of a package of internal/decide (1 in all)
     10  internal/decide/a
lines of a package, if fewer than 100 (1 in all)
     10  internal/decide/a
lines of a package that one other imports (1 in all)
     10  internal/decide/a
`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

func TestImportNameBreaches(t *testing.T) {
	wantFound(t, importNameBreaches(tree(t, map[string]string{
		"a/one.go":      "package a\nimport \"x/resize\"\n",
		"a/two.go":      "package a\nimport \"y/resize\"\n",
		"b/one.go":      "package b\nimport \"x/resize\"\n",
		"b/two.go":      "package b\nimport yresize \"y/resize\"\n",
		"b/one_test.go": "package b\nimport \"y/resize\"\n",
		"c/one_test.go": "package c\nimport \"math/rand\"\n",
		"c/two_test.go": "package c\nimport \"math/rand/v2\"\n",
		"d/one.go":      "package d\nimport _ \"x/a\"\n",
		"d/two.go":      "package d\nimport _ \"x/b\"\n",
		"e/one.go":      "package e\nimport \"k8s.io/api/core/v1\"\n",
		"e/two.go":      "package e\nimport \"k8s.io/api/apps/v1\"\n",
	})),
		"a: resize means x/resize and y/resize",
		"c (tests): rand means math/rand and math/rand/v2",
		"e: v1 means k8s.io/api/apps/v1 and k8s.io/api/core/v1",
	)
}
