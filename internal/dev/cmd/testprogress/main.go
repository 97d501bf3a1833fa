// Command testprogress shows what `go test -json` reports: a line for each test as it ends, and the whole output of
// those that fail. The output of all tests goes to a file, one package after the other. Packages may run at the
// same time. gotestsum has a line for each package, so that minutes pass without one, or for each subtest, and its file
// is the JSON itself.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"strings"
)

func main() {
	if err := run(os.Args[1:], os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "testprogress:", err)
		os.Exit(1)
	}
}

func run(args []string, in io.Reader, out io.Writer) (err error) {
	if len(args) != 1 {
		return errors.New("usage: go test -json ... | testprogress FILE")
	}
	log, err := os.Create(args[0])
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, log.Close()) }()
	return show(in, out, log)
}

// event is a line of `go test -json`; `go doc test2json` describes its fields.
type event struct {
	Action  string
	Package string
	Test    string
	Elapsed float64
	Output  string
}

// tests is the output of a package that runs: of each test by its name without subtests, and under "" what belongs
// to none.
type tests struct {
	all    strings.Builder
	output map[string]*strings.Builder
}

func show(in io.Reader, out, log io.Writer) error {
	running := map[string]*tests{}
	for lines := json.NewDecoder(in); ; {
		var e event
		if err := lines.Decode(&e); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("output of go test -json: %w", err)
		}
		// The output of a compiler belongs to no running package.
		if e.Action == "build-output" {
			if _, err := io.WriteString(io.MultiWriter(out, log), e.Output); err != nil {
				return err
			}
		}
		if e.Package == "" {
			continue
		}
		p := running[e.Package]
		if p == nil {
			p = &tests{output: map[string]*strings.Builder{}}
			running[e.Package] = p
		}
		if err := p.add(e, out); err != nil {
			return err
		}
		if e.Test == "" && isEnd(e.Action) {
			if _, err := io.WriteString(log, p.all.String()); err != nil {
				return err
			}
			delete(running, e.Package)
		}
	}
}

func isEnd(action string) bool { return action == "pass" || action == "fail" || action == "skip" }

// add adds an event of the package, and prints it for the user.
func (p *tests) add(e event, out io.Writer) error {
	test, _, isSubtest := strings.Cut(e.Test, "/")
	switch {
	case e.Action == "output":
		p.write(test, e.Output)
		return nil
	case !isEnd(e.Action) || isSubtest:
		return nil
	case test == "":
		return p.end(e, out)
	}
	text := fmt.Sprintf("--- %s: %s (%.2fs) %s\n", strings.ToUpper(e.Action), test, e.Elapsed, path.Base(e.Package))
	if e.Action == "fail" {
		text += p.output[test].String()
	}
	delete(p.output, test)
	_, err := io.WriteString(out, text)
	return err
}

func (p *tests) write(test, output string) {
	p.all.WriteString(output)
	if p.output[test] == nil {
		p.output[test] = &strings.Builder{}
	}
	p.output[test].WriteString(output)
}

// end shows how the package ended. What is left of a package that failed is of tests that never ended, and of none.
func (p *tests) end(e event, out io.Writer) error {
	result := map[string]string{"pass": "ok", "fail": "FAIL", "skip": "?"}[e.Action]
	text := fmt.Sprintf("%-4s %s %.1fs\n", result, e.Package, e.Elapsed)
	if e.Action == "fail" {
		for _, output := range p.output {
			text = output.String() + text
		}
	}
	_, err := io.WriteString(out, text)
	return err
}
