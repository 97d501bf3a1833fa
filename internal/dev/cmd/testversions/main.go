// Command testversions is the part of `make test-versions` beside the go command: the tests that cannot pass on a
// version of Kubernetes, and a table of the tests' outcomes on each. It uses the standard library alone, so that it is
// built within a second.
package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/plimsoll-dev/plimsoll/internal/dev/devcluster/build"
)

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "testversions:", err)
		os.Exit(1)
	}
}

// folder has the output of `go test -json` of each version: v1.32.json and so on.
const folder = "dist/versions"

var errUsage = errors.New("usage: testversions skip VERSION, or testversions table VERSIONS")

func run(args []string, out io.Writer) error {
	if len(args) < 2 {
		return errUsage
	}
	root, err := build.Root()
	if err != nil {
		return err
	}
	switch versions := args[1:]; args[0] {
	case "skip":
		pattern, err := skipPattern(versions[0])
		if err != nil {
			return err
		}
		_, err = fmt.Fprintln(out, pattern)
		return err
	case "table":
		return table(root, versions, out)
	}
	return errUsage
}

// table prints how the tests ended on the versions. It is an error if not all of them passed on each.
func table(root string, versions []string, out io.Writer) error {
	var outcomes []outcome
	for _, version := range versions {
		o, err := read(filepath.Join(root, folder, "v"+version+".json"))
		if err != nil {
			return err
		}
		if o.release, err = build.PinnedVersion(root, version); err != nil {
			return err
		}
		if o.skipped, err = skippedOn(version); err != nil {
			return err
		}
		outcomes = append(outcomes, o)
	}
	return show(outcomes, out)
}
