// Command plimsoll-scalers reads metrics with KEDA's scalers, for WorkloadAutoscalers with metrics of type Scaler.
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
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	root := &cobra.Command{
		Use:           "plimsoll-scalers",
		Short:         "Reads metrics with KEDA's scalers, for WorkloadAutoscalers with metrics of type Scaler",
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.CompletionOptions.DisableDefaultCmd = true
	root.AddCommand(newServe(), newWork(), newTypes())
	if err := root.ExecuteContext(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "plimsoll-scalers: "+err.Error())
		os.Exit(1)
	}
}
