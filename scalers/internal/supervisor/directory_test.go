package supervisor

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

func TestDirectory(t *testing.T) {
	parent := t.TempDir()
	// A program that was killed left this.
	killed := filepath.Join(parent, directoryPrefix+"1")
	if err := os.MkdirAll(filepath.Join(killed, "cassandra-1"), 0o700); err != nil {
		t.Fatal(err)
	}
	other := filepath.Join(parent, "other")
	if err := os.Mkdir(other, 0o700); err != nil {
		t.Fatal(err)
	}
	first, remove, err := Directory(parent)
	if err != nil {
		t.Fatal(err)
	}
	second, removeSecond, err := Directory(parent)
	if err != nil {
		t.Fatal(err)
	}
	for path, exists := range map[string]bool{killed: false, other: true, first: true, second: true} {
		if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) == exists {
			t.Errorf("%s exists: %v, want %v", path, !exists, exists)
		}
	}
	for _, err := range []error{remove(), removeSecond()} {
		if err != nil {
			t.Error(err)
		}
	}
	if _, err := os.Stat(first); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("it is still there: %v", err)
	}
}
