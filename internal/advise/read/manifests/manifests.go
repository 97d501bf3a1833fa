// Package manifests reads objects from files, folders and standard input, as
// kubectl does: YAML or JSON, several documents in a file, Lists. What cannot be
// read is recorded, and the rest is read.
package manifests

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"

	"github.com/plimsoll-dev/plimsoll/internal/advise/objects"
)

// What is read at most: of a file, and files of a folder.
const (
	maxBytes = 16 << 20
	maxFiles = 5000
)

var extensions = []string{".yaml", ".yml", ".json"}

// Collector takes the objects that are read.
type Collector interface {
	// Add takes an object.
	Add(raw map[string]any, place objects.Place)
	// LeaveOut takes why a part of a file cannot be read.
	LeaveOut(place objects.Place, err error)
}

var _ Collector = (*objects.Collection)(nil)

// Read reads what the paths name; - is standard input. Folders are read with all
// folders in them, of which files that end in .yaml, .yml or .json count.
func Read(paths []string, stdin io.Reader) (*objects.Collection, error) {
	c := &objects.Collection{}
	if err := ReadInto(c, paths, stdin); err != nil {
		return nil, err
	}
	return c, nil
}

// ReadInto is Read for a collector of the caller's.
func ReadInto(c Collector, paths []string, stdin io.Reader) error {
	for _, path := range paths {
		if path == "-" {
			Add(c, "standard input", stdin)
			continue
		}
		files, err := filesOf(path)
		if err != nil {
			return err
		}
		for _, file := range files {
			if err := addFile(c, file); err != nil {
				return err
			}
		}
	}
	return nil
}

// filesOf is the file itself, or those of a folder.
func filesOf(path string) ([]string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return []string{path}, nil
	}
	var files []string
	err = filepath.WalkDir(path, func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.Type().IsRegular() && slices.Contains(extensions, strings.ToLower(filepath.Ext(name))) {
			files = append(files, name)
		}
		if len(files) > maxFiles {
			return fmt.Errorf("%s: more than %d files", path, maxFiles)
		}
		return nil
	})
	return files, err
}

func addFile(c Collector, name string) error {
	file, err := os.Open(name)
	if err != nil {
		return err
	}
	defer file.Close()
	Add(c, name, file)
	return nil
}

// Add takes in the objects of one file. What cannot be read of it is kept in mind.
func Add(c Collector, name string, r io.Reader) {
	text, err := io.ReadAll(io.LimitReader(r, maxBytes+1))
	if err == nil && len(text) > maxBytes {
		err = fmt.Errorf("it has more than %d MiB", maxBytes>>20)
	}
	if err != nil {
		c.LeaveOut(objects.Place{File: name, Document: 1, Line: 1}, err)
		return
	}
	for n, document := range split(text) {
		place := objects.Place{File: name, Document: n + 1, Line: document.line}
		if err := addDocument(c, document.text, place); err != nil {
			c.LeaveOut(place, err)
		}
	}
}

func addDocument(c Collector, text []byte, place objects.Place) error {
	inJSON, err := yaml.YAMLToJSONStrict(text)
	if err != nil {
		// The parser counts lines: as if all that stands before were empty, they are those of the file.
		_, err = yaml.YAMLToJSONStrict(append(bytes.Repeat([]byte{'\n'}, place.Line-1), text...))
		return err
	}
	var content any
	if err := utiljson.Unmarshal(inJSON, &content); err != nil {
		return err
	}
	switch raw := content.(type) {
	case nil:
		return nil // only comments
	case map[string]any:
		addObject(c, raw, place.In(text))
		return nil
	case []any:
		if len(raw) > 0 && !slices.ContainsFunc(raw, isNoOperation) {
			return nil // a JSON patch, as overlays have them
		}
	}
	return errors.New("it is not an object")
}

func isNoOperation(item any) bool {
	operation, _ := item.(map[string]any)
	_, hasOp := operation["op"].(string)
	_, hasPath := operation["path"].(string)
	return !hasOp || !hasPath
}

func addObject(c Collector, raw map[string]any, place objects.Place) {
	kind, _ := raw["kind"].(string)
	items, isList := raw["items"].([]any)
	if !isList || !strings.HasSuffix(kind, "List") {
		c.Add(raw, place)
		return
	}
	for i, item := range items {
		inner, ok := item.(map[string]any)
		if !ok {
			c.LeaveOut(place, fmt.Errorf("item %d of the %s is not an object", i, kind))
			continue
		}
		c.Add(inner, place)
	}
}

// document is one of a file.
type document struct {
	text []byte
	line int
}

// split finds the documents of a file, without those that are empty.
func split(text []byte) []document {
	var all []document
	var current document
	flush := func() {
		if len(bytes.TrimSpace(current.text)) > 0 {
			all = append(all, current)
		}
	}
	lines := bufio.NewScanner(bytes.NewReader(text))
	lines.Buffer(nil, maxBytes+1)
	for n := 1; lines.Scan(); n++ {
		line := lines.Bytes()
		if bytes.Equal(bytes.TrimRight(line, " \t\r"), []byte("---")) || bytes.HasPrefix(line, []byte("--- #")) {
			flush()
			current = document{line: n + 1}
			continue
		}
		if len(bytes.TrimSpace(current.text)) == 0 {
			// Lines are counted from the first that is not empty.
			current.line, current.text = n, nil
		}
		current.text = append(append(current.text, line...), '\n')
	}
	flush()
	return all
}
