// Command bench measures Plimsoll beside Kubernetes' own autoscaler on this machine.
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
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	err := rootCommand().ExecuteContext(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func rootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:           "bench",
		Short:         "Benchmarks that compare Plimsoll with Kubernetes' own autoscaler on this machine",
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.AddCommand(campaignCommand(), e2eCommand(), reactionCommand(), scaleCommand(),
		scoreboardCommand(), verticalCommand())
	return root
}
