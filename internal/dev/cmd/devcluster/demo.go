package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/plimsoll-dev/plimsoll/internal/dev/demo"
	"github.com/plimsoll-dev/plimsoll/internal/dev/devcluster"
)

// demoOptions are the demo command's flags.
type demoOptions struct {
	seconds int
	keep    bool
	managed bool
	summary string
	binDir  string
	program string
	began   int64
}

func demoCommand() *cobra.Command {
	var o demoOptions
	command := &cobra.Command{
		Use:   "demo",
		Short: "Watch Plimsoll scale two Deployments under a load that steps up tenfold and falls back",
		Args:  cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			return runDemo(command.Context(), o, command.OutOrStdout())
		},
	}
	flags := command.Flags()
	flags.IntVar(&o.seconds, "seconds", 180, "length of the demo from its first metric")
	flags.BoolVar(&o.keep, "keep", false, "leave the cluster up afterwards, until Ctrl-C")
	flags.BoolVar(&o.managed, "managed", false,
		"leave kube-controller-manager's own HPA loop on, as managed clusters do, and scale by a WorkloadAutoscaler")
	flags.StringVar(&o.summary, "summary", "demo-summary.json", "file for the summary")
	flags.StringVar(&o.program, "plimsoll", "", "program to run (default: bin/plimsoll)")
	flags.Int64Var(&o.began, "began", time.Now().Unix(), "when the demo was asked for, in Unix seconds; builds count")
	addBinDir(flags, &o.binDir)
	return command
}

func runDemo(ctx context.Context, o demoOptions, out io.Writer) (err error) {
	plan, err := demo.NewPlan(time.Duration(o.seconds) * time.Second)
	if err != nil {
		return err
	}
	built, err := buildParts(ctx, o.binDir, o.without()...)
	if err != nil {
		return err
	}
	fmt.Fprintln(out, "Starting a control plane on this machine ...")
	cluster, err := devcluster.Start(ctx, devcluster.Config{
		BinDir: built.BinDir, Kubelets: true, MetricsServer: o.keep, HPAController: o.managed,
		Log: func(format string, args ...any) { fmt.Fprintf(out, "  "+format+"\n", args...) },
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, cluster.Stop()) }()
	if err := o.startPlimsoll(ctx, cluster, out); err != nil {
		return err
	}
	err = demo.Run(ctx, demo.Config{
		REST: cluster.RESTConfig(), Plan: plan, Kind: o.kind(), Began: time.Unix(o.began, 0), Out: out,
		Terminal: demo.IsTerminal(os.Stdout), SummaryPath: o.summary, Failed: cluster.Failed(),
		PodMetricsPort: cluster.PodMetricsPort(),
	})
	if ctx.Err() != nil {
		return errors.New("interrupted; everything that the demo made is removed")
	}
	if o.keep {
		o.keepUp(ctx, cluster, built.BinDir, out)
	}
	return err
}

// without are the parts that the demo can do without: Plimsoll reads the kubelets and the pods themselves.
func (o demoOptions) without() []string {
	if o.keep {
		return nil
	}
	return []string{"kubectl", "metrics-server"}
}

// kind is which object scales.
func (o demoOptions) kind() demo.Kind {
	if o.managed {
		return demo.WorkloadAutoscaler
	}
	return demo.HPA
}

// startPlimsoll runs the program for the demo, and prints the command for explaining its decisions.
func (o demoOptions) startPlimsoll(ctx context.Context, cluster *devcluster.Cluster, out io.Writer) error {
	program := o.program
	if program == "" {
		root, err := os.Executable()
		if err != nil {
			return fmt.Errorf("find plimsoll beside this program: %w", err)
		}
		program = filepath.Join(filepath.Dir(root), "plimsoll")
	}
	// The view shows status, numbers included.
	flags := []string{
		"--horizontal-pod-autoscaler-sync-period=5s", "--status-interval=5s",
		// The addresses on which the simulated pods serve their metrics.
		"--pod-endpoint-allowed-cidr=127.0.0.0/8",
	}
	if !o.managed {
		// By default it would find out first that no other controller acts on HPAs.
		flags = append(flags, "--horizontal-pod-autoscalers=act")
	}
	running, err := startPlimsoll(ctx, cluster, program, flags)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "Plimsoll is running: plimsoll controller %s\n", strings.Join(flags, " "))
	if o.managed {
		fmt.Fprint(out, managedText)
	}
	fmt.Fprintf(out, `
Two Deployments get the same load. shop/web is scaled by its CPU. The pods of shop/api need next to none: a
WorkloadAutoscaler scales it by the requests that they count themselves, on their own /metrics.

To see why they scale, run in another terminal:

`)
	for _, e := range []demo.Explain{{Kind: o.kind()}, {Workload: "api", Kind: demo.WorkloadAutoscaler}} {
		e.Program, e.Kubeconfig, e.Inspection = program, cluster.KubeconfigPath(), running.Inspection
		line, err := e.Line()
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "  %s\n", line)
	}
	address, err := startPage(ctx, cluster, program, running.Inspection)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "\nTo look at them in a browser on this machine while the demo runs:\n\n  %s\n\n", address)
	return nil
}

// managedText describes the difference with --managed.
const managedText = `
On EKS, GKE and AKS the HPA loop of kube-controller-manager cannot be turned off. It is on in this cluster too. Two
controllers must not scale by the same HPA, so the Deployment shop/web has none. A WorkloadAutoscaler scales it, which
only Plimsoll acts on. Its spec is that of the HPA in "make demo" without MANAGED=1.

`

// keepUp leaves the cluster to the user.
func (o demoOptions) keepUp(ctx context.Context, cluster *devcluster.Cluster, binDir string, out io.Writer) {
	kubectl := filepath.Join(binDir, "kubectl")
	fmt.Fprintf(out, `
The cluster stays up until Ctrl-C. In another terminal:

  export KUBECONFIG=%s
  %s -n shop describe %s web
  %s -n shop annotate service web api --overwrite sim.plimsoll.dev/requests-per-second=50
`, cluster.KubeconfigPath(), kubectl, o.kind(), kubectl)
	if o.managed {
		fmt.Fprintf(out, `  %s -n shop get wla
  %s -n shop patch wla web --type=merge -p '{"spec":{"mode":"Paused"}}'
`, kubectl, kubectl)
	}
	fmt.Fprintln(out)
	select {
	case <-ctx.Done():
	case err := <-cluster.Failed():
		fmt.Fprintln(out, "the cluster failed:", err)
	}
}
