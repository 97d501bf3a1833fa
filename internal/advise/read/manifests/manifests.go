// Package manifests reads objects from files, folders and standard input, as
// kubectl does: YAML or JSON, several documents in a file, Lists. What cannot be
// read is recorded, and the rest is read.
package manifests

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/plimsoll-dev/plimsoll/internal/advise/objects"
)

// What is read at most: of a file, and files of a folder.
const (
	maxBytes = 16 << 20
	maxFiles = 5000
)

// standardInput is the place of what has no file.
const standardInput = "standard input"

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
			Add(c, standardInput, stdin)
			continue
		}
		files, err := filesOf(path)
		if err != nil {
			return err
		}
		for _, file := range files {
			err := addFile(c, file)
			if err != nil && file == path {
				return err
			} else if err != nil {
				c.LeaveOut(objects.Place{File: file, Document: 1, Line: 1}, err)
			}
		}
	}
	return nil
}

// filesOf is the file itself, or those of a folder, of which there must be one.
func filesOf(path string) ([]string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return []string{path}, nil
	}
	var files []string
	// With the separator a link to a folder is that folder.
	err = filepath.WalkDir(path+string(filepath.Separator), func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if slices.Contains(extensions, strings.ToLower(filepath.Ext(name))) && isFile(path, name, entry) {
			files = append(files, name)
		}
		if len(files) > maxFiles {
			return fmt.Errorf("%s: more than %d files", path, maxFiles)
		}
		return nil
	})
	if err == nil && len(files) == 0 {
		err = fmt.Errorf("%s: no file in it ends in %s", path, strings.Join(extensions, ", "))
	}
	return files, err
}

// isFile reports whether an entry of a folder is a file, or a link to one that is not in the folder itself, where it is
// read.
func isFile(folder, name string, entry fs.DirEntry) bool {
	if entry.Type()&fs.ModeSymlink == 0 {
		return entry.Type().IsRegular()
	}
	to, err := filepath.EvalSymlinks(name)
	if err != nil {
		return true // Opening it says why.
	}
	root, err := filepath.EvalSymlinks(folder)
	if err != nil {
		return true
	}
	inner, err := filepath.Rel(root, to)
	info, statErr := os.Stat(to)
	return statErr == nil && info.Mode().IsRegular() && (err != nil || !filepath.IsLocal(inner))
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

// Add adds the objects of one file. What cannot be read of it is kept in mind.
func Add(c Collector, name string, r io.Reader) {
	text, err := io.ReadAll(io.LimitReader(r, maxBytes+1))
	if err == nil && len(text) > maxBytes {
		err = fmt.Errorf("it has more than %d MiB", maxBytes>>20)
	}
	if err != nil {
		c.LeaveOut(objects.Place{File: name, Document: 1, Line: 1}, err)
		return
	}
	documents := split(text)
	isWhole := len(documents) == 1 && name != standardInput
	for n, document := range documents {
		addDocument(c, document.text, objects.Place{
			File: name, Document: n + 1, Line: document.line, IsWholeFile: isWhole,
		})
	}
}
