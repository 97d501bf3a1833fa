package usage

import (
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/cli-runtime/pkg/genericclioptions"

	"github.com/plimsoll-dev/plimsoll/cmd/plimsoll/internal/flags"
	"github.com/plimsoll-dev/plimsoll/internal/explain/leader"
	"github.com/plimsoll-dev/plimsoll/internal/output"
)

// printHelp prints what a command is for, and its usage, in lines that the terminal holds.
func printHelp(cmd *cobra.Command, _ []string) {
	out := cmd.OutOrStdout()
	width, _ := flags.Text(out)
	_, _ = io.WriteString(out, paragraphs(cmd.Long, width)+"\n\n"+usageText(cmd, width)) // there is nowhere to report it
}

func printUsage(cmd *cobra.Command) error {
	out := cmd.OutOrStderr()
	width, _ := flags.Text(out)
	_, err := io.WriteString(out, usageText(cmd, width))
	return err
}

// paragraphs fills the lines of a text anew. Those of a table, which are indented, stay lines.
func paragraphs(text string, width int) string {
	all := strings.Split(strings.TrimSpace(text), "\n\n")
	for i, paragraph := range all {
		if !strings.Contains("\n"+paragraph, "\n ") {
			all[i] = output.Wrap(strings.ReplaceAll(paragraph, "\n", " "), width, 0, 0)
			continue
		}
		lines := strings.Split(paragraph, "\n")
		for j, line := range lines {
			lines[j] = output.Wrap(line, width, 0, column(line))
		}
		all[i] = strings.Join(lines, "\n")
	}
	return strings.Join(all, "\n\n")
}

// column returns the start of the second column of a table, after two blanks or more.
func column(line string) int {
	name := strings.TrimLeft(line, " ")
	first, rest, _ := strings.Cut(name, "  ")
	text := strings.TrimLeft(rest, " ")
	if text == "" {
		return len(line) - len(name)
	}
	return len(line) - len(name) + len(first) + len("  ") + len(rest) - len(text)
}

// usageText has the command line, examples, the commands below it, and each flag with its default on a line of its own
// and what it is for below it: its own first, then those that it shares.
func usageText(cmd *cobra.Command, width int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Usage:\n  %s\n", output.Wrap(cmd.UseLine(), width, 2, 4))
	if cmd.Example != "" {
		b.WriteString("\nExamples:\n")
		for line := range strings.SplitSeq(continued.ReplaceAllString(cmd.Example, " "), "\n") {
			b.WriteString(example(line, width) + "\n")
		}
	}
	printCommands(&b, cmd, width)
	for _, group := range groupsOf(cmd.Flags()) {
		fmt.Fprintf(&b, "\n%s:\n", group.Title)
		for _, each := range group.Flags {
			printFlag(&b, each, width)
		}
	}
	if cmd.HasAvailableSubCommands() {
		fmt.Fprintf(&b, "\nUse \"%s COMMAND --help\" for more about a command.\n", cmd.CommandPath())
	}
	return b.String()
}

// continued matches a line break within a command.
var continued = regexp.MustCompile(` *\\\n *`)

// example breaks a line of an example as a shell, or a reader of its comment, takes it.
func example(line string, width int) string {
	text := strings.TrimLeft(line, " ")
	indent := len(line) - len(text)
	if strings.HasPrefix(text, "#") {
		// Each line stays a comment where it is pasted.
		wrapped := output.Wrap(text, width-len("# "), indent, indent)
		return line[:indent] + strings.ReplaceAll(wrapped, "\n"+line[:indent], "\n"+line[:indent]+"# ")
	}
	return line[:indent] + output.WrapCommand(text, width, indent)
}

// printCommands prints the commands below one, in their groups.
func printCommands(b *strings.Builder, cmd *cobra.Command, width int) {
	groups := cmd.Groups()
	if len(groups) == 0 {
		groups = []*cobra.Group{{Title: "Commands:"}}
	}
	for _, group := range groups {
		title := "\n" + group.Title + "\n"
		for _, each := range cmd.Commands() {
			if each.GroupID != group.ID || !each.IsAvailableCommand() && each.Name() != "help" {
				continue
			}
			name := fmt.Sprintf("  %-*s ", each.NamePadding(), each.Name())
			b.WriteString(title + name + output.Wrap(each.Short, width, len(name), len(name)) + "\n")
			title = ""
		}
	}
}

// groupsOf are the groups of flags. Where they have no titles, those that several commands share follow the command's
// own.
func groupsOf(fs *pflag.FlagSet) []flags.Group {
	if groups := flags.Groups(fs); len(groups) > 0 {
		return groups
	}
	groups := []flags.Group{{Title: "Flags"}}
	shared := sharedFlags()
	for _, each := range shared {
		groups = append(groups, flags.Group{Title: each.title})
	}
	fs.VisitAll(func(f *pflag.Flag) {
		if f.Hidden {
			return
		}
		at := 1 + slices.IndexFunc(shared, func(s sharedSet) bool {
			of := s.flags.Lookup(f.Name)
			return of != nil && of.Usage == f.Usage
		})
		groups[at].Flags = append(groups[at].Flags, f)
	})
	return slices.DeleteFunc(groups, func(g flags.Group) bool { return len(g.Flags) == 0 })
}

// sharedSet are flags that several commands have, under a title of their own.
type sharedSet struct {
	title string
	flags *pflag.FlagSet
}

func sharedFlags() []sharedSet {
	var prometheus flags.Prometheus
	return []sharedSet{
		{"Flags about Plimsoll's controller", flagsOf(func(fs *pflag.FlagSet) { flags.AddFinder(fs, &leader.Finder{}) })},
		{"Flags about Prometheus, for the load of the past", flagsOf(prometheus.Add, prometheus.AddLoad)},
		{"Flags of kubectl, about the cluster", flagsOf(genericclioptions.NewConfigFlags(true).AddFlags)},
	}
}

func flagsOf(add ...func(*pflag.FlagSet)) *pflag.FlagSet {
	fs := pflag.NewFlagSet("shared", pflag.ContinueOnError)
	for _, each := range add {
		each(fs)
	}
	return fs
}

func printFlag(b *strings.Builder, f *pflag.Flag, width int) {
	const indent = 6
	kind, text := pflag.UnquoteUsage(f)
	name := "  --" + f.Name
	if f.Shorthand != "" {
		name = "  -" + f.Shorthand + ", --" + f.Name
	}
	if kind != "" {
		name += " " + kind
	}
	if value := defaultOf(f); value != "" && value != "false" {
		byDefault := "(default " + value + ")"
		if len(name)+1+len(byDefault) <= width {
			name += " " + byDefault
		} else {
			text += " " + byDefault
		}
	}
	text = strings.Join(strings.Fields(text), " ")
	fmt.Fprintf(b, "%s\n%*s%s\n", name, indent, "", output.Wrap(text, width, indent, indent))
}

// defaultOf is the default as a person types it: pflag writes brackets around that of a list.
func defaultOf(f *pflag.Flag) string {
	if list, isList := strings.CutPrefix(f.DefValue, "["); isList && strings.HasSuffix(list, "]") {
		return strings.TrimSuffix(list, "]")
	}
	return f.DefValue
}
