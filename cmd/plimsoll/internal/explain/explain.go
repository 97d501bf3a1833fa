// Package explain is the command plimsoll explain.
package explain

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/cli-runtime/pkg/genericclioptions"

	"github.com/plimsoll-dev/plimsoll/cmd/plimsoll/internal/complete"
	commonflags "github.com/plimsoll-dev/plimsoll/cmd/plimsoll/internal/flags"
	"github.com/plimsoll-dev/plimsoll/internal/cmderror"
	"github.com/plimsoll-dev/plimsoll/internal/explain/explainer"
	explainhorizontal "github.com/plimsoll-dev/plimsoll/internal/explain/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/explain/leader"
	explainvertical "github.com/plimsoll-dev/plimsoll/internal/explain/vertical"
	"github.com/plimsoll-dev/plimsoll/internal/observe"
	"github.com/plimsoll-dev/plimsoll/internal/snapshot"
	snapshothorizontal "github.com/plimsoll-dev/plimsoll/internal/snapshot/horizontal"
	snapshotvertical "github.com/plimsoll-dev/plimsoll/internal/snapshot/vertical"
)

const explainLong = `Explain prints why an autoscaler chose its replica count or its resource requests, and what
comes next.

Use it when a workload has more or fewer pods than you expect, or other requests, and before you
change its autoscaler.

The first line is the answer in one sentence: what happens to the replica count, why, what comes
next and when. The numbers that it rests on follow; --verbose prints for each metric the value, the
target, which pods count and the proposed replica count, then each limit in order, and which one
binds. For a VerticalPodAutoscaler it prints how each recommendation came about, from samples to
caps, and for each pod why it is changed or not.

A workload or a pod stands for its autoscalers.

It works on any cluster. Where Plimsoll's controller decides, explain reads the history from the
leader's pod (pods/portforward). kube-controller-manager shows its history in no API: explain
then derives what status and events imply, and names what is unknown.

The exit status is 0 if the object was explained, 1 if something could not be read, 2 if the
command line is invalid.`

const explainExample = `  # Why does web have that many pods?
  plimsoll explain hpa/web -n shop

  # The same with all that led to it
  plimsoll explain hpa/web -n shop --verbose

  # What scales or sizes this Deployment, or this pod?
  plimsoll explain deploy/web -n shop
  plimsoll explain pod/web-7d9f8b6c5-mktjg -n shop

  # Which schedules and fallbacks are in force, and what comes next?
  plimsoll explain wla/web -n shop

  # What were its load and replica counts in the last hours?
  plimsoll explain hpa/web -n shop --last 6h

  # What would a forecast have done in the last three weeks, if it had been turned on?
  plimsoll explain hpa/web -n shop --forecast --prometheus-address=http://prometheus.monitoring.svc:9090

  # Why does the updater leave these pods alone?
  plimsoll explain vpa/web -n shop --verbose

  # Save the inputs of the decision, and decide again from the file; also of a vpa
  plimsoll explain hpa/web -n shop --save web.yaml
  plimsoll explain --from web.yaml`

type explainOptions struct {
	output, save, from string
	watch, verbose     bool
	interval, period   time.Duration
	decider            string
	last               time.Duration
	forecast           forecastOptions
	finder             leader.Finder
	kube               *genericclioptions.ConfigFlags
	out, err           io.Writer
	in                 io.Reader
}

// Command is plimsoll explain.
func Command() *cobra.Command {
	o := explainOptions{kube: genericclioptions.NewConfigFlags(true)}
	cmd := &cobra.Command{
		Use:     "explain hpa/NAME | wla/NAME | vpa/NAME | deploy/NAME | pod/NAME",
		Short:   "Explain what an autoscaler does, why, and what comes next",
		Long:    explainLong,
		Example: explainExample,
		Args:    cobra.MaximumNArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.in, o.out, o.err = cmd.InOrStdin(), cmd.OutOrStdout(), cmd.ErrOrStderr()
			return o.run(cmd.Context(), args)
		},
	}
	flags := cmd.Flags()
	flags.StringVarP(&o.output, "output", "o", "text",
		"text for people; json and yaml print one document for each explanation")
	flags.StringVar(&o.save, "save", "",
		"write the inputs of the decision to this file, for plimsoll evaluate and --from")
	flags.StringVar(&o.from, "from", "",
		"explain the steps of this file instead of a cluster's object; - is standard input")
	flags.BoolVarP(&o.watch, "watch", "w", false, "repeat the explanation until Ctrl-C")
	flags.DurationVar(&o.interval, "interval", 2*time.Second, "how long --watch waits between two explanations")
	flags.BoolVarP(&o.verbose, "verbose", "v", false,
		"print all that led to the decision, with every pod that does not count; of a vpa, all steps and pods")
	flags.StringVar(&o.decider, "controller", "auto",
		"the controller that decides on the object: plimsoll, kube-controller-manager, or auto to detect it")
	flags.DurationVar(&o.period, "sync-period", 15*time.Second,
		"how often that controller decides objects without syncPeriodSeconds (--horizontal-pod-autoscaler-sync-period)")
	flags.DurationVar(&o.last, "last", 0,
		"instead of the decision, show the load and the replica counts of this last time, such as 6h")
	o.forecast.add(flags)
	commonflags.AddFinder(flags, &o.finder)
	o.kube.AddFlags(flags)
	commonflags.AddValues(flags, "output", commonflags.Values{All: outputs})
	commonflags.AddValues(flags, "controller", commonflags.Values{All: deciders})
	complete.Kube(cmd, o.kube)
	kinds := []complete.Kind{complete.HPA, complete.WLA, complete.VPA}
	objects := &complete.Objects{Kube: o.kube, Kinds: kinds, IsOne: true}
	cmd.ValidArgsFunction = objects.Arguments
	return cmd
}

