package architecture

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// modulePath is the path of the module whose walls these are.
const modulePath = "github.com/plimsoll-dev/plimsoll"

// Package is what the rules need to know about a package, as `go list -json` prints it.
type Package struct {
	ImportPath   string
	Name         string
	Imports      []string // by its own files, without tests
	TestImports  []string // by its tests in the same package
	XTestImports []string // by its tests in the package with _test
	Deps         []string // everything that Imports reach
}

// local returns the path below the module, and whether the package belongs to the module.
func local(importPath string) (string, bool) {
	if importPath == modulePath {
		return "", true
	}
	return strings.CutPrefix(importPath, modulePath+"/")
}

// development is the folder of the module of what only develops. It is in a workspace with the product's.
const development = "internal/dev"

// allPackages are those of the product, and those that only develop it.
func allPackages(ctx context.Context, root string) ([]Package, error) {
	product, err := listPackages(ctx, root, "./...")
	if err != nil {
		return nil, err
	}
	developing, err := listPackages(ctx, filepath.Join(root, development), "./...")
	return append(product, developing...), err
}

// listPackages asks the go command for the packages that the patterns name.
func listPackages(ctx context.Context, root string, patterns ...string) ([]Package, error) {
	arguments := append([]string{"list", "-json=ImportPath,Name,Imports,TestImports,XTestImports,Deps"}, patterns...)
	var stderr bytes.Buffer
	command := exec.CommandContext(ctx, "go", arguments...)
	// Without GOWORK the folder alone decides in which module or workspace packages are found.
	command.Dir, command.Env = root, append(os.Environ(), "GOWORK=")
	command.Stderr = &stderr
	out, err := command.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w: %s", err, stderr.String())
	}
	var packages []Package
	decoder := json.NewDecoder(bytes.NewReader(out))
	for {
		var p Package
		err := decoder.Decode(&p)
		if errors.Is(err, io.EOF) {
			return packages, nil
		}
		if err != nil {
			return nil, fmt.Errorf("decode go list: %w", err)
		}
		packages = append(packages, p)
	}
}
