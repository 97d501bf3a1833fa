// Command plimsoll-scalers reads metrics with KEDA's scalers, for WorkloadAutoscalers with metrics of type Scaler.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	_ "time/tzdata" // the image has no time zones of its own, which cron triggers name

	"github.com/spf13/cobra"
	_ "golang.org/x/crypto/x509roots/fallback" // the image has no authorities of its own
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "plimsoll-scalers: "+err.Error())
		os.Exit(1)
	}
}

func run() error {
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
	return root.ExecuteContext(ctx)
}
