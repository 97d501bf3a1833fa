package architecture

import (
	"strings"
	"testing"
)

// wantFound checks that exactly the wanted places were found, each named by a part of its line.
func wantFound(t *testing.T, found []string, wanted ...string) {
	t.Helper()
	if len(found) != len(wanted) {
		t.Errorf("found %d, want %d: %q", len(found), len(wanted), found)
		return
	}
	for i, part := range wanted {
		if !strings.Contains(found[i], part) {
			t.Errorf("found %q, want something with %q", found[i], part)
		}
	}
}

func TestWalls(t *testing.T) {
	ours := func(path string) string { return modulePath + "/" + path }
	for name, c := range map[string]struct {
		p    Package
		want []string
	}{
		"the core may use itself and plain standard packages": {
			p: Package{
				ImportPath: ours("internal/decide/horizontal"),
				Imports:    []string{"fmt", "time", ours("internal/decide/horizontal/history")},
				// fmt reaches os and sync; that is no breach.
				Deps: []string{"fmt", "os", "sync", "time", ours("internal/decide/horizontal/history")},
			},
		},
		"a package for tests may use all that they may": {
			p: Package{
				ImportPath: ours("internal/controller/horizontal/horizontaltest"),
				Imports:    []string{"testing", ours("internal/explain/horizontal")},
			},
		},
		"the core imports an API type": {
			p: Package{
				ImportPath: ours("internal/decide/horizontal"),
				Imports:    []string{"k8s.io/api/core/v1"},
				Deps:       []string{"k8s.io/api/core/v1", "sigs.k8s.io/json"},
			},
			want: []string{"k8s.io/api/core/v1", "sigs.k8s.io/json"},
		},
		"the core logs": {
			p:    Package{ImportPath: ours("internal/decide"), Imports: []string{"log/slog"}},
			want: []string{"imports log/slog"},
		},
		"the core imports the shell": {
			p: Package{
				ImportPath: ours("internal/decide/horizontal/history"),
				Imports:    []string{ours("internal/observe")},
				Deps:       []string{ours("internal/observe")},
			},
			want: []string{"imports internal/observe", "depends on " + ours("internal/observe")},
		},
		"translation reaches a client through another package": {
			p: Package{
				ImportPath: ours("internal/observe"),
				Imports:    []string{"k8s.io/component-helpers/resource"},
				Deps:       []string{"k8s.io/component-helpers/resource", "k8s.io/client-go/rest"},
			},
			want: []string{"depends on k8s.io/client-go/rest"},
		},
		"a snapshot may know the types of the API": {
			p: Package{ImportPath: ours("internal/snapshot"), Deps: []string{"k8s.io/client-go/kubernetes/scheme"}},
		},
		"the product carries the development cluster, through a package of its own": {
			p: Package{
				ImportPath: ours("cmd/plimsoll"),
				Imports:    []string{ours("internal/controller")},
				Deps:       []string{ours("internal/controller"), ours("internal/dev/devcluster/world")},
			},
			want: []string{"depends on " + ours("internal/dev/devcluster/world")},
		},
		"the product may use a part of the API server's library, not the server": {
			p: Package{
				ImportPath: ours("cmd/plimsoll"),
				Deps:       []string{"k8s.io/apiserver/pkg/server/dynamiccertificates", "k8s.io/apiserver/pkg/server"},
			},
			want: []string{"depends on k8s.io/apiserver/pkg/server:"},
		},
		"a name that only begins like a layer is another one": {
			p: Package{ImportPath: ours("internal/simulation"), Imports: []string{"net/http"}},
		},
		"the program that builds grows a command line library": {
			p: Package{
				ImportPath: ours("internal/dev/cmd/devbuild"),
				Imports:    []string{"flag", "github.com/spf13/cobra", ours("internal/dev/devcluster/build")},
				Deps:       []string{"flag", "github.com/spf13/cobra", ours("internal/dev/devcluster/build")},
			},
			want: []string{"depends on github.com/spf13/cobra"},
		},
		"another module's package": {
			p: Package{ImportPath: "example.test/internal/decide", Imports: []string{"net/http"}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			wantFound(t, allBreaches(layers, []Package{c.p}), c.want...)
		})
	}
}

func TestHomeless(t *testing.T) {
	packages := []Package{
		{ImportPath: modulePath + "/internal/decide/horizontal/history"},
		{ImportPath: modulePath + "/internal/odd"},
		{ImportPath: modulePath + "/internal/dev/odd"},
		{ImportPath: modulePath + "/internal/dev/cmd/bench"},
		{ImportPath: modulePath + "/cmd/plimsoll"},
	}
	wantFound(t, homeless(layers, packages), "internal/odd is in no layer", "internal/dev/odd is in no layer")
}

func TestListPackagesSeesImports(t *testing.T) {
	packages, err := listPackages(t.Context(), ".", ".")
	if err != nil {
		t.Fatal(err)
	}
	if len(packages) != 1 || packages[0].ImportPath != modulePath+"/test/architecture" {
		t.Fatalf("listed %+v", packages)
	}
	if p := packages[0]; !covers(p.Imports, "os/exec") || !covers(p.TestImports, "testing") || !covers(p.Deps, "syscall") {
		t.Errorf("imports are missing: %+v", p)
	}
}

// TestTestImports: what the product imports is no package for tests.
func TestTestImports(t *testing.T) {
	ours := func(path string) string { return modulePath + "/" + path }
	wantFound(t, testImports([]Package{
		{ImportPath: ours("internal/controller/horizontal"), Imports: []string{ours("internal/controller/horizontal/horizontaltest")}},
		{ImportPath: ours("internal/controller/horizontal/horizontaltest"), Imports: []string{ours("internal/collect/kubelet/kubelettest")}},
		{ImportPath: ours("internal/dev/bench"), Imports: []string{ours("internal/nodeagent/agenttest")}},
	}), "imports internal/controller/horizontal/horizontaltest")
}
