// Package migrate is the command plimsoll migrate.
package migrate

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/cli-runtime/pkg/genericclioptions"

	"github.com/plimsoll-dev/plimsoll/cmd/plimsoll/internal/complete"
	commonflags "github.com/plimsoll-dev/plimsoll/cmd/plimsoll/internal/flags"
	"github.com/plimsoll-dev/plimsoll/internal/cmderror"
	"github.com/plimsoll-dev/plimsoll/internal/migrate/cluster"
	"github.com/plimsoll-dev/plimsoll/internal/migrate/convert"
	"github.com/plimsoll-dev/plimsoll/internal/output"
)

const migrateLong = `Migrate converts HorizontalPodAutoscalers and KEDA's ScaledObjects to WorkloadAutoscalers.

Use it to see the WorkloadAutoscaler of an HPA, and with --apply to replace the HPA, on a cluster
where kube-controller-manager's loop stays on.

By default it prints WorkloadAutoscalers and changes nothing. Fields without an equivalent are
listed on standard error, and the exit status is then 1.

With --apply it replaces the objects on the cluster. It creates each WorkloadAutoscaler in mode
Preview, compares for --observe the replica counts that both propose, shows the table, sets the
WorkloadAutoscaler to mode Active, and deletes the HPA or pauses the ScaledObject. An object
that never proposed the same count is kept; one without a target, or with a metric that cannot be
read, is refused before anything is created. The old manifest is saved in a file and in the
annotation plimsoll.dev/migrated-from. --back --apply shows and restores it; with --yes only if a
file in --backup-dir has it too. After each write exactly one of the two objects scales the
workload. After an interruption, run the same command again. docs/from-hpa.md has each step.

The exit status is 2 if the command line is invalid.`

const migrateExample = `  # Print the WorkloadAutoscaler of an HPA, of a folder of manifests, of a ScaledObject
  plimsoll migrate hpa/web -n shop
  plimsoll migrate -f deploy/
  plimsoll migrate scaledobject/worker -n shop

  # Replace an HPA, or all with a label
  plimsoll migrate hpa/web -n shop --apply
  plimsoll migrate --all -n shop -l team=checkout --apply --yes

  # Restore it
  plimsoll migrate hpa/web -n shop --back --apply

  # The same with a ScaledObject, which is paused and stays
  plimsoll migrate scaledobject/worker -n shop --apply

  # The same without KEDA, if Plimsoll can read the servers of its triggers
  plimsoll migrate scaledobject/worker -n shop --native --apply`

type migrateOptions struct {
	files              []string
	all, allNamespaces bool
	selector           string
	apply, back, yes   bool
	native             bool
	acceptDifferences  bool
	observe, timeout   time.Duration
	backupDir          string
	kube               *genericclioptions.ConfigFlags

	in            io.Reader
	out, progress io.Writer
	isTerminal    bool

	labels  labels.Selector
	answers *bufio.Reader
}

// wrapped breaks lines at the width of a terminal; what reads a pipe gets whole ones.
func wrapped(out io.Writer) io.Writer {
	if !commonflags.IsTerminal(out) {
		return out
	}
	width, _ := commonflags.Text(out)
	return output.NewWrapped(out, width)
}

// Command is plimsoll migrate.
func Command() *cobra.Command {
	o := migrateOptions{kube: genericclioptions.NewConfigFlags(true)}
	cmd := &cobra.Command{
		Use:     "migrate hpa/NAME... | scaledobject/NAME... | --all | -A | -f FILES",
		Short:   "Convert HPAs and ScaledObjects to WorkloadAutoscalers, and replace them",
		Long:    migrateLong,
		Example: migrateExample,
		RunE: func(cmd *cobra.Command, args []string) error {
			o.in, o.out, o.progress = cmd.InOrStdin(), cmd.OutOrStdout(), wrapped(cmd.ErrOrStderr())
			if file, ok := o.in.(*os.File); ok {
				o.isTerminal = term.IsTerminal(int(file.Fd()))
			}
			return o.run(cmd.Context(), args)
		},
	}
	flags := cmd.Flags()
	flags.StringSliceVarP(&o.files, "filename", "f", nil,
		"files, folders or - for standard input, instead of a cluster")
	flags.BoolVar(&o.all, "all", false, "all HPAs of the namespace, or all ScaledObjects after the word scaledobject")
	flags.BoolVarP(&o.allNamespaces, "all-namespaces", "A", false, "all of the whole cluster")
	flags.StringVarP(&o.selector, "selector", "l", "", "with --all or -A: only objects with these labels")
	flags.BoolVar(&o.apply, "apply", false,
		"replace HPAs or ScaledObjects on the cluster, instead of printing WorkloadAutoscalers")
	flags.BoolVar(&o.back, "back", false, "convert back: print or, with --apply, restore the replaced objects")
	flags.BoolVar(&o.native, "native", false,
		"of ScaledObjects: read the metrics of all triggers without KEDA: those of prometheus, external and external-push "+
			"directly, the others with plimsoll-scalers")
	flags.BoolVarP(&o.yes, "yes", "y", false, "do not ask before --apply changes something")
	flags.DurationVar(&o.observe, "observe", 2*time.Minute,
		"how long --apply compares the proposed replica counts of both before it replaces an HPA")
	flags.BoolVar(&o.acceptDifferences, "accept-differences", false,
		"with --apply, also replace an HPA whose proposed replica count never equalled the WorkloadAutoscaler's, or that "+
			"has a metric that cannot be read")
	flags.DurationVar(&o.timeout, "timeout", 30*time.Second,
		"how long --apply waits for a deletion, or for KEDA")
	flags.StringVar(&o.backupDir, "backup-dir", ".",
		"the folder in which --apply saves the manifests of replaced objects, and --back --apply finds them")
	o.kube.AddFlags(flags)
	complete.Kube(cmd, o.kube)
	cmd.ValidArgsFunction = o.completion
	return cmd
}

