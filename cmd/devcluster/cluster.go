package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	"k8s.io/klog/v2"

	"github.com/plimsoll-dev/plimsoll/internal/dev/devcluster"
)

func clusterCommand() *cobra.Command {
	var config devcluster.Config
	command := &cobra.Command{
		Use:   "cluster",
		Short: "Start a cluster and keep it until Ctrl-C, which leaves nothing behind",
		Args:  cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			return runCluster(command.Context(), config, command.OutOrStdout())
		},
	}
	flags := command.Flags()
	addBinDir(flags, &config.BinDir)
	flags.IntVar(&config.Nodes, "nodes", devcluster.DefaultNodes, "number of simulated nodes")
	flags.DurationVar(&config.StartupDelay, "kwok-startup-delay", devcluster.DefaultStartupDelay,
		"time from a pod's start to its readiness; a pod's annotation "+devcluster.AnnotationStartupDelay+" overrides it")
	flags.BoolVar(&config.MetricsServer, "metrics", true, "serve the resource, custom and external metrics APIs")
	flags.DurationVar(&config.MetricResolution, "metric-resolution", devcluster.DefaultMetricResolution,
		"metrics-server's scrape interval")
	flags.BoolVar(&config.HPAController, "hpa-controller", false, "leave kube-controller-manager's own HPA loop on")
	flags.DurationVar(&config.StartTimeout, "start-timeout", devcluster.DefaultStartTimeout, "longest start")
	return command
}

func runCluster(ctx context.Context, config devcluster.Config, out io.Writer) error {
	built, err := buildParts(ctx, config.BinDir)
	if err != nil {
		return err
	}
	config.BinDir = built.BinDir
	config.Log = func(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) }
	began := time.Now()
	cluster, err := devcluster.Start(ctx, config)
	if err != nil {
		return err
	}
	log, err := logInto(cluster.LogPath("devcluster"))
	if err != nil {
		return errors.Join(err, cluster.Stop())
	}
	defer log.Close()
	fmt.Fprintf(out, `
The cluster is ready after %s. In another terminal:

  export KUBECONFIG=%s
  %s get nodes

Logs of its parts: %s
Ctrl-C ends it and removes all that it made.
`, time.Since(began).Round(100*time.Millisecond), cluster.KubeconfigPath(), filepath.Join(built.BinDir, "kubectl"),
		filepath.Join(cluster.Dir(), "logs"))
	select {
	case <-ctx.Done():
		err = nil
	case err = <-cluster.Failed():
	}
	return errors.Join(err, cluster.Stop())
}

// logInto sends what the parts in this process log to a file beside the other parts' logs.
func logInto(path string) (io.Closer, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("log: %w", err)
	}
	klog.SetLogger(logr.FromSlogHandler(slog.NewTextHandler(file, nil)))
	return file, nil
}
