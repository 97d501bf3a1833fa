// Package advise is the command plimsoll advise.
package advise

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"

	"github.com/plimsoll-dev/plimsoll/cmd/plimsoll/internal/complete"
	"github.com/plimsoll-dev/plimsoll/cmd/plimsoll/internal/flags"
	"github.com/plimsoll-dev/plimsoll/internal/advise/containerusage"
	"github.com/plimsoll-dev/plimsoll/internal/advise/objects"
	"github.com/plimsoll-dev/plimsoll/internal/advise/read/cluster"
	"github.com/plimsoll-dev/plimsoll/internal/advise/read/manifests"
	"github.com/plimsoll-dev/plimsoll/internal/advise/rules"
	"github.com/plimsoll-dev/plimsoll/internal/advise/show"
	"github.com/plimsoll-dev/plimsoll/internal/cmderror"
	"github.com/plimsoll-dev/plimsoll/internal/explain/leader"
)

const adviseLong = `Advise finds mistakes in autoscalers and their workloads, in files or on a cluster.

Use it in a pipeline before manifests are applied, and on a cluster before a load shows what is
wrong.

It checks HorizontalPodAutoscalers, WorkloadAutoscalers, VerticalPodAutoscalers and their targets
for problems that autoscaling guides warn about, and for errors that the API server would refuse.
Argo's Rollouts are targets too. KEDA's ScaledObjects and WorkloadAutoscalers are checked like
HPAs. Each finding has an object, a field, a reason and, if there is one, the patch that fixes
it. Advise also lists what it does not examine. docs/reference/advice.md explains every rule.

The annotation plimsoll.dev/ignore of an object lists rules to skip. On a cluster advise reads
with your permissions; rules that need more are skipped and listed. The usage of containers comes
from metrics.k8s.io, which shows one moment only, or from --usage. The load of earlier days, for
proposed schedules, comes from --history or --prometheus-address; otherwise, on a cluster, from
the record of Plimsoll's controller.

A part of a file that cannot be read, such as a template that was not rendered, is a finding of
level warning. The rest is checked.

The exit status is 0; 1 if there is a finding of the level of --fail-on or above, or an error,
also if nothing can be read; 2 if the command line is invalid.`

const adviseExample = `  # Check a folder of manifests, and fail a pipeline on errors and warnings
  plimsoll advise -f deploy/ --fail-on=warning

  # Check the output of a chart
  helm template web ./chart | plimsoll advise -f -

  # Check a namespace, with a week of usage
  plimsoll advise -n shop --usage week.csv

  # Propose schedules from the load of the last three weeks
  plimsoll advise -n shop --rules=recurring-jump --prometheus-address=http://prometheus.monitoring.svc:9090

  # Check two rules on the whole cluster, or all but one
  plimsoll advise -A --rules=missing-request,two-autoscalers
  plimsoll advise -A --rules=-single-replica

  # Findings beside the code in a pull request
  plimsoll advise -f deploy/ -o sarif --fail-on=never > advice.sarif`

type adviseOptions struct {
	files         []string
	allNamespaces bool
	output        string
	failOn        string
	rules         []string
	usage         string
	history       historyOptions
	kube          *genericclioptions.ConfigFlags
	finder        leader.Finder
	// recorded has the loads that the controller recorded; nil if they are not read.
	recorded      recordings
	version       string
	in            io.Reader
	out, progress io.Writer
	// doing says what it is at.
	doing atomic.Value
	// unknown are the loads that could not be read, and why.
	unknown []string
}

