package main

import (
	"context"
	"fmt"
	"os"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/plimsoll-dev/plimsoll/internal/dev/devcluster"
	"github.com/plimsoll-dev/plimsoll/internal/dev/devcluster/build"
)

func buildCommand() *cobra.Command {
	var binDir string
	var without []string
	command := &cobra.Command{
		Use:   "build",
		Short: "Build the control plane's parts into bin/ (nothing the second time)",
		Args:  cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			result, err := buildParts(command.Context(), binDir, without...)
			if err == nil {
				fmt.Fprintln(command.ErrOrStderr(), result)
			}
			return err
		},
	}
	addBinDir(command.Flags(), &binDir)
	command.Flags().StringSliceVar(&without, "without", nil, "parts to leave out, such as kubectl")
	return command
}

func addBinDir(flags *pflag.FlagSet, binDir *string) {
	flags.StringVar(binDir, "bin-dir", os.Getenv(devcluster.BinEnv),
		"folder of ready binaries to use instead of building (default $"+devcluster.BinEnv+")")
}

// buildParts brings the control plane up to date and shows the progress.
func buildParts(ctx context.Context, binDir string, without ...string) (build.Result, error) {
	parts := slices.DeleteFunc(build.ControlPlane(), func(name string) bool { return slices.Contains(without, name) })
	return build.Run(ctx, build.Config{
		BinDir: binDir, Parts: parts, Out: os.Stderr, Terminal: isTerminal(os.Stderr),
	})
}
