package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/cli-runtime/pkg/genericclioptions"

	"github.com/plimsoll-dev/plimsoll/cmd/plimsoll/internal/flags"
)

var update = flag.Bool("update", false, "write docs/reference/flags.md")

// TestReference: docs/reference/flags.md has what testdata/commands.md says of all commands, and every command,
// with each flag, its default and its meaning.
func TestReference(t *testing.T) {
	var b strings.Builder
	introduction, err := os.ReadFile(filepath.Join("testdata", "commands.md"))
	if err != nil {
		t.Fatal(err)
	}
	b.WriteString("<!-- Generated from cmd/plimsoll by make reference. -->\n\n" + string(introduction))
	kubectl := pflag.NewFlagSet("kubectl", pflag.ContinueOnError)
	genericclioptions.NewConfigFlags(true).AddFlags(kubectl)
	for _, command := range commandsOf(rootCommand()) {
		writeCommand(&b, command, kubectl)
	}
	b.WriteString("\n## Flags of kubectl\n\nEach command that reads a cluster has these flags of kubectl.\n\n")
	writeFlags(&b, flagsOf(kubectl), nil)
	file := filepath.Join("..", "..", "docs", "reference", "flags.md")
	if *update {
		if err := os.WriteFile(file, []byte(b.String()), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	have, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(have), b.String()); diff != "" {
		t.Errorf("docs/reference/flags.md is out of date; make reference writes it (-is +should be):\n%s", diff)
	}
}

// commandsOf are the commands that can be run, in the order of their names.
func commandsOf(root *cobra.Command) []*cobra.Command {
	var all []*cobra.Command
	for _, command := range root.Commands() {
		if command.Hidden {
			continue
		}
		if command.Runnable() {
			all = append(all, command)
		}
		all = append(all, commandsOf(command)...)
	}
	slices.SortFunc(all, func(a, b *cobra.Command) int { return strings.Compare(a.CommandPath(), b.CommandPath()) })
	return all
}

func writeCommand(b *strings.Builder, command *cobra.Command, kubectl *pflag.FlagSet) {
	fmt.Fprintf(b, "\n## %s\n\n%s.\n\n    %s\n", command.CommandPath(), strings.TrimSuffix(command.Short, "."),
		command.UseLine())
	var shared, without []string
	kubectl.VisitAll(func(f *pflag.Flag) {
		if of := command.Flags().Lookup(f.Name); of == nil {
			without = append(without, "`--"+f.Name+"`")
		} else if isShared(of, kubectl) {
			shared = append(shared, f.Name)
		}
	})
	if len(shared) > 1 {
		b.WriteString("\nAlso the [flags of kubectl](#flags-of-kubectl)")
		if len(without) > 0 {
			b.WriteString(" but " + strings.Join(without, ", "))
		}
		b.WriteString(".\n")
	}
	groups := flags.Groups(command.Flags())
	for _, group := range groups {
		fmt.Fprintf(b, "\n**%s**\n\n", group.Title)
		writeFlags(b, group.Flags, kubectl)
	}
	if len(groups) == 0 && command.Flags().HasAvailableFlags() {
		b.WriteString("\n")
		writeFlags(b, flagsOf(command.Flags()), kubectl)
	}
}

func flagsOf(fs *pflag.FlagSet) (all []*pflag.Flag) {
	fs.VisitAll(func(f *pflag.Flag) { all = append(all, f) })
	return all
}

// isShared reports whether a flag is one of kubectl's.
func isShared(f *pflag.Flag, kubectl *pflag.FlagSet) bool {
	if kubectl == nil {
		return false
	}
	of := kubectl.Lookup(f.Name)
	return of != nil && of.Usage == f.Usage && of.DefValue == f.DefValue
}

// writeFlags writes a table of the flags that are not kubectl's.
func writeFlags(b *strings.Builder, all []*pflag.Flag, kubectl *pflag.FlagSet) {
	b.WriteString("| flag | default | |\n|---|---|---|\n")
	for _, f := range all {
		if f.Hidden || isShared(f, kubectl) {
			continue
		}
		name := "`--" + f.Name + "`"
		if f.Shorthand != "" {
			name += ", `-" + f.Shorthand + "`"
		}
		value, usage := pflag.UnquoteUsage(f)
		if value != "" {
			name += " " + value
		}
		fmt.Fprintf(b, "| %s | %s | %s |\n", name, inCode(defaultOf(f)), inCell(usage))
	}
}

// defaultOf is a flag's default on every machine; empty where it is the type's zero value.
func defaultOf(f *pflag.Flag) string {
	switch value := f.DefValue; value {
	case "", "[]", "0", "0s", "false", "map[]":
		return ""
	default:
		if home, err := os.UserHomeDir(); err == nil {
			value = strings.ReplaceAll(value, home, "$HOME")
		}
		return value
	}
}

func inCode(text string) string {
	if text == "" {
		return ""
	}
	return "`" + strings.ReplaceAll(text, "|", `\|`) + "`"
}

func inCell(text string) string {
	return strings.NewReplacer("|", `\|`, "<", "&lt;", "*", `\*`).Replace(strings.Join(strings.Fields(text), " "))
}
