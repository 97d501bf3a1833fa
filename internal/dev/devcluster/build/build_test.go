package build_test

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/plimsoll-dev/plimsoll/internal/dev/devcluster/build"
)

func TestReadyFolderMustBeComplete(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"etcd", "kwok"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	config := build.Config{BinDir: dir, Parts: []string{"etcd", "kwok"}}
	if result, err := build.Run(t.Context(), config); err != nil || result.BinDir != dir || len(result.Built) > 0 {
		t.Errorf("complete folder: %+v, %v", result, err)
	}
	config.Parts = append(config.Parts, "kubectl", "kube-scheduler")
	_, err := build.Run(t.Context(), config)
	if err == nil || !strings.Contains(err.Error(), "kubectl, kube-scheduler") || strings.Contains(err.Error(), "etcd") {
		t.Errorf("error does not name exactly what is missing: %v", err)
	}
}

// The kubelet takes minutes to build, which the demo and the tests are not to wait for.
func TestControlPlaneHasNoKubelet(t *testing.T) {
	if parts := build.ControlPlane(); slices.Contains(parts, build.Kubelet) || !slices.Contains(parts, "kube-apiserver") {
		t.Errorf("got %v", parts)
	}
}

func TestUnknownPartIsAnError(t *testing.T) {
	if _, err := build.Run(t.Context(), build.Config{Parts: []string{"minikube"}}); err == nil {
		t.Error("built a part that does not exist")
	}
}

// Compiled packages are shared between Plimsoll, what develops it and the control plane's parts only where all select
// the same version. A difference does not break anything: it makes the newcomer's first build minutes longer, which no
// test would notice.
func TestModuleGraphsAgree(t *testing.T) {
	root, err := build.Root()
	if err != nil {
		t.Fatal(err)
	}
	theirs := requirements(t, filepath.Join(root, "tools", "controlplane"))
	for dir, least := range map[string]int{"": 50, "internal/dev": 80, "tools/autoscaler": 30, "tools/e2e": 100} {
		agree(t, requirements(t, filepath.Join(root, dir)), theirs, least)
	}
	// The workspace of internal/dev builds the newer one of two versions, and a release what the product's go.mod names.
	product := requirements(t, root)
	for _, dir := range []string{"internal/dev", "test/oracle", "test/chart", "test/ui"} {
		agree(t, requirements(t, filepath.Join(root, dir)), product, 60)
	}
}

// agree expects the same version of each module that both require, and at least this many of those.
func agree(t *testing.T, ours, theirs map[string]string, least int) {
	t.Helper()
	common := 0
	for module, version := range ours {
		other, both := theirs[module]
		if !both {
			continue
		}
		common++
		if version != other {
			t.Errorf("%s: %s in one go.mod, %s in the other", module, version, other)
		}
	}
	if common < least {
		t.Errorf("only %d common modules: this test no longer reads what it should", common)
	}
}

// requirements reads a go.mod's requirements, with replacements by version applied.
func requirements(t *testing.T, dir string) map[string]string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "mod", "edit", "-json")
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "GOWORK=off")
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	type module struct{ Path, Version string }
	var file struct {
		Require []module
		Replace []struct{ Old, New module }
	}
	if err := json.Unmarshal(out, &file); err != nil {
		t.Fatal(err)
	}
	versions := map[string]string{}
	for _, r := range file.Require {
		versions[r.Path] = r.Version
	}
	for _, r := range file.Replace {
		if _, required := versions[r.Old.Path]; required {
			versions[r.Old.Path] = r.New.Version
		}
	}
	return versions
}

func TestVersionsAreThePinnedOnes(t *testing.T) {
	root, err := build.Root()
	if err != nil {
		t.Fatal(err)
	}
	pinned := requirements(t, filepath.Join(root, "tools", "controlplane"))
	for module, version := range map[string]string{
		"k8s.io/kubernetes": build.KubernetesVersion, "sigs.k8s.io/kwok": build.KWOKVersion,
		"sigs.k8s.io/metrics-server": build.MetricsServerVersion,
	} {
		if pinned[module] != version {
			t.Errorf("%s is pinned at %s, this package says %s", module, pinned[module], version)
		}
	}
}

