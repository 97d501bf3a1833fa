package architecture

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"strconv"
	"strings"
)

// file is one parsed Go file of the repository.
type file struct {
	path   string // below the repository, with slashes
	set    *token.FileSet
	syntax *ast.File
	lines  int // that are not blank
}

func (f file) isTest() bool { return strings.HasSuffix(f.path, "_test.go") }

// isForTests reports whether the file is a test, or only there for tests: below a folder test, or in a package like
// net/http/httptest.
func (f file) isForTests() bool {
	return f.isTest() || f.isBelow("test") || f.isBelow(development+"/test") || strings.HasSuffix(path.Dir(f.path), "test")
}

func (f file) isBelow(dir string) bool { return strings.HasPrefix(f.path, dir+"/") }

// at names a place in the file, as compilers do.
func (f file) at(pos token.Pos) string {
	return fmt.Sprintf("%s:%d", f.path, f.set.Position(pos).Line)
}

// importName returns the name that the file knows an imported package by, and "" when it does not import it.
func (f file) importName(importPath string) string {
	for _, spec := range f.syntax.Imports {
		if found, err := strconv.Unquote(spec.Path.Value); err != nil || found != importPath {
			continue
		}
		if spec.Name != nil {
			return spec.Name.Name
		}
		return packageName(importPath)
	}
	return ""
}

// packageName is what a package is called by convention: the last part of its path that is no version.
func packageName(importPath string) string {
	dir, last := path.Split(importPath)
	if isVersion := strings.Trim(last, "v0123456789") == "" && len(last) > 1 && last[0] == 'v'; isVersion && dir != "" {
		if parent := path.Base(dir); !strings.HasPrefix(importPath, "k8s.io/") || parent == "klog" {
			return parent
		}
	}
	return last
}

// skippedDirs have no source of ours.
var skippedDirs = map[string]bool{".git": true, "bin": true, "dist": true, "testdata": true}

// readSource parses every Go file of the tree, those of nested modules and of other platforms too.
func readSource(tree fs.FS) ([]file, error) {
	var files []file
	err := fs.WalkDir(tree, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && skippedDirs[entry.Name()] {
			return fs.SkipDir
		}
		if entry.IsDir() || path.Ext(name) != ".go" {
			return nil
		}
		f, err := readFile(tree, name)
		if err != nil {
			return err
		}
		files = append(files, f)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read the tree: %w", err)
	}
	return files, nil
}

func readFile(tree fs.FS, name string) (file, error) {
	content, err := fs.ReadFile(tree, name)
	if err != nil {
		return file{}, fmt.Errorf("read: %w", err)
	}
	set := token.NewFileSet()
	syntax, err := parser.ParseFile(set, name, content, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return file{}, fmt.Errorf("parse: %w", err)
	}
	f := file{path: name, set: set, syntax: syntax}
	for line := range bytes.Lines(content) {
		if len(bytes.TrimSpace(line)) > 0 {
			f.lines++
		}
	}
	return f, nil
}
