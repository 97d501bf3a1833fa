// Command devcluster runs Plimsoll's development cluster: a real control plane on this machine with simulated nodes.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	"golang.org/x/term"
	"k8s.io/klog/v2"
)

func main() {
	// The parts that run in this process log through klog, which would write over the live view.
	klog.SetLogger(logr.Discard())
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	err := rootCommand().ExecuteContext(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "devcluster:", err)
		os.Exit(1)
	}
}

func rootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:           "devcluster",
		Short:         "A real Kubernetes control plane on this machine, with simulated nodes and load",
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.AddCommand(buildCommand(), clusterCommand(), demoCommand())
	return root
}

func isTerminal(file *os.File) bool { return term.IsTerminal(int(file.Fd())) }
