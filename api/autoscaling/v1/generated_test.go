package v1

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Generated files are compared by sums, so that a test does not need the generator.
func TestGeneratedFilesAreFresh(t *testing.T) {
	const root = "../../.."
	recorded := map[string]string{}
	sums, err := os.ReadFile(filepath.Join(root, "api", "generated.sum"))
	if err != nil {
		t.Fatal(err)
	}
	for lines := bufio.NewScanner(bytes.NewReader(sums)); lines.Scan(); {
		sum, name, _ := strings.Cut(lines.Text(), "  ")
		recorded[name] = sum
	}
	found := 0
	for _, pattern := range []string{"api/*/*/*.go", "config/crd/*.yaml", "config/crd/plimsoll/*.yaml",
		"internal/collect/externalscaler/pb/*", "tools/codegen/go.mod", "tools/codegen/*/*.go"} {
		names, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil || len(names) == 0 {
			t.Fatalf("%s: %d files, %v", pattern, len(names), err)
		}
		for _, name := range names {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			content, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			found++
			sum := sha256.Sum256(content)
			relative, _ := filepath.Rel(root, name)
			if hex.EncodeToString(sum[:]) != recorded[filepath.ToSlash(relative)] {
				t.Errorf("%s is not what was last generated from or written: run make generate", relative)
			}
		}
	}
	if found != len(recorded) {
		t.Errorf("%d files are there, %d were recorded: run make generate", found, len(recorded))
	}
}
