package usage

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/plimsoll-dev/plimsoll/cmd/plimsoll/internal/flags"
)

// maxColumns is how long a line of help is at most.
const maxColumns = 100

// printGroups is the usage of a command whose flags are in groups: each flag with its default on a line of its own,
// and what it is for below it.
func printGroups(cmd *cobra.Command) error {
	out := cmd.OutOrStderr()
	var b strings.Builder
	fmt.Fprintf(&b, "Usage:\n  %s\n\nExamples:\n%s\n", cmd.UseLine(), cmd.Example)
	for _, group := range flags.Groups(cmd.Flags()) {
		fmt.Fprintf(&b, "\n%s:\n", group.Title)
		for _, each := range group.Flags {
			printFlag(&b, each)
		}
	}
	_, err := io.WriteString(out, b.String())
	return err
}

func printFlag(b *strings.Builder, f *pflag.Flag) {
	const indent = "      "
	kind, text := pflag.UnquoteUsage(f)
	name := "  --" + f.Name
	if f.Shorthand != "" {
		name = "  -" + f.Shorthand + ", --" + f.Name
	}
	if kind != "" {
		name += " " + kind
	}
	words := strings.Fields(text)
	if f.DefValue != "" && f.DefValue != "[]" && f.DefValue != "false" {
		byDefault := "(default " + f.DefValue + ")"
		if len(name)+1+len(byDefault) <= maxColumns {
			name += " " + byDefault
		} else {
			words = append(words, byDefault)
		}
	}
	b.WriteString(name)
	column := maxColumns // so that the first word begins a line
	for _, word := range words {
		if column+1+len(word) > maxColumns {
			b.WriteString("\n" + indent + word)
			column = len(indent) + len(word)
			continue
		}
		b.WriteString(" " + word)
		column += 1 + len(word)
	}
	b.WriteString("\n")
}
