// Package simulate is the command plimsoll simulate.
package simulate

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/plimsoll-dev/plimsoll/cmd/plimsoll/internal/complete"
	"github.com/plimsoll-dev/plimsoll/cmd/plimsoll/internal/flags"
	"github.com/plimsoll-dev/plimsoll/internal/cmderror"
	"github.com/plimsoll-dev/plimsoll/internal/simulate"
	"github.com/plimsoll-dev/plimsoll/internal/simulate/load"
	"github.com/plimsoll-dev/plimsoll/internal/simulate/plot"
	"github.com/plimsoll-dev/plimsoll/internal/simulate/present"
)

const simulateLong = `Simulate plays a load against manifests, in virtual time, and scores how well the replica count
follows it.

Use it before you change an autoscaler, to compare settings under a recorded load or one of your
own.

Decisions come from the controller's own core. Around it is a model of pods that start, become
ready, serve, queue and drop requests, and of metrics that come late. --as chooses the loop:
upstream's, every 15 s with values of metrics-server, or Plimsoll's, every second with samples of
the kubelets.

The load is a trace (CSV lines of timestamp,value in Unix seconds or RFC 3339, plain or gzipped), or a shape:

  step:10@0s,100@30s                     each rate from its time on
  ramp:10@0s,100@5m                      straight lines between the points
  sine:mean=100,amplitude=50,period=10m  a wave
  poisson:mean=100,burstiness=4          a constant rate with noise
  generated:NAME                         a made-up day: %s

Its unit is one request per second. --pod-capacity says how many of them one pod serves. Without
it, that follows from the autoscaler as it is before --set: from a target in requests, or else so
that the peak of the load needs 70 %% of maxReplicas. The first line of the output says what was
assumed. --start chooses the start within a trace, --for the length.

With --from, the autoscaler, its workload and the load that Plimsoll recorded come from a
cluster.

The file of the autoscaler may have its workload too. A WorkloadAutoscaler is played in mode
Active; its schedules follow the time of the trace, or the --start of a shape. If --set gives a
field two values, or --hpa is given twice, all are played and compared.

With --forecast each setting is played without a forecast and with one. A table shows what the
forecast avoids and wastes on each day.

docs/reference/simulation.md explains the model and each line of the score. The exit status is 0 if
the load was played and the scores answer the question. It is 1 if something could not be read, or
if they cannot: a target cannot be reached, a metric does not follow the load, or what is compared
cannot differ. A line on standard error says which. It is 2 if the command line is invalid.`

const simulateExample = `  # Yesterday's load under both controllers, with a plot
  plimsoll simulate --hpa web.yaml --workload web-deployment.yaml --load yesterday.csv.gz --plot web.svg

  # Yesterday's load of an autoscaler of the cluster, with another target
  plimsoll simulate --from hpa/web -n shop --last 24h --as plimsoll \
    --set 'spec.metrics[0].resource.target.averageUtilization=70' \
    --set 'spec.metrics[0].resource.target.averageUtilization=50'

  # Pods that serve 100 requests a second each: is maxReplicas 6 enough?
  plimsoll simulate --hpa web.yaml --load step:100@0s,1500@5m --pod-capacity 100 \
    --set spec.maxReplicas=6 --set spec.maxReplicas=60

  # What would a forecast have done in the last two weeks?
  plimsoll simulate --from hpa/web -n shop --forecast --as plimsoll --ready-after 60s

  # Is a longer scale-down window worth its pod-hours?
  plimsoll simulate --hpa web.yaml --load generated:shop --as plimsoll \
    --set spec.behavior.scaleDown.stabilizationWindowSeconds=60 \
    --set spec.behavior.scaleDown.stabilizationWindowSeconds=600`

