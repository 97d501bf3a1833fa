package main

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/spf13/cobra"

	"github.com/plimsoll-dev/plimsoll/cmd/plimsoll/internal/usage"
	"github.com/plimsoll-dev/plimsoll/internal/buildinfo"
)

// nameAs makes help and usage say what a person types: the program's name, or
// kubectl's where kubectl calls it as a plugin.
func nameAs(root *cobra.Command, program string) {
	name := filepath.Base(program)
	if !strings.HasPrefix(name, "kubectl-") && !strings.HasPrefix(name, pluginCompletion) {
		return
	}
	root.Annotations = map[string]string{cobra.CommandDisplayNameAnnotation: "kubectl plimsoll"}
	usage.Walk(root, func(each *cobra.Command) {
		each.Example = typedPlimsoll.ReplaceAllString(each.Example, "${1}kubectl plimsoll ")
	})
}

// typedPlimsoll matches the program's name at the start of a command of an example.
var typedPlimsoll = regexp.MustCompile(`(?m)(^ *|\| )plimsoll `)

// pluginCompletion is how the program begins that kubectl runs to complete what is behind the name of a plugin.
const pluginCompletion = "kubectl_complete-"

// arguments are those of a command line. Under the name kubectl_complete-plimsoll the program completes them.
func arguments(args []string) []string {
	if strings.HasPrefix(filepath.Base(args[0]), pluginCompletion) {
		return append([]string{cobra.ShellCompRequestCmd}, args[1:]...)
	}
	return args[1:]
}

func versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version, the commit, the Go release and the platform",
		Long: `Version prints the version of this program, the commit and the Go release that it was
built from, and the platform that it was built for.

Use it to compare with the version of the image that runs in a cluster. plimsoll doctor also
compares them.`,
		Example: `  plimsoll version`,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := fmt.Fprintln(cmd.OutOrStdout(), "plimsoll", buildinfo.Get())
			return err
		},
	}
}
