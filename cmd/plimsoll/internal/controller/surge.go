package controller

import (
	"math"

	"github.com/spf13/pflag"

	"github.com/plimsoll-dev/plimsoll/cmd/plimsoll/internal/flags"
)

func (f *Flags) addSurge(fs *pflag.FlagSet) {
	s := &f.config.Options.Surge
	fs.DurationVar(&s.Window, "surge-window", s.Window,
		"How far back the samples may reach by which the last few seconds of CPU use ask for more replicas; 0 leaves "+
			"everything to the "+
			"average over 15 s. It needs samples of the kubelets, and only ever asks for more.")
	fs.Float64Var(&s.SteepFactor, "surge-steep-factor", s.SteepFactor,
		"Two samples in a row above this many times the target are a surge. The lower one says how many "+
			"replicas are asked for.")
	fs.Float64Var(&s.Margin, "surge-margin", s.Margin,
		"Three samples in a row above this many times the target are a surge, and at least half of the pods "+
			"must be above it. "+
			"Nearer to 1 noise is taken for a surge.")
	fs.Var((*flags.MilliCPU)(&s.LeastCPUMilli), "surge-least-cpu",
		"The CPU that pods must use on average for a surge; below it, many times the target is little.")
	fs.DurationVar(&s.ReadyFor, "surge-ready-for", s.ReadyFor,
		"How long pods must have been ready before the samples that count for a surge begin: starting costs CPU, too.")
}

func (f *Flags) validateSurge(check flags.Check) {
	s := &f.config.Options.Surge
	check(s.Window >= 0, "surge-window", s.Window, "must not be negative")
	check(s.Margin >= 1 && !math.IsInf(s.Margin, 0), "surge-margin", s.Margin, "must be a number of at least 1")
	check(s.SteepFactor >= s.Margin && !math.IsInf(s.SteepFactor, 0), "surge-steep-factor", s.SteepFactor,
		"must be a number of at least --surge-margin")
	check(s.LeastCPUMilli >= 0, "surge-least-cpu", (*flags.MilliCPU)(&s.LeastCPUMilli), "must not be negative")
	check(s.ReadyFor >= 0, "surge-ready-for", s.ReadyFor, "must not be negative")
}
