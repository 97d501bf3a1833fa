//go:build keda

package keda

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plimsoll-dev/plimsoll/internal/dev/devcluster/build"
	"github.com/plimsoll-dev/plimsoll/internal/scaledobject"
)

// TestTriggerTypes compares the known types of triggers with those of the KEDA that is built here.
func TestTriggerTypes(t *testing.T) {
	root, err := build.Root()
	if err != nil {
		t.Fatal(err)
	}
	list := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Version}} {{.Dir}}", "github.com/kedacore/keda/v2")
	list.Dir, list.Env = filepath.Join(root, "tools", "keda"), append(os.Environ(), "GOWORK=off")
	out, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	version, folder, _ := strings.Cut(strings.TrimSpace(string(out)), " ")
	source, err := os.ReadFile(filepath.Join(folder, "pkg", "scaling", "scalers_builder.go"))
	if err != nil {
		t.Fatal(err)
	}
	var types []string
	for _, found := range regexp.MustCompile(`(?m)^\tcase "(.*)":$`).FindAllStringSubmatch(string(source), -1) {
		types = append(types, found[1])
	}
	slices.Sort(types)
	if diff := cmp.Diff(types, scaledobject.Types); diff != "" {
		t.Errorf("types of KEDA %s (-KEDA +known):\n%s", version, diff)
	}
	if version != "v"+scaledobject.Version {
		t.Errorf("KEDA %s, the types are those of %s", version, scaledobject.Version)
	}
}
