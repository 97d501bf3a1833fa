package architecture

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

const root = "../.."

func report(t *testing.T, found []string) {
	t.Helper()
	for _, line := range found {
		t.Error(line)
	}
}

// What all tests look at is read once: to parse every file of the repository is most of what they cost.
var (
	readRepository = sync.OnceValues(func() ([]file, error) { return readSource(os.DirFS(root)) })
	listRepository = sync.OnceValues(func() ([]Package, error) { return allPackages(context.Background(), root) })
)

func packages(t *testing.T) []Package {
	t.Helper()
	all, err := listRepository()
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func source(t *testing.T) []file {
	t.Helper()
	files, err := readRepository()
	if err != nil {
		t.Fatal(err)
	}
	// A rule over no files would pass: the core and this package must have been read.
	for _, dir := range []string{"internal/decide", "test/architecture"} {
		seen := false
		for _, f := range files {
			seen = seen || f.isBelow(dir)
		}
		if !seen {
			t.Fatalf("no file of %s was read", dir)
		}
	}
	return files
}

func TestImportsPointInwards(t *testing.T) {
	report(t, allBreaches(layers, packages(t)))
	report(t, homeless(layers, packages(t)))
	report(t, testImports(packages(t)))

	// Upstream's code stays out of the tests of this module too.
	for _, p := range packages(t) {
		for _, imported := range append(p.TestImports, p.XTestImports...) {
			if covers([]string{"k8s.io/kubernetes", "k8s.io/autoscaler"}, imported) {
				t.Errorf("a test of %s imports %s: comparing with upstream is test/oracle's", p.ImportPath, imported)
			}
		}
	}
}

// The walls name packages; a renamed package would leave its wall standing around nothing.
func TestWallsStandAroundSomething(t *testing.T) {
	for _, w := range layers {
		seen := false
		for _, p := range packages(t) {
			path, isOurs := local(p.ImportPath)
			seen = seen || isOurs && covers([]string{w.within}, path)
		}
		if !seen {
			t.Errorf("no package below %s: %s", w.within, w.why)
		}
	}
}

func TestModulesRequireOnlyWhatIsTheirs(t *testing.T) {
	product, err := listRequirements(t.Context(), filepath.Join(root, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	developing, err := listRequirements(t.Context(), filepath.Join(root, development, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	if product["k8s.io/api"] == "" {
		t.Fatal("go.mod was not read: it names no k8s.io/api")
	}
	for module, why := range neverRequired {
		if version := product[module] + developing[module]; version != "" {
			t.Errorf("a go.mod names %s %s: %s", module, version, why)
		}
	}
	for _, module := range requiredToDevelop {
		if developing[module] == "" || product[module] != "" {
			t.Errorf("%s is %q in %s/go.mod, and %q in the product's: only what develops needs it", module,
				developing[module], development, product[module])
		}
	}
}

func TestOnePackageCommentEach(t *testing.T) { report(t, commentBreaches(source(t))) }
func TestSizes(t *testing.T)                 { report(t, sizeBreaches(source(t))) }
func TestNesting(t *testing.T)               { report(t, nestingBreaches(source(t))) }
func TestCoreIsPure(t *testing.T)            { report(t, coreBreaches(source(t))) }
func TestReadsSubscribeToNothing(t *testing.T) {
	report(t, readBreaches(source(t)))
}
func TestImportNamesMeanOnePackage(t *testing.T) {
	report(t, importNameBreaches(source(t)))
}

// TestLargest prints what is largest: make lint shows it.
func TestLargest(t *testing.T) {
	all := measures(packages(t), source(t))
	for _, m := range all {
		if len(m.counts) == 0 {
			t.Errorf("nothing was counted: %s", m.title)
		}
	}
	fmt.Print(table(all))
}

func TestNoWaiversInCore(t *testing.T) { report(t, waiverBreaches(source(t))) }
func TestNoTestSleeps(t *testing.T)    { report(t, sleepBreaches(source(t))) }
func TestNoUnseenReads(t *testing.T)   { report(t, outsideBreaches(source(t))) }
func TestNoTestSkips(t *testing.T)     { report(t, skipBreaches(source(t), maySkip)) }

// maySkip has the files whose tests may skip, and why. It is empty, and an entry is a thing to discuss.
var maySkip = map[string]string{}

// A path with a typing error lets nothing through and keeps nothing out.
func TestLayersNameExistingPackages(t *testing.T) {
	for _, w := range layers {
		for _, path := range w.ours {
			folder := filepath.Join(root, filepath.FromSlash(strings.TrimSuffix(path, "$")))
			if info, err := os.Stat(folder); err != nil || !info.IsDir() {
				t.Errorf("%s may import %s, which is no folder", w.within, path)
			}
		}
		if strings.TrimSpace(w.why) == "" {
			t.Errorf("the wall around %s has no reason", w.within)
		}
	}
}