// Command is plimsoll advise. The version is that of the program, for SARIF.
func Command(version string) *cobra.Command {
	o := adviseOptions{kube: genericclioptions.NewConfigFlags(true), version: version}
	cmd := &cobra.Command{
		Use:     "advise [-f FILES | -n NAMESPACE | -A]",
		Short:   "Find problems of autoscalers and their workloads, and how to fix them",
		Long:    adviseLong,
		Example: adviseExample,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			o.in, o.out, o.progress = cmd.InOrStdin(), cmd.OutOrStdout(), cmd.ErrOrStderr()
			return o.run(cmd.Context())
		},
	}
	fs := cmd.Flags()
	fs.StringSliceVarP(&o.files, "filename", "f", nil,
		"files, folders or - for standard input, instead of a cluster")
	fs.BoolVarP(&o.allNamespaces, "all-namespaces", "A", false, "look at the whole cluster")
	fs.StringVarP(&o.output, "output", "o", "text", "text, json or sarif (2.1.0)")
	fs.StringVar(&o.failOn, "fail-on", "error",
		"exit with status 1 at findings of this level or higher: error, warning, advice or never")
	fs.StringSliceVar(&o.rules, "rules", nil, "the rules to check; with - before each, the rules to skip")
	fs.StringVar(&o.usage, "usage", "", "CSV file of the usage of containers: time,namespace,pod,container,cpu,memory")
	o.history.add(fs)
	flags.AddFinder(fs, &o.finder)
	o.kube.AddFlags(fs)
	flags.AddValues(fs, "output", flags.Values{All: outputs})
	flags.AddValues(fs, "fail-on", flags.Values{All: failOn})
	flags.AddValues(fs, "rules", flags.Values{All: ruleNames(), IsList: true, HasMinus: true})
	complete.Kube(cmd, o.kube)
	return cmd
}

func (o *adviseOptions) run(ctx context.Context) error {
	chosen, err := o.validate()
	if err != nil {
		return cmderror.Usage(err)
	}
	done := make(chan error, 1)
	go func() { done <- o.check(ctx, chosen) }()
	return o.await(ctx, done)
}

// What is said of the progress comes after the first, and then after each second.
const (
	firstProgress = 2 * time.Second
	nextProgress  = 10 * time.Second
)

// await waits for the end or for Ctrl-C. Reading and checking cannot be interrupted: they end with the process.
func (o *adviseOptions) await(ctx context.Context, done <-chan error) error {
	timer := time.NewTimer(firstProgress)
	defer timer.Stop()
	for {
		select {
		case err := <-done:
			for _, line := range o.unknown {
				fmt.Fprintln(o.progress, line)
			}
			return err
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-timer.C:
			fmt.Fprintf(o.progress, "Still %s.\n", o.doing.Load())
			timer.Reset(nextProgress)
		}
	}
}

func (o *adviseOptions) check(ctx context.Context, chosen []*rules.Rule) error {
	o.doing.Store("reading")
	c, why, err := o.read(ctx)
	if err != nil {
		return err
	}
	if len(c.Unreadable) > 0 && c.Objects == 0 {
		u := &c.Unreadable[0]
		return fmt.Errorf("nothing can be read: %s:%d: %s %s: %s", u.Object.Place.File, u.Object.Place.LineOf(u.Field),
			u.Object.Kind, u.Object.Name, u.Why)
	}
	if err := o.history.readFiles(c); err != nil {
		return err
	}
	if err := o.readPrometheus(ctx, c); err != nil {
		return err
	}
	// Reading is for nothing unless a rule needs it.
	if slices.ContainsFunc(chosen, func(r *rules.Rule) bool { return r.NeedsLoad }) {
		if err := o.readRecorded(ctx, c); err != nil {
			return err
		}
	}
	o.doing.Store(fmt.Sprintf("looking at %d objects", c.Objects))
	report := rules.Run(c, chosen)
	if why != "" {
		noteMissingUsage(&report, why)
	}
	if err := o.print(&report, chosen); err != nil {
		return err
	}
	return o.fail(&report)
}

func (o *adviseOptions) validate() ([]*rules.Rule, error) {
	if err := cmderror.OneOf("output", o.output, outputs...); err != nil {
		return nil, err
	}
	if err := cmderror.OneOf("fail-on", o.failOn, failOn...); err != nil {
		return nil, err
	}
	if len(o.files) > 0 && o.allNamespaces {
		return nil, errors.New("-A is for a cluster: give either it or -f")
	}
	if err := o.history.validate(); err != nil {
		return nil, err
	}
	chosen, err := choose(rules.All(), o.rules)
	if err != nil {
		return nil, &cmderror.Error{What: "--rules=" + strings.Join(o.rules, ","), Why: err.Error(),
			Flag: "rules", Value: strings.Join(o.rules, ","), Cause: err}
	}
	return chosen, nil
}

