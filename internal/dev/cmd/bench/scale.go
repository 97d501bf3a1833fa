package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/plimsoll-dev/plimsoll/internal/dev/bench/scale"
	"github.com/plimsoll-dev/plimsoll/internal/dev/bench/scale/population"
	"github.com/plimsoll-dev/plimsoll/internal/dev/bench/scale/telemetry"
)

// The names of the subjects.
const (
	upstreamDefaults = "upstream"
	upstreamOpened   = "upstream-opened"
	plimsoll         = "plimsoll"
	plimsollHalf     = "plimsoll-half"
	plimsollOwn      = "plimsoll-own"
	plimsollLearnt   = "plimsoll-learnt"
	plimsollAgents   = "plimsoll-agents"
	plimsollPages    = "plimsoll-pages"
)

// scaleOptions are the scale command's flags.
type scaleOptions struct {
	config        scale.Config
	pages         int
	out           string
	subjects      []string
	plimsollFlags string
	upstreamFlags string
}

func scaleCommand() *cobra.Command {
	o := &scaleOptions{}
	command := &cobra.Command{
		Use:   "scale",
		Short: "Thousands of autoscalers at rest: upstream with its defaults, with its limits opened, and Plimsoll",
		Args:  cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			return o.run(command.Context(), command.OutOrStdout(), command.ErrOrStderr())
		},
	}
	o.addFlags(command)
	return command
}

func (o *scaleOptions) addFlags(command *cobra.Command) {
	flags, c := command.Flags(), &o.config
	flags.IntVar(&c.Size.Objects, "objects", 400, "HorizontalPodAutoscalers, each with a Deployment")
	flags.IntVar(&c.Size.PodsPer, "pods-per", 3, "pods of each Deployment")
	flags.IntVar(&c.Size.ObjectsPerNamespace, "objects-per-namespace", population.DefaultObjectsPerNamespace,
		"objects that share a namespace")
	flags.IntVar(&c.Size.PodsPerNode, "pods-per-node", population.DefaultPodsPerNode, "pods that share a node")
	flags.IntVar(&c.VerticalObjects, "vertical-objects", 0,
		"how many of the Deployments have a VerticalPodAutoscaler of mode Off as well; 0 leaves their definitions out")
	flags.IntVar(&c.Runs, "runs", scale.DefaultRuns, "how often each subject is started and measured")
	flags.DurationVar(&c.Settle, "settle", scale.DefaultSettle, "least time from a subject's start to its measurement; "+
		"every object has been decided once by then, and its first status written")
	flags.DurationVar(&c.Window, "window", scale.DefaultWindow,
		"least length of a measurement; a period of every object ends in it")
	flags.DurationVar(&c.PlimsollWindow, "plimsoll-window", scale.DefaultPlimsollWindow,
		"that of Plimsoll, which writes status each minute at most")
	flags.DurationVar(&c.Patience, "patience", scale.DefaultPatience,
		"longest wait for the first decisions, again for the first statuses, and again for the periods")
	flags.DurationVar(&c.Idle, "idle", scale.DefaultIdle, "how long the API server is watched without any autoscaler")
	flags.DurationVar(&c.Resolution, "metric-resolution", telemetry.DefaultResolution, "metrics-server's scrape interval")
	flags.Float64Var(&c.Noise, "noise", telemetry.DefaultNoise,
		"amplitude of the pods' CPU, as a share of it; above the tolerance of 0.1 things get scaled")
	flags.IntVar(&c.Nice, "nice", 0, "nice value of what is measured; below zero, which takes root, it does not wait "+
		"for the control plane and the kubelets on the same processors")
	flags.StringSliceVar(&o.subjects, "subjects", []string{upstreamDefaults, upstreamOpened, plimsoll},
		"what to measure; "+plimsollHalf+" has every second HPA replaced by a WorkloadAutoscaler, "+plimsollOwn+
			" each by one on metrics of the pods' own, "+plimsollLearnt+
			" begins with full histories and forecasts that have learnt, "+plimsollAgents+" requests agents of the nodes, "+
			plimsollPages+" has pages of plimsoll ui open")
	flags.IntVar(&o.pages, "pages", 10, "pages of plimsoll ui, each on an autoscaler, for "+plimsollPages)
	flags.StringVar(&o.plimsollFlags, "plimsoll-flags", "", "flags of plimsoll controller, with blanks between")
	flags.StringVar(&o.upstreamFlags, "upstream-flags", "", "more flags of kube-controller-manager for "+upstreamOpened+
		", with blanks between")
	flags.StringVar((*string)(&c.Decisions), "plimsoll-decisions", string(scale.FromLog),
		"how Plimsoll's decisions are seen: log, which its CPU includes; requests, for "+
			"--plimsoll-flags=--resource-metrics-source=api; count, which leaves out periods")
	addProgramFlags(flags, &c.BinDir, &c.Plimsoll)
	flags.StringVar(&o.out, "out", "", "file for the results as JSON")
}

