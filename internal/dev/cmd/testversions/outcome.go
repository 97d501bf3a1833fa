package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"text/tabwriter"
)

// outcome has the results of the tests on one version of Kubernetes.
type outcome struct {
	// release is the version that was run, such as v1.32.13.
	release string
	passed  int
	// failed are tests, and packages that ended without a test that failed.
	failed []string
	// skipped are those that were left out, of the packages that ran.
	skipped []skipped
	// packages are those that ran.
	packages map[string]*ending
}

// ending is the result of a package.
type ending struct{ hasEnded, hasFailedTest bool }

// event is a line of `go test -json`; `go doc test2json` describes its fields.
type event struct{ Action, Package, Test string }

// read reads the output of `go test -json`. The file of a version that could not be built is missing.
func read(file string) (outcome, error) {
	in, err := os.Open(file)
	if errors.Is(err, os.ErrNotExist) {
		return outcome{failed: []string{"nothing ran: the control plane was not built"}}, nil
	}
	if err != nil {
		return outcome{}, err
	}
	defer in.Close()
	o, err := count(in)
	if err != nil {
		return o, fmt.Errorf("%s: %w", file, err)
	}
	return o, nil
}

func count(in io.Reader) (outcome, error) {
	o := outcome{packages: map[string]*ending{}}
	for lines := json.NewDecoder(in); ; {
		var e event
		err := lines.Decode(&e)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return o, err
		}
		if e.Package != "" {
			o.add(e)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(o.packages)) {
		if !o.packages[name].hasEnded {
			o.failed = append(o.failed, "package "+name+", which did not end")
		}
	}
	if len(o.packages) == 0 {
		o.failed = append(o.failed, "nothing ran")
	}
	return o, nil
}

// add counts whole tests; their subtests are parts of them.
func (o *outcome) add(e event) {
	p := o.packages[e.Package]
	if p == nil {
		p = &ending{}
		o.packages[e.Package] = p
	}
	if e.Test == "" {
		o.end(p, e)
		return
	}
	if strings.Contains(e.Test, "/") {
		return
	}
	switch name := e.Test + " in " + e.Package; e.Action {
	case "pass":
		o.passed++
	case "fail":
		p.hasFailedTest = true
		o.failed = append(o.failed, name)
	case "skip":
		o.failed = append(o.failed, name+", which skipped itself")
	}
}

func (o *outcome) end(p *ending, e event) {
	p.hasEnded = p.hasEnded || isEnd(e.Action)
	if e.Action == "fail" && !p.hasFailedTest {
		o.failed = append(o.failed, "package "+e.Package)
	}
}

func isEnd(action string) bool { return action == "pass" || action == "fail" || action == "skip" }

// leftOut are the tests that were skipped of the packages that ran.
func (o *outcome) leftOut() []skipped {
	return slices.DeleteFunc(slices.Clone(o.skipped), func(s skipped) bool {
		for p := range o.packages {
			if strings.HasSuffix(p, "/"+s.Package) {
				return false
			}
		}
		return true
	})
}

func show(outcomes []outcome, out io.Writer) error {
	text := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(text, "KUBERNETES\tPASSED\tFAILED\tSKIPPED")
	failed := 0
	for i := range outcomes {
		o := &outcomes[i]
		failed += len(o.failed)
		fmt.Fprintf(text, "%s\t%d\t%d\t%d\n", o.release, o.passed, len(o.failed), len(o.leftOut()))
	}
	if err := text.Flush(); err != nil {
		return err
	}
	for i := range outcomes {
		o := &outcomes[i]
		for _, name := range o.failed {
			fmt.Fprintf(out, "%s: failed: %s\n", o.release, name)
		}
		for _, s := range o.leftOut() {
			fmt.Fprintf(out, "%s: skipped: %s in %s: %s\n", o.release, s.Test, path.Join("integration", s.Package), s.Why)
		}
	}
	if failed > 0 {
		return fmt.Errorf("%d tests failed; the output of all is in %s", failed, folder)
	}
	return nil
}