// The values of flags.
var (
	outputs  = []string{"text", "json", "yaml"}
	deciders = []string{string(explainer.Auto), string(explainhorizontal.Plimsoll), string(explainhorizontal.Upstream)}
)

func (o *explainOptions) validate(args []string) (subject, error) {
	if err := cmderror.OneOf("output", o.output, outputs...); err != nil {
		return subject{}, err
	}
	if err := cmderror.OneOf("controller", o.decider, deciders...); err != nil {
		return subject{}, err
	}
	switch {
	case o.period <= 0 || o.interval <= 0:
		return subject{}, errors.New("--sync-period and --interval must be greater than 0")
	case o.from != "" && len(args) > 0:
		return subject{}, errors.New("--from names the object: leave out the argument")
	case o.from != "":
		return subject{}, o.validateOther(observe.HorizontalPodAutoscaler)
	}
	kind, name, err := commonflags.ParseAutoscaler(args)
	if err != nil {
		if kind, name, ok := commonflags.ParseTarget(args); ok {
			return subject{target: &explainer.Target{Kind: kind, Name: name}}, o.validateOther(observe.HorizontalPodAutoscaler)
		}
		what := "no object is named"
		if len(args) > 0 {
			what = fmt.Sprintf("%q names no autoscaler", strings.Join(args, " "))
		}
		return subject{}, &cmderror.Error{What: what,
			Why:  "name the object to explain: " + err.Error() + ", or a workload or a pod of it, as deploy/NAME",
			Next: "plimsoll explain hpa/NAME -n NAMESPACE", Cause: err}
	}
	return subject{kind: kind, name: name}, o.validateOther(kind)
}

// subject is what to explain: an autoscaler, or those of a target.
type subject struct {
	kind   observe.Kind
	name   string
	target *explainer.Target
}

func (o *explainOptions) run(ctx context.Context, args []string) error {
	what, err := o.validate(args)
	if err != nil {
		return cmderror.Usage(err)
	}
	if o.from != "" {
		return o.replay()
	}
	namespace, err := commonflags.Namespace(o.kube)
	if err != nil {
		return err
	}
	config, err := commonflags.RESTConfig(o.kube, "plimsoll-explain")
	if err != nil {
		return err
	}
	// One person asks a few things, and waits for the answer.
	config.QPS = -1
	reader, err := explainer.NewClusterReader(config, o.finder, o.explainer())
	if err != nil {
		return err
	}
	objects, err := o.find(ctx, reader, namespace, what)
	if err != nil {
		return complete.Similar(ctx, config, err)
	}
	for {
		// With --watch, Ctrl-C may come in the middle of an explanation.
		if err := o.explainAll(ctx, reader, objects); !o.watch || err != nil && ctx.Err() == nil {
			return complete.Similar(ctx, config, err)
		}
		select {
		case <-time.After(o.interval):
			fmt.Fprintln(o.out)
		case <-ctx.Done():
			return nil
		}
	}
}

// find is the named object, or the autoscalers of the named target.
func (o *explainOptions) find(
	ctx context.Context, reader *explainer.ClusterReader, namespace string, what subject,
) ([]observe.Key, error) {
	if what.target == nil {
		name := types.NamespacedName{Namespace: namespace, Name: what.name}
		return []observe.Key{{NamespacedName: name, Kind: what.kind}}, nil
	}
	found, err := reader.Find(ctx, namespace, *what.target)
	for _, why := range found.LeftOut {
		fmt.Fprintf(o.err, "not all autoscalers are known: %s\n", why)
	}
	if o.last != 0 || o.forecast.isAsked {
		isVertical := func(k observe.Key) bool { return k.Kind == observe.VerticalPodAutoscaler }
		found.Autoscalers = slices.DeleteFunc(found.Autoscalers, isVertical)
	}
	if err == nil && o.save != "" && len(found.Autoscalers) > 1 {
		return nil, fmt.Errorf("--save: %s/%s has %d autoscalers: name one of them", what.target.Kind, what.target.Name,
			len(found.Autoscalers))
	}
	return found.Autoscalers, err
}