func (o *scaleOptions) run(ctx context.Context, out, progress io.Writer) error {
	var err error
	if o.config.Subjects, err = o.chosen(); err != nil {
		return err
	}
	isPlimsoll := func(s scale.Subject) bool { return s.Kind == scale.Plimsoll }
	if o.config.Plimsoll != "" && !slices.ContainsFunc(o.config.Subjects, isPlimsoll) {
		return fmt.Errorf("--plimsoll=%s: it is not among --subjects", o.config.Plimsoll)
	}
	parts := []string{"etcd", "kube-apiserver", "kube-controller-manager"}
	if err := (programs{&o.config.BinDir, &o.config.Plimsoll}).build(ctx, progress, parts, nil); err != nil {
		return err
	}
	o.config.Out = progress
	result, err := scale.Run(ctx, o.config)
	return finish(ctx, out, &result, err, o.out)
}

// chosen are the subjects in the order of the flag.
func (o *scaleOptions) chosen() ([]scale.Subject, error) {
	known := map[string]scale.Subject{
		upstreamDefaults: {Name: "upstream, defaults", Kind: scale.Upstream, Flags: []string{}},
		upstreamOpened: {
			Name: "upstream, limits opened", Kind: scale.Upstream,
			Flags: append(scale.OpenedFlags(), strings.Fields(o.upstreamFlags)...),
		},
		plimsoll: {Name: "Plimsoll", Kind: scale.Plimsoll, Flags: strings.Fields(o.plimsollFlags)},
		plimsollHalf: {
			Name: "Plimsoll, half WLAs", Kind: scale.Plimsoll, Flags: strings.Fields(o.plimsollFlags),
			HalfWorkloadAutoscalers: true,
		},
		plimsollOwn: {
			Name: "Plimsoll, own metrics", Kind: scale.Plimsoll, Flags: strings.Fields(o.plimsollFlags), OwnMetrics: true,
		},
		plimsollLearnt: {
			Name: "Plimsoll, all learnt", Kind: scale.Plimsoll, Flags: strings.Fields(o.plimsollFlags), HasLearnt: true,
		},
		plimsollAgents: {
			Name: "Plimsoll, node agents", Kind: scale.Plimsoll, Flags: strings.Fields(o.plimsollFlags), NodeAgents: true,
		},
		plimsollPages: {
			Name: fmt.Sprintf("Plimsoll, %d pages open", o.pages), Kind: scale.Plimsoll,
			Flags: strings.Fields(o.plimsollFlags), Pages: o.pages,
		},
	}
	return choose(o.subjects, known)
}

// choose are the subjects of a flag, in its order.
func choose[S any](names []string, known map[string]S) ([]S, error) {
	var subjects []S
	for _, name := range names {
		subject, found := known[name]
		if !found {
			return nil, fmt.Errorf("--subjects: there is no %q, only %s", name, strings.Join(slices.Sorted(maps.Keys(known)),
				", "))
		}
		subjects = append(subjects, subject)
	}
	return subjects, nil
}
