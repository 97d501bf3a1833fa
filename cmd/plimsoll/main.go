// Command plimsoll autoscales pods. Under the name kubectl-plimsoll it is a
// plugin of kubectl.
package main

import (
	"context"
	"errors"
	"fmt"
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
	"github.com/plimsoll-dev/plimsoll/cmd/plimsoll/internal/simulate"
	"github.com/plimsoll-dev/plimsoll/cmd/plimsoll/internal/vertical"
	"github.com/plimsoll-dev/plimsoll/internal/buildinfo"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := rootCommand().ExecuteContext(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(exitStatus(err))
	}
}

// exitStatus is 1, unless the error has one of its own.
func exitStatus(err error) int {
	var own interface{ ExitCode() int }
	if errors.As(err, &own) {
		return own.ExitCode()
	}
	return 1
}

func rootCommand() *cobra.Command {
	version := buildinfo.Get().Version
	root := &cobra.Command{
		Use:           "plimsoll",
		Short:         "Pod autoscaling for Kubernetes, horizontal and vertical",
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	nameAs(root, os.Args[0])
	root.AddCommand(
		controller.Command(), vertical.RecommenderCommand(), vertical.UpdaterCommand(), admission.Command(),
		nodeagent.Command(),
		evaluate.Command(), simulate.Command(), explain.Command(), advise.Command(version), migrate.Command(),
		doctor.Command(version), versionCommand(),
	)
	return root
}
