// Package report is the command plimsoll report.
package report

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericclioptions"

	"github.com/plimsoll-dev/plimsoll/cmd/plimsoll/internal/complete"
	"github.com/plimsoll-dev/plimsoll/cmd/plimsoll/internal/flags"
	"github.com/plimsoll-dev/plimsoll/cmd/plimsoll/internal/usage"
	"github.com/plimsoll-dev/plimsoll/internal/cmderror"
	"github.com/plimsoll-dev/plimsoll/internal/explain/explainer"
	"github.com/plimsoll-dev/plimsoll/internal/explain/leader"
	"github.com/plimsoll-dev/plimsoll/internal/loadhistory"
	"github.com/plimsoll-dev/plimsoll/internal/observe"
	"github.com/plimsoll-dev/plimsoll/internal/ui/cluster"
	"github.com/plimsoll-dev/plimsoll/internal/ui/report"
)

const reportLong = `Report writes one file about the last hours of an autoscaler: its load and replica counts as a
plot and as tables, each change with its reason, the present decision and what comes next, its
pods, events, advice and manifest.

Use it for a postmortem, or to share what plimsoll ui shows you. The file needs neither a server
nor a network: open it in a browser. It stays after the cluster has forgotten.

It reads the cluster with your permissions and changes nothing. The file names what you may not
read. It contains what you may read: names, events, messages and the manifest. It contains none
of your credentials and no address of the API server.

The exit status is 0 if the file was written, 1 if the object could not be read, 2 if the command
line is invalid.`

const reportExample = `  # What is recorded of the last 24 hours of web
  plimsoll report hpa/web -n shop > web.html

  # Two hours of yesterday
  plimsoll report wla/web -n shop --last 2h --until 2026-03-02T16:00:00Z > web.html

  # A VerticalPodAutoscaler, as it is now
  plimsoll report vpa/web -n shop > web.html

  # The same for programs
  plimsoll report hpa/web -n shop --last 6h -o json`

type options struct {
	output       string
	last, period time.Duration
	// isAsked says that the length was asked for.
	isAsked bool
	until   string
	finder  leader.Finder
	kube    *genericclioptions.ConfigFlags
	program string
	// secrets has the secrets in the command line.
	secrets       []string
	out, progress io.Writer
}

// The values of --output.
const (
	outputHTML = "html"
	outputJSON = "json"
)

// Command is plimsoll report, of a version of the program.
func Command(version string) *cobra.Command {
	o := options{kube: genericclioptions.NewConfigFlags(true), program: "plimsoll " + version}
	cmd := &cobra.Command{
		Use:     "report hpa/NAME | wla/NAME | vpa/NAME",
		Short:   "Write a file with an autoscaler's last hours, for a postmortem",
		Long:    reportLong,
		Example: reportExample,
		Args:    cobra.MaximumNArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.out, o.progress = cmd.OutOrStdout(), cmd.ErrOrStderr()
			o.secrets, o.isAsked = usage.Secrets(cmd), cmd.Flags().Changed("last")
			return o.run(cmd.Context(), args, time.Now())
		},
	}
	fs := cmd.Flags()
	fs.StringVarP(&o.output, "output", "o", outputHTML, "html: a page in one file; json: the same data for programs")
	fs.DurationVar(&o.last, "last", 24*time.Hour,
		"the length of the reported time, up to --until; without it, what is recorded of 24 hours")
	fs.StringVar(&o.until, "until", "", "the end of the reported time, such as 2026-03-02T16:00:00Z; without it, now")
	fs.DurationVar(&o.period, "sync-period", 15*time.Second,
		"how often the controller decides objects without syncPeriodSeconds (--horizontal-pod-autoscaler-sync-period)")
	flags.AddFinder(fs, &o.finder)
	o.kube.AddFlags(fs)
	flags.AddValues(fs, "output", flags.Values{All: []string{outputHTML, outputJSON}})
	complete.Kube(cmd, o.kube)
	objects := &complete.Objects{Kube: o.kube, IsOne: true,
		Kinds: []complete.Kind{complete.HPA, complete.WLA, complete.VPA}}
	cmd.ValidArgsFunction = objects.Arguments
	return cmd
}