func (o *migrateOptions) run(ctx context.Context, args []string) error {
	what, err := o.validate(args)
	if err != nil {
		return cmderror.Usage(err)
	}
	if len(o.files) > 0 {
		return o.printFiles(ctx)
	}
	if what.namespace, err = commonflags.Namespace(o.kube); err != nil {
		return err
	}
	if o.allNamespaces {
		what.namespace = ""
	}
	config, err := commonflags.RESTConfig(o.kube, "plimsoll-migrate")
	if err != nil {
		return err
	}
	client, err := cluster.New(config)
	if err != nil {
		return err
	}
	return complete.Similar(ctx, config, what.missing(o.migrate(ctx, client, what)))
}

func (o *migrateOptions) migrate(ctx context.Context, client *cluster.Client, what *selection) error {
	switch {
	case o.apply:
		return o.write(ctx, client, what)
	case o.back:
		return o.printBack(ctx, client, what)
	}
	return o.printCluster(ctx, client, what)
}

// completion completes the objects. With --back they have the names of the WorkloadAutoscalers that replaced them.
func (o *migrateOptions) completion(
	cmd *cobra.Command, args []string, typed string,
) ([]string, cobra.ShellCompDirective) {
	hpa, scaledObject := complete.HPA, complete.ScaledObject
	if o.back {
		hpa.Query, scaledObject.Query = complete.WLA.Query, complete.WLA.Query
		hpa.Query.Annotation, scaledObject.Query.Annotation = convert.MigratedFrom, convert.MigratedFrom
	}
	objects := complete.Objects{Kube: o.kube, Kinds: []complete.Kind{hpa, scaledObject}}
	return objects.Arguments(cmd, args, typed)
}

func (o *migrateOptions) validate(args []string) (*selection, error) {
	what, err := parseArgs(args)
	if err != nil {
		return nil, err
	}
	if err := o.validateSource(args, what); err != nil {
		return nil, err
	}
	switch {
	case o.observe < 0 || o.timeout <= 0:
		return nil, errors.New("--observe must not be negative, and --timeout must be greater than 0")
	case o.apply && !o.yes && !o.isTerminal:
		return nil, errors.New("--apply asks before it changes something: there is no terminal, so add --yes")
	}
	if o.labels, err = labels.Parse(o.selector); err != nil {
		return nil, fmt.Errorf("--selector: %w", err)
	}
	return what, nil
}

// validateSource checks that the objects come from one place.
func (o *migrateOptions) validateSource(args []string, what *selection) error {
	isAll, isNamed := o.all || o.allNamespaces, len(what.names) > 0
	if len(o.files) > 0 {
		switch {
		case len(args) > 0 || isAll:
			return errors.New("give either -f, or objects of a cluster")
		case o.apply || o.back:
			return errors.New("--apply and --back are for objects of a cluster, not for -f")
		}
		return nil
	}
	isChosen := isAll || o.selector != ""
	switch {
	case isNamed && isChosen:
		return errors.New("give either names, or --all, -A and -l")
	case !isNamed && !isChosen:
		return errors.New("name what to migrate: hpa/NAME, scaledobject/NAME, --all, -A, -l or -f")
	}
	return nil
}

// confirm asks on the terminal. An interrupt ends the question: the read does not see it.
func (o *migrateOptions) confirm(ctx context.Context, question string) (bool, error) {
	if o.yes {
		return true, nil
	}
	fmt.Fprintf(o.progress, "%s [y/N] ", question)
	if o.answers == nil {
		o.answers = bufio.NewReader(o.in)
	}
	type line struct {
		text string
		err  error
	}
	lines := make(chan line, 1)
	go func() {
		text, err := o.answers.ReadString('\n')
		lines <- line{text, err}
	}()
	select {
	case answer := <-lines:
		if answer.err != nil && answer.text == "" {
			return false, fmt.Errorf("no answer: %w", answer.err)
		}
		text := strings.ToLower(strings.TrimSpace(answer.text))
		return text == "y" || text == "yes", nil
	case <-ctx.Done():
		fmt.Fprintln(o.progress)
		return false, context.Cause(ctx)
	}
}
