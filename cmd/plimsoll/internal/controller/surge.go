package controller

import (
	"math"

	"github.com/spf13/pflag"

	"github.com/plimsoll-dev/plimsoll/cmd/plimsoll/internal/flags"
)

func (f *Flags) addSurge(fs *pflag.FlagSet) {
	s := &f.config.Options.Surge
	fs.DurationVar(&s.Window, "surge-window", s.Window,
		"The length of the surge window: samples of the last few seconds that may raise the replica count before the "+
			"average over 15 s does. It needs samples of kubelets and never lowers the count. 0 switches it off.")
	fs.Float64Var(&s.SteepFactor, "surge-steep-factor", s.SteepFactor,
		"Two samples in a row above this many times the target are a surge. The lower one determines the proposed replica "+
			"count.")
	fs.Float64Var(&s.Margin, "surge-margin", s.Margin,
		"Three samples in a row above this many times the target are a surge, if at least half of the pods are above it. "+
			"Values near 1 take noise for surges.")
	fs.Var((*flags.MilliCPU)(&s.LeastCPUMilli), "surge-least-cpu",
		"The CPU that pods must use on average for a surge. Less is noise, even if it is many times the target.")
	fs.DurationVar(&s.ReadyFor, "surge-ready-for", s.ReadyFor,
		"How long a pod must have been ready before its samples count for a surge: starting costs CPU, too.")
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