// Command is plimsoll simulate.
func Command() *cobra.Command {
	f := newSimulateFlags()
	cmd := &cobra.Command{
		Use:     "simulate --hpa FILE --load TRACE|SHAPE | --from hpa/NAME",
		Short:   "Play a load against manifests and score how well the replica count follows it",
		Long:    fmt.Sprintf(simulateLong, strings.Join(load.GeneratedNames(), ", ")),
		Example: simulateExample,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			f.completeForecast(cmd.Flags())
			return f.run(cmd.Context(), cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	fs := cmd.Flags()
	f.add(fs)
	flags.AddValues(fs, "output", flags.Values{All: outputNames()})
	sides := []string{string(simulate.Upstream), string(simulate.Plimsoll), simulate.BothSides}
	flags.AddValues(fs, "as", flags.Values{All: sides, IsList: true})
	complete.Kube(cmd, f.kube)
	objects := complete.Objects{Kube: f.kube, Kinds: []complete.Kind{complete.HPA, complete.WLA}}
	objects.Flag(cmd, "from")
	cmd.ValidArgsFunction = cobra.NoFileCompletions
	return cmd
}

// outputs are the forms in which scores are written for programs; text is for people.
var outputs = map[string]func(out io.Writer, s *simulate.Scene, runs []*simulate.Run) error{
	"json": present.JSON, "csv": present.CSV,
}

func outputNames() []string { return append(slices.Sorted(maps.Keys(outputs)), "text") }

func (f *simulateFlags) run(ctx context.Context, out, errOut io.Writer) error {
	if err := cmderror.OneOf("output", f.output, outputNames()...); err != nil {
		return err
	}
	format, err := f.plotFormat()
	if err != nil {
		return err
	}
	if f.recorded, err = f.record(ctx, time.Now()); err != nil {
		return err
	}
	compared, err := f.compare()
	if err != nil {
		return err
	}
	settings := compared.settings
	if format != "" && len(settings) > plot.MostRuns {
		return cmderror.Usagef("--plot: a plot shows at most %d settings, these are %d", plot.MostRuns, len(settings))
	}
	scene, err := f.scene(compared)
	if err != nil {
		return err
	}
	f.writeNotes(errOut, settings)
	if err := errors.Join(f.checkForecast(scene), simulate.Refusal(scene, settings)); err != nil {
		return err
	}
	runs, err := simulate.PlayAll(ctx, scene, settings, progressOn(errOut))
	clearProgress(errOut)
	if err != nil {
		return err
	}
	if err := f.write(out, scene, runs); err != nil {
		return err
	}
	if format != "" {
		if err := f.draw(format, scene, runs); err != nil {
			return err
		}
	}
	verdict := simulate.Verdict(scene, settings)
	if note := simulate.Note(scene, runs); note != "" && verdict == nil {
		flags.WriteNote(errOut, note)
	}
	return verdict
}

func (f *simulateFlags) write(out io.Writer, scene *simulate.Scene, runs []*simulate.Run) error {
	if write := outputs[f.output]; write != nil {
		return write(out, scene, runs)
	}
	width, inColour := flags.Terminal(out)
	if err := present.Text(out, scene, runs, present.Form{Width: width, HasAllRows: f.all}); err != nil {
		return err
	}
	size := plot.Size{Width: min(width-besidePlot, widestPlot), Height: 12}
	_, err := fmt.Fprintf(out, "\n%s", plot.Text(runs, size, inColour))
	return err
}

func (f *simulateFlags) plotFormat() (string, error) {
	if f.plot == "" {
		return "", nil
	}
	format := strings.TrimPrefix(filepath.Ext(f.plot), ".")
	if !slices.Contains(plot.Formats, format) {
		return "", cmderror.Usagef("--plot: %s must end in .%s", f.plot, strings.Join(plot.Formats, " or ."))
	}
	return format, nil
}

func (f *simulateFlags) draw(format string, scene *simulate.Scene, runs []*simulate.Run) error {
	file, err := os.Create(f.plot)
	if err != nil {
		return fmt.Errorf("--plot: %w", err)
	}
	err = errors.Join(plot.Draw(file, format, scene, runs), file.Close())
	if err != nil {
		return fmt.Errorf("--plot: %w", err)
	}
	return nil
}

// The columns beside a plot, and the most that it has.
const (
	besidePlot = 10
	widestPlot = 160
)

// patience is the time before progress is printed.
const patience = 2 * time.Second

// progress says how far a simulation is that takes long.
type progress struct {
	out         io.Writer
	every       time.Duration
	end         string
	began, said time.Time
}

// progressOn writes in place on a terminal, elsewhere line after line.
func progressOn(out io.Writer) func(part float64) {
	p := progress{out: out, every: 5 * time.Second, end: "\n", began: time.Now()}
	if flags.IsTerminal(out) {
		p.every, p.end = 200*time.Millisecond, "\r"
	}
	return func(part float64) { p.print(time.Now(), part) }
}

func (p *progress) print(now time.Time, part float64) {
	if now.Sub(p.began) < patience || now.Sub(p.said) < p.every {
		return
	}
	p.said = now
	fmt.Fprintf(p.out, "simulating: %2.0f %%%s", 100*part, p.end)
}

func clearProgress(out io.Writer) {
	if flags.IsTerminal(out) {
		fmt.Fprint(out, "\r\x1b[K")
	}
}
