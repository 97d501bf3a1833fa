package main

import (
	"bytes"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/plimsoll-dev/plimsoll/cmd/plimsoll/internal/flags"
	"github.com/plimsoll-dev/plimsoll/cmd/plimsoll/internal/usage"
	"github.com/plimsoll-dev/plimsoll/internal/cmderror"
)

// isDocumented reports whether help shows the command.
func isDocumented(cmd *cobra.Command) bool { return !cmd.Hidden }

// TestHelp: each command says in a sentence what it does, then when to use it, then by examples.
func TestHelp(t *testing.T) {
	root := rootCommand()
	count := 0
	usage.Walk(root, func(cmd *cobra.Command) {
		if !isDocumented(cmd) {
			return
		}
		count++
		paragraphs := strings.Split(cmd.Long, "\n\n")
		first := paragraphs[0]
		switch {
		case len(paragraphs) < 2:
			t.Errorf("%s: it does not say when to use it", cmd.CommandPath())
		case strings.Count(first, ". ")+strings.Count(first, ".\n") > 0 || !strings.HasSuffix(first, "."):
			t.Errorf("%s: %q is not one sentence", cmd.CommandPath(), first)
		case !strings.HasPrefix(paragraphs[1], "Use "):
			t.Errorf("%s: %q does not say when to use it", cmd.CommandPath(), paragraphs[1])
		}
		if cmd.HasParent() && cmd.Parent() == root && cmd.GroupID == "" {
			t.Errorf("%s is in no group of commands", cmd.CommandPath())
		}
		for line := range strings.SplitSeq(cmd.Long+"\n"+cmd.Example, "\n") {
			if len(line) > 130 {
				t.Errorf("%s: a line of %d columns: %s", cmd.CommandPath(), len(line), line)
			}
		}
	})
	if count < 17 {
		t.Errorf("%d commands", count)
	}
}

// TestExamples: the examples of help name flags and arguments that are there.
func TestExamples(t *testing.T) {
	usage.Walk(rootCommand(), func(cmd *cobra.Command) {
		if !isDocumented(cmd) {
			return
		}
		own := 0
		for _, line := range commandLines(cmd.Example) {
			// Each line is parsed by a command of its own: flags remember.
			if strings.HasPrefix(parseExample(t, rootCommand(), line), cmd.CommandPath()) {
				own++
			}
		}
		if own == 0 {
			t.Errorf("%s: no example is of this command", cmd.CommandPath())
		}
	})
}

var (
	continuation = regexp.MustCompile(`\\\n\s*`)
	// called is plimsoll with its arguments: at the beginning, after a pipe, or in the parentheses of a shell.
	called = regexp.MustCompile(`(?m)(?:^\s*|\| *|<\()(plimsoll [^|>)\n]*)`)
	word   = regexp.MustCompile(`'[^']*'|"[^"]*"|\S+`)
)

// commandLines are the calls of plimsoll in examples.
func commandLines(text string) []string {
	var lines []string
	for _, match := range called.FindAllStringSubmatch(continuation.ReplaceAllString(text, ""), -1) {
		lines = append(lines, strings.TrimSpace(match[1]))
	}
	return lines
}

// parseExample parses a command line up to the point at which the command would run, and returns which command that is.
func parseExample(t *testing.T, root *cobra.Command, line string) string {
	t.Helper()
	var args []string
	for _, each := range word.FindAllString(line, -1)[1:] {
		args = append(args, strings.Trim(each, `'"`))
	}
	cmd, rest, err := root.Find(args)
	if err != nil {
		t.Errorf("%s: %v", line, err)
		return ""
	}
	if err := cmd.ParseFlags(rest); err != nil {
		t.Errorf("%s: %v", line, err)
		return cmd.CommandPath()
	}
	if err := cmd.ValidateArgs(cmd.Flags().Args()); err != nil {
		t.Errorf("%s: %v", line, err)
	}
	return cmd.CommandPath()
}