// shortestLast is the shortest time that is worth a plot.
const shortestLast = 10 * time.Second

func (o *options) validate(args []string, now time.Time) (object observe.Key, to time.Time, err error) {
	if err := cmderror.OneOf("output", o.output, outputHTML, outputJSON); err != nil {
		return object, to, err
	}
	if o.period <= 0 {
		return object, to, errors.New("--sync-period must be greater than 0")
	}
	if o.last < shortestLast || o.last > loadhistory.LongestTimeline {
		return object, to, fmt.Errorf("--last: %v, want %v to %v, for which histories are kept", o.last, shortestLast,
			loadhistory.LongestTimeline)
	}
	if to, err = o.end(now); err != nil {
		return object, to, err
	}
	if object.Kind, object.Name, err = flags.ParseAutoscaler(args); err != nil {
		what := "no object is named"
		if len(args) > 0 {
			what = fmt.Sprintf("%q names no autoscaler", strings.Join(args, " "))
		}
		return object, to, &cmderror.Error{What: what, Why: "name the object of the report: " + err.Error(),
			Next: "plimsoll report hpa/NAME -n NAMESPACE > report.html", Cause: err}
	}
	return object, to, nil
}

func (o *options) end(now time.Time) (time.Time, error) {
	if o.until == "" {
		return now, nil
	}
	to, err := time.Parse(time.RFC3339, o.until)
	switch {
	case err != nil:
		return to, &cmderror.Error{What: "--until=" + o.until, Why: "want a time with its zone, such as " +
			now.UTC().Truncate(time.Hour).Format(time.RFC3339), Flag: "until", Value: o.until, Cause: err}
	case to.After(now):
		return to, fmt.Errorf("--until: %s is in the future", o.until)
	case now.Sub(to) > loadhistory.LongestTimeline:
		return to, fmt.Errorf("--until: %s is longer ago than the %v for which histories are kept", o.until,
			loadhistory.LongestTimeline)
	}
	return to, nil
}

func (o *options) run(ctx context.Context, args []string, now time.Time) error {
	object, to, err := o.validate(args, now)
	if err != nil {
		return cmderror.Usage(err)
	}
	if o.output == outputHTML && flags.IsTerminal(o.out) {
		return cmderror.Usage(&cmderror.Error{What: "the report is a page for a browser, and this is a terminal",
			Next: "write it to a file: add > report.html to this command"})
	}
	if object.Namespace, err = flags.Namespace(o.kube); err != nil {
		return err
	}
	made, err := o.read(ctx, object, to)
	if err != nil {
		return err
	}
	if why := made.Object.Unrecorded; why != "" {
		flags.WriteNote(o.progress, "the report has no load and no replica counts: "+why)
	}
	if o.output == outputJSON {
		return made.WriteJSON(o.out)
	}
	return made.WriteHTML(o.out)
}

func (o *options) read(ctx context.Context, object observe.Key, to time.Time) (*report.Report, error) {
	config, err := flags.RESTConfig(o.kube, "plimsoll-report")
	if err != nil {
		return nil, err
	}
	// One person waits for the answer.
	config.QPS = -1
	reader, err := cluster.New(cluster.Config{
		REST: config, Namespace: object.Namespace, Finder: o.finder,
		Explain: explainer.Options{Controller: explainer.Auto, Period: o.period},
	})
	if err != nil {
		return nil, err
	}
	from := to.Add(-o.last)
	found, err := reader.Single(ctx, object, from, to)
	if err != nil {
		return nil, complete.Similar(ctx, config, err)
	}
	return report.New(&report.Config{
		Object: found, From: from, To: to, FitsRecord: !o.isAsked, Made: time.Now(), Program: o.program,
		Cluster: flags.Context(o.kube),
		Secrets: append(o.secrets, config.BearerToken, config.Password),
	}), nil
}
