package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/plimsoll-dev/plimsoll/internal/dev/bench/reaction"
	"github.com/plimsoll-dev/plimsoll/internal/dev/bench/report"
	"github.com/plimsoll-dev/plimsoll/internal/dev/devcluster/build"
)

// More names of subjects.
const (
	upstreamTuned = "upstream-tuned"
	plimsollTuned = "plimsoll-tuned"
	plimsollAgent = "plimsoll-agent"
	// by the requests that the pods count themselves
	upstreamRequests = "upstream-requests"
	plimsollRequests = "plimsoll-requests"
)

// reactionOptions are the reaction command's flags.
type reactionOptions struct {
	config        reaction.Config
	simulated     bool
	housekeeping  time.Duration
	load          reaction.Load
	subjects      []string
	plimsollFlags string
	binDir        string
	plimsoll      string
	out           string
}

func reactionCommand() *cobra.Command {
	o := &reactionOptions{load: reaction.Article}
	command := &cobra.Command{
		Use:   "reaction",
		Short: "Seconds from the begin of a load to more replicas, on a real node or on simulated ones",
		Args:  cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			return o.run(command.Context(), command.OutOrStdout(), command.ErrOrStderr())
		},
	}
	flags, c := command.Flags(), &o.config
	flags.BoolVar(&o.simulated, "simulated", false, "use simulated nodes, which needs neither root nor containers")
	flags.DurationVar(&o.housekeeping, "housekeeping-interval", 0, "the real node's kubelet's --housekeeping-interval "+
		"for all subjects: how old its samples of CPU may be (default 10s, the kubelet's, and 1s for what is tuned)")
	flags.Var(&o.load, "load", "the real node's workload: article, sidecar with an idle container in each pod, "+
		"slow-readiness with pods that are ready 10 s after their start, two-containers scaled by one that is hot beside an "+
		"idle one with a large request, or memory scaled by the memory of connections")
	flags.IntVar(&c.Runs, "runs", reaction.DefaultRuns, "how often the load begins for each subject")
	flags.DurationVar(&c.Patience, "patience", reaction.DefaultPatience, "longest wait for 10 ready replicas")
	flags.DurationVar(&c.Rest, "rest", reaction.DefaultRest,
		"least time that an autoscaler watches the workload at rest, while the kubelet's CPU is measured")
	flags.StringSliceVar(&o.subjects, "subjects", nil, "what to measure of upstream, upstream-tuned, plimsoll, "+
		"plimsoll-tuned, plimsoll-agent, upstream-requests, plimsoll-requests (default all; on simulated nodes, which need "+
		"no tuning and have no cgroups, without plimsoll-tuned and plimsoll-agent; with the loads two-containers and "+
		"memory, which have metrics of their own, without those by requests)")
	flags.StringVar(&o.plimsollFlags, "plimsoll-flags", "", "more flags of plimsoll controller, with blanks between")
	addProgramFlags(flags, &o.binDir, &o.plimsoll)
	flags.StringVar(&o.out, "out", "", "file for the results as JSON")
	command.AddCommand(pictureCommand())
	return command
}

func (o *reactionOptions) run(ctx context.Context, out, progress io.Writer) error {
	if !o.simulated {
		if err := reaction.CheckReal(); err != nil {
			return fmt.Errorf("%w\nWithout root and containers, on simulated nodes: make bench-reaction-sim", err)
		}
	}
	var err error
	if o.config.Subjects, err = o.chosen(); err != nil {
		return err
	}
	if err := o.build(ctx, progress); err != nil {
		return err
	}
	o.config.Say = report.NewProgress(progress, time.Now()).Say
	result, err := o.measure(ctx)
	if ctx.Err() != nil {
		// An error beside the interruption is one of the taking down.
		return errors.Join(errors.New("interrupted; everything that the benchmark made is removed"), takeDown(err))
	}
	if err != nil {
		return err
	}
	return publish(out, &result, o.out)
}

// errTakeDown marks what went wrong when the stage was taken down.
type errTakeDown struct{ error }

func (e errTakeDown) Unwrap() error { return e.error }

func takeDown(err error) error {
	var of errTakeDown
	if errors.As(err, &of) {
		return of
	}
	return nil
}

func (o *reactionOptions) measure(ctx context.Context) (result reaction.Result, err error) {
	var stage interface {
		reaction.Stage
		Close() error
	}
	if o.simulated {
		stage, err = reaction.StartSimulated(ctx,
			reaction.SimulatedConfig{BinDir: o.binDir, Plimsoll: o.plimsoll, Log: o.config.Say})
	} else {
		stage, err = reaction.StartReal(ctx, reaction.RealConfig{
			BinDir: o.binDir, Plimsoll: o.plimsoll, Load: o.load, Log: o.config.Say,
		})
	}
	if err != nil {
		return reaction.Result{}, err
	}
	defer func() {
		o.config.Say("taking everything down")
		if closed := stage.Close(); closed != nil {
			err = errors.Join(err, errTakeDown{closed})
		}
	}()
	o.config.Stage = stage
	return reaction.Run(ctx, o.config)
}

// chosen are the subjects in the order of the flag.
func (o *reactionOptions) chosen() ([]reaction.Subject, error) {
	names := o.subjects
	if names == nil {
		names = []string{upstreamDefaults, upstreamTuned, plimsoll}
		if !o.simulated {
			names = append(names, plimsollTuned, plimsollAgent)
		}
		if !o.load.HasMetric() {
			names = append(names, upstreamRequests, plimsollRequests)
		}
	}
	flags := strings.Fields(o.plimsollFlags)
	known := map[string]reaction.Subject{
		upstreamDefaults: reaction.UpstreamDefaults(),
		upstreamTuned:    reaction.UpstreamTuned(),
		plimsoll:         reaction.PlimsollDefaults(flags...),
		plimsollTuned:    reaction.PlimsollTuned(flags...),
		plimsollAgent:    reaction.PlimsollAgent(flags...),
		upstreamRequests: reaction.UpstreamRequests(),
		plimsollRequests: reaction.PlimsollRequests(flags...),
	}
	chosen, err := choose(names, known)
	for i := range chosen {
		if o.housekeeping > 0 {
			chosen[i].Housekeeping = o.housekeeping
		}
		if chosen[i].Load = o.load; o.simulated && (chosen[i].NodeAgent || o.load != reaction.Article) {
			return nil, errors.New("simulated nodes have neither cgroups nor containers: no agent, and the article's load alone")
		}
		if chosen[i].OnRequests && o.load.HasMetric() {
			return nil, fmt.Errorf("the load %s is not scaled by requests", o.load)
		}
	}
	return chosen, err
}

// build brings the binaries up to date.
func (o *reactionOptions) build(ctx context.Context, progress io.Writer) error {
	parts, ours := []string{"etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "metrics-server"},
		[]string{}
	if o.simulated {
		parts = append(parts, "kwok")
	} else {
		parts, ours = append(parts, build.Kubelet), append(ours, build.Pause, build.RequestExporter)
	}
	if o.load == reaction.Memory {
		ours = append(ours, build.MemoryServer)
	}
	return programs{&o.binDir, &o.plimsoll}.build(ctx, progress, parts, ours)
}
