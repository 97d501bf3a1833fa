package main

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/plimsoll-dev/plimsoll/internal/buildinfo"
)

// nameAs makes help and usage say what a person types: the program's name, or
// kubectl's where kubectl calls it as a plugin.
func nameAs(root *cobra.Command, program string) {
	if strings.HasPrefix(filepath.Base(program), "kubectl-") {
		root.Annotations = map[string]string{cobra.CommandDisplayNameAnnotation: "kubectl plimsoll"}
	}
}

func versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version, the commit, the Go release and the platform",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := fmt.Fprintln(cmd.OutOrStdout(), "plimsoll", buildinfo.Get())
			return err
		},
	}
}
