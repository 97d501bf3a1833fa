package session

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// maxFiles bounds the files of one HPA.
const maxFiles = 1000

// Backup writes manifests to new files of the folder, and returns their names. A file
// with the same content stays, and one with another content too.
func Backup(folder string) func(*unstructured.Unstructured) (string, error) {
	// Two names may have the same file.
	var mu sync.Mutex
	return func(manifest *unstructured.Unstructured) (string, error) {
		mu.Lock()
		defer mu.Unlock()
		text, err := yaml.Marshal(manifest.Object)
		if err != nil {
			return "", err
		}
		base := filepath.Join(folder, manifest.GetNamespace()+"-"+manifest.GetName())
		for n := range maxFiles {
			name := base + ".hpa.yaml"
			if n > 0 {
				name = fmt.Sprintf("%s.%d.hpa.yaml", base, n)
			}
			before, err := os.ReadFile(name)
			switch {
			case err == nil && bytes.Equal(before, text):
				return name, nil
			case os.IsNotExist(err):
				return name, write(name, text)
			case err != nil:
				return "", err
			}
		}
		return "", fmt.Errorf("%s.hpa.yaml: there are %d such files", base, maxFiles)
	}
}

// write writes a file that is there whole, or not at all.
func write(name string, text []byte) error {
	file, err := os.CreateTemp(filepath.Dir(name), ".plimsoll-*")
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(file.Name()) }() // It is not there any more if all went well.
	if _, err = file.Write(text); err == nil {
		err = file.Sync()
	}
	if closed := file.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return err
	}
	return os.Rename(file.Name(), name)
}
