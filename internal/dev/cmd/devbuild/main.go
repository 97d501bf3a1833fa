// Command devbuild builds the development cluster's parts, its program and Plimsoll into bin/, or compiles tests, and
// shows how far it is. It uses the standard library alone, so that it is itself there a few seconds after a newcomer's
// `make demo`.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"github.com/plimsoll-dev/plimsoll/internal/dev/devcluster/build"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "devbuild:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	without := flag.String("without", "", "comma-separated parts to leave out, such as kubectl")
	only := flag.String("only", "", "comma-separated parts to build (default: the control plane, devcluster and plimsoll)")
	binDir := flag.String("bin-dir", os.Getenv("PLIMSOLL_BIN"), "folder of a ready control plane, which is then not built")
	kubernetes := flag.String("kubernetes", "", "minor version of tools/versions whose control plane is built into "+
		"a folder of its own, bin/v1.32 for instance")
	tests := flag.Bool("tests", false, "compile the tests of the packages that the arguments name, and link nothing")
	race := flag.Bool("race", false, "compile those tests for the race detector")
	flag.Parse()
	if *tests {
		config := build.Config{Out: os.Stderr, Terminal: isTerminal(os.Stderr)}
		return build.CompileTests(ctx, config, *race, flag.Args())
	}

	ours, theirs := partsOf(*only, *without)
	for _, config := range []build.Config{{BinDir: *binDir, Kubernetes: *kubernetes, Parts: theirs}, {Parts: ours}} {
		if len(config.Parts) == 0 {
			continue
		}
		config.Out, config.Terminal = os.Stderr, isTerminal(os.Stderr)
		result, err := build.Run(ctx, config)
		if err != nil {
			return err
		}
		if result.Profile.Packages+result.Profile.Programs > 0 {
			fmt.Fprintln(os.Stderr, result)
		}
	}
	return nil
}

// partsOf are the wanted parts: those of this repository, and the others, among them names that no part has.
func partsOf(only, without string) (ours, theirs []string) {
	ours, theirs = []string{"devcluster", "plimsoll"}, build.ControlPlane()
	if only != "" {
		all := slices.Concat(ours, []string{build.Pause, build.RequestExporter, build.MemoryServer})
		isOther := func(name string) bool { return !slices.Contains(all, name) }
		theirs = strings.Split(only, ",")
		ours = slices.DeleteFunc(slices.Clone(theirs), isOther)
		theirs = slices.DeleteFunc(theirs, func(name string) bool { return !isOther(name) })
	}
	drop := func(name string) bool { return slices.Contains(strings.Split(without, ","), name) }
	return slices.DeleteFunc(ours, drop), slices.DeleteFunc(theirs, drop)
}

// isTerminal is good enough to choose how progress is shown.
func isTerminal(file *os.File) bool {
	info, err := file.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}
