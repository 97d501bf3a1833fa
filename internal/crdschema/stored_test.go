package crdschema

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// TestStoredObjectsAreStillAccepted: what some release has stored stays valid, and keeps all its fields, under the
// definitions of this commit. testdata/stored/README.md says what is there, and what may change.
func TestStoredObjectsAreStillAccepted(t *testing.T) {
	files, err := filepath.Glob("testdata/stored/*/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, file := range files {
		t.Run(filepath.ToSlash(file), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, document := range bytes.Split(text, []byte("\n---\n")) {
				checkStored(t, document)
			}
		})
	}
}

func checkStored(t *testing.T, document []byte) {
	t.Helper()
	object := decode(t, document)
	open, ok := definitions[object["apiVersion"].(string)+" "+object["kind"].(string)]
	if !ok {
		t.Fatalf("there is no definition of it:\n%s", document)
	}
	d, err := open()
	if err != nil {
		t.Fatal(err)
	}
	// With the status, if there is one.
	if dropped := d.complete(object); len(dropped) > 0 {
		t.Errorf("%v would be lost of:\n%s", dropped, document)
	}
	if errs := d.validate(t.Context(), object); len(errs) > 0 {
		t.Errorf("%v:\n%s", errs, document)
	}
}
