// Package ui is the command plimsoll ui.
package ui

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/cli/browser"
	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"
	"k8s.io/cli-runtime/pkg/genericclioptions"

	"github.com/plimsoll-dev/plimsoll/cmd/plimsoll/internal/complete"
	"github.com/plimsoll-dev/plimsoll/cmd/plimsoll/internal/flags"
	"github.com/plimsoll-dev/plimsoll/internal/cmderror"
	"github.com/plimsoll-dev/plimsoll/internal/explain/explainer"
	"github.com/plimsoll-dev/plimsoll/internal/explain/leader"
	"github.com/plimsoll-dev/plimsoll/internal/ui/cluster"
	"github.com/plimsoll-dev/plimsoll/internal/ui/server"
	"github.com/plimsoll-dev/plimsoll/internal/ui/web"
)

const uiLong = `UI shows autoscalers on a page in your browser: a list with their health, and for each of them
its load and replica counts over time, each change with its reason, the present decision and
what comes next.

Use it when a table or a plot in a terminal is not enough. It works on any cluster, with or
without Plimsoll.

The page reads the cluster with your permissions and changes nothing. It names what you may not
read. Only this machine serves it, at an address with a secret token, until you press Ctrl-C.
It installs nothing in the cluster and stores nothing.`

const uiExample = `  # All autoscalers that you may see
  plimsoll ui

  # Those of a namespace, and no browser: the address is printed
  plimsoll ui -n shop --no-browser`

type options struct {
	port      int
	noBrowser bool
	period    time.Duration
	finder    leader.Finder
	kube      *genericclioptions.ConfigFlags
}

// Command is plimsoll ui.
func Command() *cobra.Command {
	o := options{kube: genericclioptions.NewConfigFlags(true)}
	cmd := &cobra.Command{
		Use:     "ui",
		Short:   "Show autoscalers, their load and their reasons on a page in the browser",
		Long:    uiLong,
		Example: uiExample,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return o.run(cmd.Context(), cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	fs := cmd.Flags()
	fs.IntVar(&o.port, "port", 0, "the port on 127.0.0.1; 0 takes any free port")
	fs.BoolVar(&o.noBrowser, "no-browser", false, "print the address and do not open a browser")
	fs.DurationVar(&o.period, "sync-period", 15*time.Second,
		"how often the controller decides objects without syncPeriodSeconds (--horizontal-pod-autoscaler-sync-period)")
	flags.AddFinder(fs, &o.finder)
	o.kube.AddFlags(fs)
	complete.Kube(cmd, o.kube)
	return cmd
}

func (o *options) run(ctx context.Context, out, progress io.Writer) error {
	if o.port < 0 || o.port > 65535 || o.period <= 0 {
		return cmderror.Usage(errors.New("--port must be from 0 to 65535, and --sync-period greater than 0"))
	}
	config, err := flags.RESTConfig(o.kube, "plimsoll-ui")
	if err != nil {
		return err
	}
	// There is one user, who waits for the response.
	config.QPS = -1
	reader, err := cluster.New(cluster.Config{
		REST: config, Context: flags.Context(o.kube), ClusterFlags: o.clusterFlags(), Namespace: *o.kube.Namespace,
		Finder:  o.finder,
		Explain: explainer.Options{Controller: explainer.Auto, Period: o.period},
	})
	if err != nil {
		return err
	}
	page, err := server.New(o.port, reader, web.Handler())
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "The page is at %s\nCtrl-C ends it.\n", page.Address())
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { reader.Run(ctx); return nil })
	group.Go(func() error { return page.Serve(ctx) })
	if !o.noBrowser {
		// Not in the group: a browser may run until its user closes it, and Ctrl-C must end the command before that.
		go openBrowser(page, progress)
	}
	return group.Wait()
}

// openBrowser opens the page. The started process may be the browser itself, which then waits for the page. Every user
// of this machine can read the process's arguments: that address differs from the printed one, and works once.
func openBrowser(page *server.Server, progress io.Writer) {
	// The browser's own output would hide the address.
	browser.Stdout, browser.Stderr = io.Discard, io.Discard
	if err := browser.OpenURL(page.AddressForOnce()); err != nil {
		fmt.Fprintln(progress, "Could not start a browser: open that address in yours.")
	}
}

// clusterFlags returns the flags that select the cluster, for commands on the page. They name the context that the page
// was opened with, because the current context may change while it is open.
func (o *options) clusterFlags() []string {
	given := flags.ToCluster(o.kube)
	if context := flags.Context(o.kube); *o.kube.Context == "" && context != "" {
		given = append(given, "--context="+context)
	}
	return given
}
