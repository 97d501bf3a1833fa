package release

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/plimsoll-dev/plimsoll/internal/dev/release/notices"
)

// linked lists the packages that are linked into the program on any platform, those of others and Go's own. An archive
// does not depend on which others are built beside it.
func (r *run) linked(ctx context.Context) ([]notices.Package, error) {
	var found []notices.Package
	seen := map[string]bool{}
	list := []string{"list", "-deps", "-json=ImportPath,Dir,Root,Goroot,Module", mainPackage}
	for _, platform := range Platforms() {
		out, err := r.goCommand(ctx, platform, list)
		if err != nil {
			return nil, err
		}
		listed, err := readList(out)
		if err != nil {
			return nil, err
		}
		for i := range listed {
			p, isOthers, err := listed[i].linked()
			if err != nil {
				return nil, err
			}
			if isOthers && !seen[listed[i].ImportPath] {
				seen[listed[i].ImportPath] = true
				found = append(found, p)
			}
		}
	}
	return found, nil
}

// listed is a package as go list prints it.
type listed struct {
	ImportPath, Dir string
	// Root is Go's own folder, for packages of Go.
	Root   string
	Goroot bool
	Module *listedModule
}

type listedModule struct {
	Path, Version, Dir string
	Main               bool
	// Replace is the module that is built instead.
	Replace *listedModule
}

func readList(text []byte) ([]listed, error) {
	var all []listed
	for decoder := json.NewDecoder(bytes.NewReader(text)); ; {
		var one listed
		err := decoder.Decode(&one)
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return nil, fmt.Errorf("go list: %w", err)
		}
		all = append(all, one)
	}
}

// linked is the package as one of others, if it is one.
func (l *listed) linked() (p notices.Package, isOthers bool, err error) {
	m := l.Module
	switch {
	case l.ImportPath == "unsafe": // the compiler's
		return p, false, nil
	case l.Goroot:
		return notices.Package{Module: "the Go standard library", ModuleDir: l.Root, Dir: l.Dir}, true, nil
	case m == nil || l.Dir == "":
		return p, false, fmt.Errorf("go list: %s is in no module", l.ImportPath)
	case m.Main:
		return p, false, nil
	case m.Replace != nil:
		m = m.Replace
	}
	return notices.Package{Module: m.Path + " " + m.Version, ModuleDir: m.Dir, Dir: l.Dir}, true, nil
}
