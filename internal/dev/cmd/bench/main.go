// Command bench measures Plimsoll beside Kubernetes' own autoscaler on this machine.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	"k8s.io/klog/v2"
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
		PersistentPreRun: func(*cobra.Command, []string) {
			// The clients' own log would go between the lines of progress.
			klog.SetLogger(logr.Discard())
		},
	}
	root.AddCommand(campaignCommand(), e2eCommand(), reactionCommand(), scaleCommand(),
		scoreboardCommand(), verticalCommand())
	return root
}
