// Command plimsoll autoscales pods. Under the name kubectl-plimsoll it is a
// plugin of kubectl.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	_ "time/tzdata" // the time zones of schedules, whatever the image has

	"github.com/spf13/cobra"

	"github.com/plimsoll-dev/plimsoll/cmd/plimsoll/internal/admission"
	"github.com/plimsoll-dev/plimsoll/cmd/plimsoll/internal/advise"
	"github.com/plimsoll-dev/plimsoll/cmd/plimsoll/internal/controller"
	"github.com/plimsoll-dev/plimsoll/cmd/plimsoll/internal/doctor"
	"github.com/plimsoll-dev/plimsoll/cmd/plimsoll/internal/evaluate"
	"github.com/plimsoll-dev/plimsoll/cmd/plimsoll/internal/explain"
	"github.com/plimsoll-dev/plimsoll/cmd/plimsoll/internal/migrate"
	"github.com/plimsoll-dev/plimsoll/cmd/plimsoll/internal/nodeagent"
	"github.com/plimsoll-dev/plimsoll/cmd/plimsoll/internal/report"
	"github.com/plimsoll-dev/plimsoll/cmd/plimsoll/internal/simulate"
	"github.com/plimsoll-dev/plimsoll/cmd/plimsoll/internal/ui"
	"github.com/plimsoll-dev/plimsoll/cmd/plimsoll/internal/usage"
	"github.com/plimsoll-dev/plimsoll/internal/buildinfo"
	"github.com/plimsoll-dev/plimsoll/internal/cmderror"
	"github.com/plimsoll-dev/plimsoll/internal/output"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	root := rootCommand()
	root.SetArgs(arguments(os.Args))
	root.SetOut(output.NewPrintable(os.Stdout))
	root.SetErr(output.NewProgress(os.Stderr))
	cmd, err := root.ExecuteContextC(ctx)
	stop()
	if err != nil {
		err = usage.Finish(cmd, err)
		usage.PrintError(output.NewPrintable(os.Stderr), cmd, err)
		os.Exit(cmderror.ExitStatus(err))
	}
}

const rootLong = `Plimsoll is pod autoscaling for Kubernetes, horizontal and vertical.

Use the commands for autoscalers to see why they do what they do and what is wrong, on any
cluster and with your own permissions; use the commands for files to try settings without a
cluster. The manifests in config/ start the commands that run in a cluster.

The exit status is 0 for success, 1 if the command failed or its answer is no, and 2 if the
command line is invalid. docs/reference/flags.md has the details, and shell completion.`

const rootExample = `  # Is the cluster ready for Plimsoll?
  plimsoll doctor

  # Why does web have that many pods?
  plimsoll explain hpa/web -n shop

  # What is wrong with the autoscalers of a namespace?
  plimsoll advise -n shop`

// The groups of commands in help.
const (
	useGroup     = "use"
	filesGroup   = "files"
	operateGroup = "operate"
	otherGroup   = "other"
)

func rootCommand() *cobra.Command { return programCommand(os.Args[0]) }

// programCommand is the whole program, under the name by which it was started.
func programCommand(program string) *cobra.Command {
	info := buildinfo.Get()
	version := info.Version
	root := &cobra.Command{
		Use:           "plimsoll",
		Short:         "Pod autoscaling for Kubernetes, horizontal and vertical",
		Long:          rootLong,
		Example:       rootExample,
		Version:       info.String(),
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.SetVersionTemplate("plimsoll {{.Version}}\n") // as the command version prints it
	root.AddGroup(
		&cobra.Group{ID: useGroup, Title: "Commands for autoscalers on a cluster:"},
		&cobra.Group{ID: filesGroup, Title: "Commands for files, without a cluster:"},
		&cobra.Group{ID: operateGroup, Title: "Commands that run in a cluster:"},
		&cobra.Group{ID: otherGroup, Title: "Other commands:"},
	)
	add(root, useGroup, explain.Command(), advise.Command(version), ui.Command(),
		report.Command(version), migrate.Command(), doctor.Command(version))
	add(root, filesGroup, simulate.Command(), evaluate.Command())
	add(root, operateGroup, controller.Command(), admission.Command(), nodeagent.Command())
	add(root, otherGroup, versionCommand())
	addHelp(root)
	usage.Apply(root)
	nameAs(root, program)
	return root
}

func add(root *cobra.Command, group string, commands ...*cobra.Command) {
	for _, each := range commands {
		each.GroupID = group
		root.AddCommand(each)
	}
}