// TestCommandLines finds calls where people write them.
func TestCommandLines(t *testing.T) {
	got := commandLines("  # A comment with plimsoll doctor\n  plimsoll doctor -q\n  helm template . | plimsoll advise -f -\n" +
		"  plimsoll a \\\n    --b > file\n  source <(plimsoll completion bash)")
	want := []string{"plimsoll doctor -q", "plimsoll advise -f -", "plimsoll a --b", "plimsoll completion bash"}
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

// TestValues: each value that completion offers for a flag is one that the flag takes, and so is its default.
func TestValues(t *testing.T) {
	count := 0
	usage.Walk(rootCommand(), func(cmd *cobra.Command) {
		for name, values := range flags.AllValues(cmd.Flags()) {
			count++
			f := cmd.Flags().Lookup(name)
			if !values.IsList && !slices.Contains(values.All, f.DefValue) {
				t.Errorf("%s --%s: the default %s is none of %q", cmd.CommandPath(), name, f.DefValue, values.All)
			}
			for _, value := range values.All {
				if err := f.Value.Set(value); err != nil {
					t.Errorf("%s --%s=%s: %v", cmd.CommandPath(), name, value, err)
				}
			}
		}
	})
	if count < 20 {
		t.Errorf("%d flags have values", count)
	}
}

// TestGroups: the help of the program shows its commands by what they are for.
func TestGroups(t *testing.T) {
	root := rootCommand()
	var out bytes.Buffer
	root.SetOut(&out)
	root.SetArgs(nil)
	root.SetArgs([]string{"--help"})
	if err := root.Execute(); err != nil {
		t.Fatal(err)
	}
	at := 0
	for _, part := range []string{
		"Commands for autoscalers on a cluster:", "explain", "Commands for files, without a cluster:", "simulate",
		"Commands that run in a cluster:", "controller", "Other commands:", "completion",
	} {
		next := strings.Index(out.String()[at:], part)
		if next < 0 {
			t.Fatalf("%s is missing, or in another place:\n%s", part, out.String())
		}
		at += next
	}
	if strings.Contains(out.String(), "Additional") {
		t.Errorf("a command is in no group:\n%s", out.String())
	}
}

// columns is how many a terminal has.
const columns = 80

// TestWidth: the help of each command fits a terminal.
func TestWidth(t *testing.T) {
	var paths []string
	usage.Walk(rootCommand(), func(cmd *cobra.Command) {
		if isDocumented(cmd) {
			paths = append(paths, cmd.CommandPath())
		}
	})
	for _, path := range paths {
		got, err := run(t, "", append(strings.Fields(path)[1:], "--help")...)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(got) {
			if n := utf8.RuneCountInString(line) - 1; n > columns {
				t.Errorf("%s: a line of %d columns: %s", path, n, line)
			}
		}
	}
}

// TestVersionFlag: --version prints what the command does.
func TestVersionFlag(t *testing.T) {
	byFlag, err := run(t, "", "--version")
	byCommand, errCommand := run(t, "", "version")
	if err != nil || errCommand != nil || byFlag != byCommand || !strings.HasPrefix(byFlag, "plimsoll ") {
		t.Errorf("%q, %v; %q, %v", byFlag, err, byCommand, errCommand)
	}
}

// TestControllerHelp: each flag of the controller is in a group, and each line of its help fits a terminal.
func TestControllerHelp(t *testing.T) {
	got, err := run(t, "", "controller", "--help")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(got) {
		if n := len(line) - 1; n > columns {
			t.Errorf("a line of %d columns: %s", n, line)
		}
	}
	titles := regexp.MustCompile(`(?m)^(\S.*):$`).FindAllStringSubmatch(got, -1)
	if len(titles) != 14 || titles[2][1] != "Components, addresses and API server" || titles[13][1] != "Other" {
		t.Errorf("the groups are %q", titles)
	}
	if _, other, _ := strings.Cut(got, "\nOther:\n"); strings.Count(other, "--") != 1 {
		t.Errorf("in no group:\n%s", other)
	}
}

// TestArguments: kubectl completes plugins by a program of another name.
func TestArguments(t *testing.T) {
	for name, want := range map[string][]string{
		"/usr/bin/plimsoll":                   {"explain", "hpa/"},
		"/usr/bin/kubectl-plimsoll":           {"explain", "hpa/"},
		"/root/bin/kubectl_complete-plimsoll": {"__complete", "explain", "hpa/"},
	} {
		if got := arguments([]string{name, "explain", "hpa/"}); !slices.Equal(got, want) {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// TestUnknownShell: a shell that there is no script for is an error.
func TestUnknownShell(t *testing.T) {
	if got, err := run(t, "", "completion", "tcsh"); err == nil || cmderror.ExitStatus(err) != cmderror.Misused {
		t.Errorf("%v: %s", err, got)
	}
	if got, err := run(t, "", "completion"); err != nil || !strings.Contains(got, "plimsoll completion bash") {
		t.Errorf("%v: %s", err, got)
	}
}

// TestCompletionScripts: there is one for each shell.
func TestCompletionScripts(t *testing.T) {
	for shell := range shells {
		got, err := run(t, "", "completion", shell)
		if err != nil || !strings.Contains(got, "__complete") {
			t.Errorf("%s: %v, %.200s", shell, err, got)
		}
	}
}
