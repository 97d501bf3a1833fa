package main

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/plimsoll-dev/plimsoll/internal/decide/divergence"
	"github.com/plimsoll-dev/plimsoll/internal/snapshot"
)

const evaluateLong = `Evaluate decides offline what a HorizontalPodAutoscaler would do.

The input is a stream of YAML or JSON documents. Each document is a v1 List and
is one step: a HorizontalPodAutoscaler, its Scale, pods, the answers of the
metrics APIs, and a Snapshot (plimsoll.dev/v1alpha1) with the time. History is
carried from step to step. Each step is decided and printed as it is read.

The exit status is 0 if every step was decided, whatever the decision; 1 if the
input cannot be read.`

const evaluateExample = `  # Explain each decision
  plimsoll evaluate -f snapshot.yaml

  # Would upstream's controller decide the same?
  plimsoll evaluate -f snapshot.yaml --divergences none -o json`

type evaluateOptions struct {
	file, output, divergences string
}

func evaluateCommand() *cobra.Command {
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
	flags.StringVarP(&o.output, "output", "o", "text", "text explains, json prints one object for each step")
	flags.StringVar(&o.divergences, "divergences", "default",
		"where to decide otherwise than upstream: none, default, or names separated by commas")
	return cmd
}

func (o *evaluateOptions) run(in io.Reader, out io.Writer) error {
	set, err := divergence.Parse(o.divergences)
	if err != nil {
		return fmt.Errorf("--divergences: %w", err)
	}
	if o.output != "text" && o.output != "json" {
		return fmt.Errorf("--output: %q, want text or json", o.output)
	}
	name := o.file
	switch o.file {
	case "":
		return errors.New("--filename: say which file to read, or - for standard input")
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
	if err := o.evaluate(in, out, set); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

func (o *evaluateOptions) evaluate(in io.Reader, out io.Writer, set divergence.Set) error {
	reader, evaluator := snapshot.NewReader(in), snapshot.NewEvaluator(set)
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
		if err := o.step(out, evaluator, step, steps); err != nil {
			return err
		}
	}
}

func (o *evaluateOptions) step(out io.Writer, evaluator *snapshot.Evaluator, step *snapshot.Step, before int) error {
	result, err := evaluator.Next(step)
	if err != nil {
		return fmt.Errorf("document %d: %w", before+1, err)
	}
	if o.output == "json" {
		return result.WriteJSON(out)
	}
	if before > 0 {
		if _, err := fmt.Fprintln(out); err != nil {
			return err
		}
	}
	return result.WriteText(out)
}
