package main

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/pflag"
	"golang.org/x/term"

	"github.com/plimsoll-dev/plimsoll/internal/dev/devcluster"
	"github.com/plimsoll-dev/plimsoll/internal/dev/devcluster/build"
)

// addProgramFlags adds the flags that replace building.
func addProgramFlags(flags *pflag.FlagSet, binDir, program *string) {
	flags.StringVar(binDir, "bin-dir", os.Getenv(devcluster.BinEnv),
		"folder of ready binaries to use instead of building (default $"+devcluster.BinEnv+")")
	flags.StringVar(program, "plimsoll", "", "program to measure instead of building it")
}

// programs are the values of the flags that replace building.
type programs struct{ binDir, plimsoll *string }

// build brings the binaries up to date: parts, ours, which are of this repository, and Plimsoll. It sets the folder and
// the program where flags named none.
func (p programs) build(ctx context.Context, progress io.Writer, parts, ours []string) error {
	if *p.binDir != "" {
		parts, ours = slices.Concat(parts, ours), nil
	}
	config := build.Config{
		BinDir: *p.binDir, Parts: parts, Out: progress, Terminal: term.IsTerminal(int(os.Stderr.Fd())),
	}
	built, err := build.Run(ctx, config)
	if err != nil {
		return err
	}
	*p.binDir = built.BinDir
	if *p.plimsoll == "" {
		ours = append(ours, plimsoll)
	}
	if len(ours) == 0 {
		return nil
	}
	config.BinDir, config.Parts = "", ours
	built, err = build.Run(ctx, config)
	if *p.plimsoll == "" {
		*p.plimsoll = filepath.Join(built.BinDir, plimsoll)
	}
	return err
}