// The values of flags.
var (
	outputs = []string{"text", "json", "sarif"}
	failOn  = []string{rules.Error.String(), rules.Warning.String(), rules.Advice.String(), never}
)

func ruleNames() []string {
	var names []string
	for _, r := range rules.All() {
		names = append(names, r.Name)
	}
	return names
}

// choose takes the named rules, or leaves out those with a - before their name.
func choose(all []*rules.Rule, names []string) ([]*rules.Rule, error) {
	listed, left := map[string]bool{}, map[string]bool{}
	for _, name := range names {
		bare, isLeft := strings.CutPrefix(name, "-")
		if !slices.ContainsFunc(all, func(r *rules.Rule) bool { return r.Name == bare }) {
			return nil, fmt.Errorf("there is no rule %q; docs/reference/advice.md lists them", bare)
		}
		if isLeft {
			left[bare] = true
		} else {
			listed[bare] = true
		}
	}
	var chosen []*rules.Rule
	for _, r := range all {
		if (len(listed) == 0 || listed[r.Name]) && !left[r.Name] {
			chosen = append(chosen, r)
		}
	}
	return chosen, nil
}

// read reads the objects and the usage, or says why that is not known.
func (o *adviseOptions) read(ctx context.Context) (c *objects.Collection, why string, err error) {
	if len(o.files) > 0 {
		c, err = manifests.Read(o.files, o.in)
	} else {
		c, why, err = o.readCluster(ctx)
	}
	if err != nil || o.usage == "" {
		return c, why, err
	}
	file, err := os.Open(o.usage)
	if err != nil {
		return nil, "", fmt.Errorf("--usage: %w", err)
	}
	defer file.Close()
	if c.Usage, err = containerusage.ReadCSV(file, o.usage); err != nil {
		return nil, "", fmt.Errorf("--usage: %w", err)
	}
	return c, "", nil
}

func (o *adviseOptions) readCluster(ctx context.Context) (*objects.Collection, string, error) {
	namespace, err := flags.Namespace(o.kube)
	if err != nil {
		return nil, "", err
	}
	if o.allNamespaces {
		namespace = ""
	}
	config, err := flags.RESTConfig(o.kube, "plimsoll-advise")
	if err != nil {
		return nil, "", err
	}
	// One person asks a few things, and waits for the answer.
	config.QPS = -1
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, "", fmt.Errorf("making a client: %w", err)
	}
	kinds, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, "", fmt.Errorf("making a client: %w", err)
	}
	reader := cluster.Reader{Client: client, Namespace: namespace, ClusterFlags: flags.ToCluster(o.kube), Kinds: kinds}
	c, err := reader.Read(ctx, time.Now())
	if err != nil {
		return nil, "", err
	}
	if err := o.openRecordings(config); err != nil {
		return nil, "", err
	}
	why := ""
	if o.usage == "" {
		c.Usage, why = reader.Usage(ctx)
	}
	return c, why, nil
}

// noteMissingUsage gives the rules that lack usage the cause.
func noteMissingUsage(report *rules.Report, why string) {
	for i := range report.Skipped {
		if r := report.Skipped[i].Rule; r.NeedsUsage || r.NeedsHistory {
			report.Skipped[i].Why = why
		}
	}
}

func (o *adviseOptions) print(report *rules.Report, chosen []*rules.Rule) error {
	switch o.output {
	case "json":
		return show.JSON(o.out, report)
	case "sarif":
		return show.SARIF(o.out, report, chosen, o.version)
	}
	width, inColour := flags.Text(o.out)
	return show.Text(o.out, report, show.Style{Width: width, InColour: inColour})
}

// never is no level of --fail-on.
const never = "never"

// fail returns an error if a finding has the level of --fail-on or above.
func (o *adviseOptions) fail(report *rules.Report) error {
	worst, found := report.Worst()
	if o.failOn == never || !found {
		return nil
	}
	limit, err := rules.ParseLevel(o.failOn)
	if err != nil {
		return fmt.Errorf("--fail-on: %w", err)
	}
	if worst < limit {
		return nil
	}
	return fmt.Errorf("the worst finding is of level %s (--fail-on=%s)", worst, o.failOn)
}
