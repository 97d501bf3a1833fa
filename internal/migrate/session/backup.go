package session

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/plimsoll-dev/plimsoll/internal/migrate/convert"
)

// maxFiles bounds the files of one object.
const maxFiles = 1000

// Backups has the manifests of replaced objects, in files of a folder. Only these prove that an object existed: every
// user who may change a WorkloadAutoscaler can write its annotation.
type Backups struct {
	// Folder is the folder of the files.
	Folder string

	// mu is held while a file name is chosen: two objects may lead to the same name.
	mu sync.Mutex
}

// Name returns that of the object's n-th file, from 0.
func (b *Backups) Name(manifest *unstructured.Unstructured, n int) string {
	kind := "hpa"
	if manifest.GetKind() != hpaKind {
		kind = "scaledobject"
	}
	base := filepath.Join(b.Folder, manifest.GetNamespace()+"-"+manifest.GetName())
	if n > 0 {
		return fmt.Sprintf("%s.%d.%s.yaml", base, n, kind)
	}
	return base + "." + kind + ".yaml"
}

// Keep writes a manifest to a new file, and returns its name. It never overwrites a file.
func (b *Backups) Keep(manifest *unstructured.Unstructured) (string, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	text, err := yaml.Marshal(manifest.Object)
	if err != nil {
		return "", err
	}
	for n := range maxFiles {
		name := b.Name(manifest, n)
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
	return "", fmt.Errorf("%s: there are %d such files", b.Name(manifest, 0), maxFiles)
}

// Has reports whether one of the object's files has the manifest, in any format.
func (b *Backups) Has(manifest *unstructured.Unstructured) bool {
	for n := range maxFiles {
		text, err := os.ReadFile(b.Name(manifest, n))
		if err != nil {
			return false
		}
		kept := &unstructured.Unstructured{}
		if text, err = yaml.YAMLToJSON(text); err == nil {
			err = kept.UnmarshalJSON(text)
		}
		if err == nil && equality.Semantic.DeepEqual(convert.Manifest(kept).Object, manifest.Object) {
			return true
		}
	}
	return false
}

// write writes a file atomically.
func write(name string, text []byte) error {
	file, err := os.CreateTemp(filepath.Dir(name), ".plimsoll-*")
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(file.Name()) }() // After success it no longer exists.
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
