package main

import (
	"context"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/plimsoll-dev/plimsoll/internal/dev/bench/vertical"
	"github.com/plimsoll-dev/plimsoll/internal/dev/devcluster/build"
)

// plimsollAlone is the name of a subject: two processes, as upstream's.
const plimsollAlone = "plimsoll-alone"

// verticalOptions are the vertical command's flags.
type verticalOptions struct {
	config        vertical.Config
	subjects      []string
	plimsollFlags string
	upstreamFlags string
	out           string
}

func verticalCommand() *cobra.Command {
	o := &verticalOptions{}
	command := &cobra.Command{
		Use: "vertical",
		Short: "Many vertical autoscalers at rest, and acting: upstream with its defaults, without its clients' " +
			"throttling, and Plimsoll",
		Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			return o.run(command.Context(), command.OutOrStdout(), command.ErrOrStderr())
		},
	}
	flags, c := command.Flags(), &o.config
	flags.IntVar(&c.Objects, "objects", vertical.DefaultObjects, "VerticalPodAutoscalers, each with a Deployment")
	flags.IntVar(&c.PodsPer, "pods-per", vertical.DefaultPodsPer, "pods of each Deployment")
	flags.StringVar(&c.Mode, "mode", vertical.Recreate, "how pods are changed: "+vertical.Recreate+" or "+
		vertical.InPlaceOrRecreate)
	flags.IntVar(&c.Runs, "runs", vertical.DefaultRuns, "how often each subject is started and measured")
	flags.IntVar(&c.Passes, "passes", vertical.DefaultPasses,
		"for how many passes, each a minute, a subject is watched at rest")
	flags.DurationVar(&c.Patience, "patience", vertical.DefaultPatience,
		"longest wait for recommendations, for a pass and for pods")
	flags.StringSliceVar(&o.subjects, "subjects", []string{upstreamDefaults, upstreamOpened, plimsoll},
		"what to measure; there is "+plimsollAlone+" too")
	flags.StringVar(&o.plimsollFlags, "plimsoll-flags", "", "more flags of Plimsoll's processes, with blanks between")
	flags.StringVar(&o.upstreamFlags, "upstream-flags", "", "more flags of upstream's processes for "+upstreamOpened+
		", with blanks between")
	addProgramFlags(flags, &c.BinDir, &c.Plimsoll)
	flags.StringVar(&o.out, "out", "", "file for the results as JSON")
	return command
}

func (o *verticalOptions) run(ctx context.Context, out, progress io.Writer) error {
	var err error
	if o.config.Subjects, err = o.chosen(); err != nil {
		return err
	}
	c := &o.config
	parts := slices.Concat(build.ControlPlane(), []string{build.UpstreamRecommender, build.UpstreamUpdater})
	parts = slices.DeleteFunc(parts, func(name string) bool { return name == "kubectl" })
	if err := (programs{&c.BinDir, &c.Plimsoll}).build(ctx, progress, parts, nil); err != nil {
		return err
	}
	c.Recommender = filepath.Join(c.BinDir, build.UpstreamRecommender)
	c.Updater = filepath.Join(c.BinDir, build.UpstreamUpdater)
	o.config.Out = progress
	result, err := vertical.Run(ctx, o.config)
	return finish(ctx, out, &result, err, o.out)
}

// chosen are the subjects in the order of the flag.
func (o *verticalOptions) chosen() ([]vertical.Subject, error) {
	ours := strings.Fields(o.plimsollFlags)
	known := map[string]vertical.Subject{
		upstreamDefaults: {Name: "upstream, defaults", Kind: vertical.Upstream, Flags: []string{}},
		upstreamOpened: {
			Name: "upstream, not throttled", Kind: vertical.Upstream,
			Flags: append(vertical.OpenedFlags(), strings.Fields(o.upstreamFlags)...),
		},
		plimsoll: {Name: "Plimsoll", Kind: vertical.Plimsoll, Flags: ours},
		plimsollAlone: {Name: "Plimsoll, two processes", Kind: vertical.PlimsollAlone,
			Flags: append(vertical.OpenedFlags(), ours...)},
	}
	return choose(o.subjects, known)
}
