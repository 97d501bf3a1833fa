package tutorial

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// A step is a block of commands of the page, and what the page shows as their output; empty if it shows none.
type step struct {
	line     int
	commands string
	output   string
	// isExact has the output compared as it is. Otherwise numbers and times may differ.
	isExact bool
}

const (
	commandBlock = "sh"
	outputBlock  = "text"
	exactBlock   = "text exact"
)

// readPage reads the blocks of a page. A block of another language than these is an error: nothing would run it.
func readPage(t *testing.T, path string) []step {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	steps, err := stepsOf(string(text))
	if err != nil {
		t.Fatalf("%s: %v", filepath.Base(path), err)
	}
	return steps
}

func stepsOf(text string) ([]step, error) {
	var steps []step
	lines := strings.Split(text, "\n")
	for at := 0; at < len(lines); at++ {
		language, isFence := strings.CutPrefix(lines[at], "```")
		if !isFence {
			if strings.HasPrefix(lines[at], "    ") {
				return nil, fmt.Errorf("line %d: a block without a language, which no test runs", at+1)
			}
			continue
		}
		length := slices.Index(lines[at+1:], "```")
		if length < 0 {
			return nil, fmt.Errorf("line %d: the block has no end", at+1)
		}
		block := strings.Join(lines[at+1:at+1+length], "\n")
		switch {
		case language == commandBlock:
			steps = append(steps, step{line: at + 1, commands: block})
		case len(steps) == 0 || steps[len(steps)-1].output != "":
			return nil, fmt.Errorf("line %d: an output without commands", at+1)
		case language == outputBlock || language == exactBlock:
			last := &steps[len(steps)-1]
			last.output, last.isExact = block, language == exactBlock
		default:
			return nil, fmt.Errorf("line %d: a block of language %q", at+1, language)
		}
		at += length + 1
	}
	return steps, nil
}

// omitted stands for any number of lines in an output on the page.
const omitted = "..."

// number is all of a word from its first digit on: numbers, times, versions, generated names.
var number = regexp.MustCompile(`\d\S*`)

// linesOf are the lines that are compared: without blank ones and, unless the output is exact, without the width of
// columns and the digits of numbers.
func linesOf(text string, isExact bool) []string {
	var lines []string
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, " \n")
		if !isExact {
			line = number.ReplaceAllString(strings.Join(strings.Fields(line), " "), "#")
		}
		if line != "" {
			lines = append(lines, line)
		}
	}
	return lines
}

// differs returns the first part of the output on the page that was not printed. Consecutive lines on the page must be
// consecutive in the output; where the page has "...", any lines may be between.
func (s step) differs(printed string) error {
	have := linesOf(printed, s.isExact)
	var run []string
	for _, line := range append(linesOf(s.output, s.isExact), omitted) {
		if line != omitted {
			run = append(run, line)
			continue
		}
		at := indexOf(have, run)
		if at < 0 {
			return fmt.Errorf("not printed:\n%s", strings.Join(run, "\n"))
		}
		have, run = have[at+len(run):], nil
	}
	return nil
}

// indexOf returns the index at which the lines of run first occur together in lines; -1 if they do not.
func indexOf(lines, run []string) int {
	for at := 0; at+len(run) <= len(lines); at++ {
		if slices.Equal(lines[at:at+len(run)], run) {
			return at
		}
	}
	return -1
}

func TestSteps(t *testing.T) {
	t.Parallel()
	steps, err := stepsOf("a\n```sh\nls\n```\nb\n```text exact\nfile\n```\n```sh\npwd\n```\n")
	want := []step{{line: 2, commands: "ls", output: "file", isExact: true}, {line: 9, commands: "pwd"}}
	if err != nil || !slices.Equal(steps, want) {
		t.Errorf("%+v, %v; want %+v", steps, err, want)
	}
	for name, text := range map[string]string{
		"output without commands": "```text\nfile\n```\n",
		"a second output":         "```sh\nls\n```\n```text\na\n```\n```text\nb\n```\n",
		"another language":        "```sh\nls\n```\n```yaml\na\n```\n",
		"a block that is not run": "a\n\n    ls\n",
		"no end":                  "```sh\nls\n",
	} {
		if steps, err := stepsOf(text); err == nil {
			t.Errorf("%s: %+v", name, steps)
		}
	}
}

func TestDiffers(t *testing.T) {
	t.Parallel()
	const printed = "NAME   AGE\nweb    3s\nworker 12s\n\nend of 3 things\n"
	for name, tt := range map[string]struct {
		step    step
		differs bool
	}{
		"other numbers and widths":     {step{output: "NAME AGE\nweb 44s"}, false},
		"lines left out":               {step{output: "NAME AGE\n...\nend of 12 things"}, false},
		"lines left out without a dot": {step{output: "NAME AGE\nworker 12s"}, true},
		"another order":                {step{output: "worker 12s\n...\nweb 3s"}, true},
		"another word":                 {step{output: "webs 3s"}, true},
		"exact":                        {step{output: "web    3s\n...\nend of 3 things", isExact: true}, false},
		"another number where exact":   {step{output: "web    4s", isExact: true}, true},
	} {
		if err := tt.step.differs(printed); (err != nil) != tt.differs {
			t.Errorf("%s: %v", name, err)
		}
	}
}
