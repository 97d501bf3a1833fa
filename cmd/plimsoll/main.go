// Command plimsoll autoscales pods. Under the name kubectl-plimsoll it is a
// plugin of kubectl.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := rootCommand().ExecuteContext(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func rootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:           "plimsoll",
		Short:         "Pod autoscaling for Kubernetes, horizontal and vertical",
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	nameAs(root, os.Args[0])
	root.AddCommand(controllerCommand(), recommenderCommand(), admissionCommand(), evaluateCommand(), simulateCommand(), explainCommand(), adviseCommand(), updaterCommand(), versionCommand())
	return root
}