// A repository in small: one program, standing in for etcd, that compiles in a moment.
func smallRepository(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	dir := filepath.Join(root, "tools", "controlplane")
	for name, text := range map[string]string{
		"go.mod": "module small\n\ngo 1.26\n\nrequire go.etcd.io/etcd/server/v3 v3.0.0\n\nreplace " +
			"go.etcd.io/etcd/server/v3 => ./etcd\n",
		"go.sum":       "",
		"etcd/go.mod":  "module go.etcd.io/etcd/server/v3\n\ngo 1.26\n",
		"etcd/main.go": "package main\n\nfunc main() { println(\"etcd\") }\n",
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func TestBuildsOnceAndAgainOnlyWhenPinsChange(t *testing.T) {
	root := smallRepository(t)
	var out bytes.Buffer
	config := build.Config{Root: root, Parts: []string{"etcd"}, Out: &out}
	run := func() build.Result {
		t.Helper()
		result, err := build.Run(t.Context(), config)
		if err != nil {
			t.Fatal(err)
		}
		return result
	}
	first := run()
	if len(first.Built) != 1 || first.Profile.Programs != 1 || !strings.Contains(first.String(), "linking") {
		t.Errorf("first run: %s", first)
	}
	text, err := exec.CommandContext(t.Context(), filepath.Join(root, "bin", "etcd")).CombinedOutput()
	if err != nil || string(text) != "etcd\n" {
		t.Errorf("bin/etcd says %q, %v", text, err)
	}
	if second := run(); len(second.Built) > 0 {
		t.Errorf("second run built %v", second.Built)
	}
	pins := filepath.Join(root, "tools", "controlplane", "go.sum")
	if err := os.WriteFile(pins, []byte("\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if third := run(); len(third.Built) != 1 {
		t.Error("a change of the pins built nothing")
	}
	if err := os.WriteFile(filepath.Join(root, "bin", "etcd"), []byte("else"), 0o755); err != nil {
		t.Fatal(err)
	}
	if fourth := run(); len(fourth.Built) != 1 {
		t.Error("a replaced binary was kept")
	}
}

func TestCompilerErrorsAreShown(t *testing.T) {
	root := smallRepository(t)
	main := filepath.Join(root, "tools", "controlplane", "etcd", "main.go")
	if err := os.WriteFile(main, []byte("package main\n\nfunc main() { missing() }\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := build.Run(t.Context(), build.Config{Root: root, Parts: []string{"etcd"}})
	if err == nil || !strings.Contains(err.Error(), "undefined: missing") {
		t.Errorf("error does not quote the compiler: %v", err)
	}
	if _, err := os.Stat(filepath.Join(root, "bin", "etcd")); !os.IsNotExist(err) {
		t.Errorf("a binary is there: %v", err)
	}
}

// The repository's own stamp is small, and its test has a package of its own.
func TestCompileTestsNamesWhatItCompiles(t *testing.T) {
	var out bytes.Buffer
	config := build.Config{Out: &out, Terminal: true}
	const module = "github.com/plimsoll-dev/plimsoll/internal/dev/"
	if err := build.CompileTests(t.Context(), config, false, []string{module + "release/checksum"}); err != nil {
		t.Fatal(err)
	}
	err := build.CompileTests(t.Context(), config, false, []string{module + "nothing"})
	if err == nil || !strings.Contains(err.Error(), "internal/dev/nothing") {
		t.Errorf("a package that is not there: %v", err)
	}
}

func TestCancelledBuildEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := build.Run(ctx, build.Config{Root: smallRepository(t), Parts: []string{"etcd"}}); err == nil {
		t.Error("built although cancelled")
	}
}

// With other flags nothing is shared, without an error.
func TestMakefileBuildsWithTheSameFlags(t *testing.T) {
	root, err := build.Root()
	if err != nil {
		t.Fatal(err)
	}
	makefile, err := os.ReadFile(filepath.Join(root, "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(makefile), "\nBUILD_FLAGS := ")
	line, _, _ := strings.Cut(rest, "\n")
	// The linker's flags change no compiled package.
	want := slices.DeleteFunc(build.Flags(), func(flag string) bool { return strings.HasPrefix(flag, "-ldflags=") })
	if !slices.Equal(strings.Fields(line), want) {
		t.Errorf("BUILD_FLAGS in the Makefile is %q, want %q", line, want)
	}
}