func (o *explainOptions) explainAll(
	ctx context.Context, reader *explainer.ClusterReader, objects []observe.Key,
) error {
	for i, object := range objects {
		if i > 0 && o.output == "text" {
			fmt.Fprintln(o.out)
		}
		err := o.explain(ctx, reader, object)
		if successor, isThere := o.successor(ctx, reader, object, err); isThere {
			err = o.explain(ctx, reader, successor)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// successor returns the autoscaler that has the place of one that err says is missing, and tells the reader of it.
func (o *explainOptions) successor(
	ctx context.Context, reader *explainer.ClusterReader, object observe.Key, err error,
) (observe.Key, bool) {
	var failed *cmderror.Error
	if !errors.As(err, &failed) || failed.Missing == nil {
		return observe.Key{}, false
	}
	successor, isThere := reader.Successor(ctx, object)
	if !isThere {
		return observe.Key{}, false
	}
	short := map[observe.Kind]string{observe.HorizontalPodAutoscaler: "hpa", observe.WorkloadAutoscaler: "wla"}
	text := "%s/%s does not exist: %s/%s took over\n"
	if successor.Kind == observe.HorizontalPodAutoscaler {
		text = "%s/%s does not exist; this is %s/%s\n" // Any HPA may have the name.
	}
	fmt.Fprintf(o.err, text, short[object.Kind], object.Name, short[successor.Kind], successor.Name)
	return successor, true
}

func (o *explainOptions) explainer() explainer.Options {
	return explainer.Options{Controller: explainhorizontal.Controller(o.decider), Period: o.period}
}

func (o *explainOptions) explain(
	ctx context.Context, reader *explainer.ClusterReader, object observe.Key,
) error {
	if o.last != 0 {
		return o.showLast(ctx, reader, object)
	}
	if o.forecast.isAsked {
		return o.showForecast(ctx, reader, object)
	}
	if object.Kind == observe.VerticalPodAutoscaler {
		e, err := reader.Vertical(ctx, object.NamespacedName)
		if err != nil {
			return err
		}
		return o.showVertical(e)
	}
	e, err := reader.Horizontal(ctx, object)
	if err != nil {
		return err
	}
	return o.show(e)
}

// show prints an explanation, and saves what it is made of.
func (o *explainOptions) show(e *explainhorizontal.Explanation) error {
	if err := o.saveStep(func(w io.Writer) error { return snapshothorizontal.Encode(w, e.Step) }); err != nil {
		return err
	}
	return o.print(e, func() error {
		return e.WriteText(o.out, explainhorizontal.Style{Verbose: o.verbose, Form: commonflags.Form(o.out)})
	})
}

// print writes in the form of --output. writeText writes the form for people.
func (o *explainOptions) print(document interface {
	WriteJSON(w io.Writer) error
	WriteYAML(w io.Writer) error
}, writeText func() error,
) error {
	switch o.output {
	case "json":
		return document.WriteJSON(o.out)
	case "yaml":
		return document.WriteYAML(o.out)
	}
	return writeText()
}

// saveStep writes the file of --save; none without the flag.
func (o *explainOptions) saveStep(encode func(io.Writer) error) error {
	if o.save == "" {
		return nil
	}
	file, err := os.Create(o.save)
	if err == nil {
		err = errors.Join(encode(file), file.Close())
	}
	if err != nil {
		return fmt.Errorf("--save: %w", err)
	}
	return nil
}

func (o *explainOptions) replay() error {
	in, name := o.in, "standard input"
	if o.from != "-" {
		file, err := os.Open(o.from)
		if err != nil {
			return fmt.Errorf("--from: %w", err)
		}
		defer file.Close()
		in, name = file, o.from
	}
	reader := snapshot.NewReader(in, snapshothorizontal.Format(), snapshotvertical.Format())
	for steps := 0; ; steps++ {
		step, err := reader.Next()
		switch {
		case errors.Is(err, io.EOF) && steps > 0:
			return nil
		case err == nil:
			err = o.showSaved(step)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
}

func (o *explainOptions) showSaved(step snapshot.Step) error {
	switch step := step.(type) {
	case *snapshotvertical.Step:
		e, err := o.explainer().SavedVertical(step)
		if err != nil {
			return err
		}
		return o.showVertical(e)
	case *snapshothorizontal.Step:
		e, err := o.explainer().SavedHorizontal(step)
		if err != nil {
			return err
		}
		return o.show(e)
	}
	return nil
}

// showVertical prints an explanation, and saves what it is made of.
func (o *explainOptions) showVertical(e *explainvertical.Explanation) error {
	if err := o.saveStep(func(w io.Writer) error { return snapshotvertical.Encode(w, e.Step) }); err != nil {
		return err
	}
	return o.print(e, func() error {
		return e.WriteText(o.out, explainvertical.Style{Verbose: o.verbose, Form: commonflags.Form(o.out)})
	})
}
