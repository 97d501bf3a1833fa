package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	"k8s.io/klog/v2"

	plimsollv1alpha1 "github.com/plimsoll-dev/plimsoll/api/plimsoll/v1alpha1"
	"github.com/plimsoll-dev/plimsoll/internal/dev/devcluster"
)

func clusterCommand() *cobra.Command {
	var config devcluster.Config
	var withPlimsoll bool
	command := &cobra.Command{
		Use:   "cluster",
		Short: "Start a cluster and keep it until Ctrl-C, which leaves nothing behind",
		Args:  cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			return runCluster(command.Context(), config, withPlimsoll, command.OutOrStdout())
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
	flags.BoolVar(&withPlimsoll, "plimsoll", false,
		"install Plimsoll's permissions and definitions, and run its controller")
	flags.DurationVar(&config.StartTimeout, "start-timeout", devcluster.DefaultStartTimeout, "longest start")
	return command
}

func runCluster(ctx context.Context, config devcluster.Config, withPlimsoll bool, out io.Writer) (err error) {
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
	defer func() { err = errors.Join(err, cluster.Stop()) }()
	log, err := logInto(cluster.LogPath("devcluster"))
	if err != nil {
		return err
	}
	defer log.Close()
	environment := []string{"KUBECONFIG=" + cluster.KubeconfigPath(), "PATH=" + built.BinDir + ":$PATH"}
	if withPlimsoll {
		running, err := startPlimsoll(ctx, cluster, filepath.Join(built.BinDir, "plimsoll"), nil)
		if err != nil {
			return err
		}
		environment = append(environment, "CONTROLLER="+running.Inspection)
	}
	fmt.Fprintf(out, `
The cluster is ready after %s. In another terminal:

  export %s
  kubectl get nodes

Logs of its parts: %s
Ctrl-C ends it and removes all that it made.
`, time.Since(began).Round(100*time.Millisecond), strings.Join(environment, "\n  export "),
		filepath.Join(cluster.Dir(), "logs"))
	select {
	case <-ctx.Done():
		return nil
	case err := <-cluster.Failed():
		return err
	}
}

// startPlimsoll runs the program as it would run in a pod: as its service account, with what config/ grants it.
func startPlimsoll(
	ctx context.Context, cluster *devcluster.Cluster, program string, flags []string,
) (*devcluster.Program, error) {
	kubeconfig, err := cluster.InstallPlimsoll(ctx)
	if err != nil {
		return nil, err
	}
	if err := cluster.InstallDefinitions(ctx, plimsollv1alpha1.SchemeGroupVersion.Group); err != nil {
		return nil, err
	}
	return cluster.StartPlimsoll(ctx, program, kubeconfig, flags...)
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
