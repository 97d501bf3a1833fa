// Command release writes the files of a release: programs, image, manifests, chart, checksums, bill of materials.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/plimsoll-dev/plimsoll/internal/dev/devcluster/build"
	"github.com/plimsoll-dev/plimsoll/internal/dev/release"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := command().ExecuteContext(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

func command() *cobra.Command {
	var config release.Config
	var platforms []string
	cmd := &cobra.Command{
		Use:           "release --version VERSION",
		Short:         "Write the files of a release",
		Args:          cobra.NoArgs,
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			config.Out = cmd.OutOrStdout()
			return run(cmd.Context(), config, platforms)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&config.Version, "version", "", "the version, such as v0.1.0")
	flags.StringVar(&config.Output, "output", "", "the folder to write and to empty first (default dist/release/VERSION)")
	flags.StringVar(&config.Helm, "helm", "", "the path of helm (default bin/helm)")
	flags.StringSliceVar(&platforms, "platforms", nil, "build for these alone, such as linux/amd64 (default all)")
	flags.BoolVar(&config.AllowDirty, "allow-dirty", false, "build although files are not committed; the program says so")
	return cmd
}

func run(ctx context.Context, config release.Config, platforms []string) error {
	if err := release.CheckVersion(config.Version); err != nil {
		return err
	}
	root, err := build.Root()
	if err != nil {
		return err
	}
	config.Root = root
	if config.Output == "" {
		config.Output = filepath.Join(root, "dist", "release", config.Version)
	}
	if config.Helm == "" {
		config.Helm = filepath.Join(root, "bin", "helm")
	}
	for _, text := range platforms {
		platform, err := release.ParsePlatform(text)
		if err != nil {
			return err
		}
		config.Platforms = append(config.Platforms, platform)
	}
	began := time.Now()
	if err := release.Run(ctx, &config); err != nil {
		return err
	}
	took := time.Since(began).Round(time.Second)
	_, err = fmt.Fprintf(config.Out, "%s is in %s after %s\n", config.Version, config.Output, took)
	return err
}
