// Package evaluate is the command plimsoll evaluate.
package evaluate

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	commonflags "github.com/plimsoll-dev/plimsoll/cmd/plimsoll/internal/flags"
	"github.com/plimsoll-dev/plimsoll/internal/cmderror"
	horizontaldivergence "github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/divergence"
	verticaldivergence "github.com/plimsoll-dev/plimsoll/internal/decide/vertical/divergence"
	explainhorizontal "github.com/plimsoll-dev/plimsoll/internal/explain/horizontal"
	explainvertical "github.com/plimsoll-dev/plimsoll/internal/explain/vertical"
	"github.com/plimsoll-dev/plimsoll/internal/snapshot"
	snapshothorizontal "github.com/plimsoll-dev/plimsoll/internal/snapshot/horizontal"
	snapshotvertical "github.com/plimsoll-dev/plimsoll/internal/snapshot/vertical"
)

const evaluateLong = `Evaluate decides offline what an autoscaler would do.

Use it to understand a past decision, to compare with upstream's controller, and to share a
decision with people who have no access to the cluster.

The input is a stream of YAML or JSON documents. Each document is a v1 List and is one step. A
step of a HorizontalPodAutoscaler or WorkloadAutoscaler has the object, its Scale, its pods, the
responses of the metrics APIs, and a Snapshot (plimsoll.dev/v1alpha1) with the time. A step of a
VerticalPodAutoscaler has the object, its checkpoints, pods and a VerticalSnapshot; evaluate
prints what is recommended, and what the updater's next pass does with each pod. History is
carried from step to step. plimsoll explain --save writes both. Each step is decided and printed
as it is read.

The exit status is 0 if every step was decided, with any result; 1 if the input cannot be read; 2
if the command line is invalid.`

const evaluateExample = `  # Explain each decision
  plimsoll evaluate -f snapshot.yaml

  # Would upstream's controller decide the same?
  plimsoll evaluate -f snapshot.yaml --divergences none -o json`

// outputs are the values of --output.
var outputs = []string{"text", "json"}

type evaluateOptions struct {
	file, output, divergences string
	verbose                   bool
}

// Command is plimsoll evaluate.
func Command() *cobra.Command {
	var o evaluateOptions
	cmd := &cobra.Command{
		Use:     "evaluate -f FILE|-",
		Short:   "Decide offline from a stream of snapshots, and say why",
		Long:    evaluateLong,
		Example: evaluateExample,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return o.run(cmd.InOrStdin(), cmd.OutOrStdout())
		},
	}
	flags := cmd.Flags()
	flags.StringVarP(&o.file, "filename", "f", "", "the file with the steps; - is standard input")
	flags.StringVarP(&o.output, "output", "o", "text", "text begins with a sentence, json prints one object for each step")
	flags.BoolVarP(&o.verbose, "verbose", "v", false, "print all that led to each decision; of a vpa, all steps and pods")
	flags.StringVar(&o.divergences, "divergences", "default",
		"differences from upstream that are in force: none, default, or comma-separated names")
	commonflags.AddValues(flags, "output", commonflags.Values{All: outputs})
	commonflags.AddDivergences(flags, "divergences", horizontaldivergence.All())
	commonflags.AddDivergences(flags, "divergences", verticaldivergence.All())
	return cmd
}

func (o *evaluateOptions) run(in io.Reader, out io.Writer) error {
	e, err := newEvaluation(o)
	if err != nil {
		return err
	}
	name := o.file
	switch o.file {
	case "":
		return cmderror.Usage(&cmderror.Error{What: "no file is named", Next: "--filename=FILE, or - for standard input"})
	case "-":
		name = "standard input"
	default:
		file, err := os.Open(o.file)
		if err != nil {
			return err
		}
		defer file.Close()
		in = file
	}
	if err := e.all(in, out); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// evaluation decides the steps of a stream.
type evaluation struct {
	options *evaluateOptions
	// horizontal carries history; vertical are the divergences of the other side.
	horizontal *explainhorizontal.Evaluator
	vertical   verticaldivergence.Set
	// notHorizontal and notVertical say why the divergences are none of that side's.
	notHorizontal, notVertical error
}

func newEvaluation(o *evaluateOptions) (*evaluation, error) {
	if err := cmderror.OneOf("output", o.output, outputs...); err != nil {
		return nil, err
	}
	e := &evaluation{options: o}
	var set horizontaldivergence.Set
	set, e.notHorizontal = horizontaldivergence.Parse(o.divergences)
	e.vertical, e.notVertical = verticaldivergence.Parse(o.divergences)
	if e.notHorizontal != nil && e.notVertical != nil {
		return nil, cmderror.Usage(&cmderror.Error{What: "--divergences=" + o.divergences,
			Why:  fmt.Sprintf("%v; of a VerticalPodAutoscaler: %v", e.notHorizontal, e.notVertical),
			Flag: "divergences", Value: o.divergences, Cause: errors.Join(e.notHorizontal, e.notVertical)})
	}
	e.horizontal = explainhorizontal.NewEvaluator(set)
	return e, nil
}

func (e *evaluation) all(in io.Reader, out io.Writer) error {
	reader := snapshot.NewReader(in, snapshothorizontal.Format(), snapshotvertical.Format())
	for steps := 0; ; steps++ {
		step, err := reader.Next()
		if errors.Is(err, io.EOF) && steps > 0 {
			return nil
		}
		if errors.Is(err, io.EOF) {
			return errors.New("no step in it: want documents that are a v1 List")
		}
		if err != nil {
			return err
		}
		if steps > 0 && e.options.output == "text" {
			if _, err := fmt.Fprintln(out); err != nil {
				return err
			}
		}
		if err := e.step(out, step); err != nil {
			return fmt.Errorf("document %d: %w", steps+1, err)
		}
	}
}

func (e *evaluation) step(out io.Writer, step snapshot.Step) error {
	switch step := step.(type) {
	case *snapshotvertical.Step:
		return e.verticalStep(out, step)
	case *snapshothorizontal.Step:
		return e.horizontalStep(out, step)
	}
	return nil
}

func (e *evaluation) horizontalStep(out io.Writer, step *snapshothorizontal.Step) error {
	if e.notHorizontal != nil {
		return fmt.Errorf("--divergences: %w", e.notHorizontal)
	}
	result, err := e.horizontal.Next(step)
	if err != nil {
		return err
	}
	if e.options.output == "json" {
		return result.WriteJSON(out)
	}
	return result.WriteText(out, explainhorizontal.Style{Verbose: e.options.verbose, Form: commonflags.Form(out)})
}

func (e *evaluation) verticalStep(out io.Writer, step *snapshotvertical.Step) error {
	if e.notVertical != nil {
		return fmt.Errorf("--divergences: %w", e.notVertical)
	}
	explanation, err := explainvertical.Explain(step, e.vertical)
	if err != nil {
		return err
	}
	if e.options.output == "json" {
		return explanation.WriteJSON(out)
	}
	return explanation.WriteText(out, explainvertical.Style{Verbose: e.options.verbose, Form: commonflags.Form(out)})
}
