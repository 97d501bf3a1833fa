package main

import (
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/plimsoll-dev/plimsoll/internal/dev/bench/report"
	"github.com/plimsoll-dev/plimsoll/internal/dev/bench/scoreboard"
)

func scoreboardCommand() *cobra.Command {
	config := scoreboard.Defaults()
	var path string
	var samples []string
	cmd := &cobra.Command{
		Use:   "scoreboard",
		Short: "Scores of upstream's loop, of Plimsoll's and of forecasts on many loads, in virtual time",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			began := time.Now()
			config.Samples = nil
			for _, s := range samples {
				config.Samples = append(config.Samples, scoreboard.Samples(s))
			}
			config.Say = report.NewProgress(cmd.ErrOrStderr(), began).Say
			config.Done = func(r *scoreboard.Results) error {
				r.Machine, r.ElapsedSeconds = report.ThisMachine(began), time.Since(began).Seconds()
				if err := r.Boards[len(r.Boards)-1].WriteTables(cmd.OutOrStdout()); err != nil || path == "" {
					return err
				}
				return report.WriteJSON(path, r)
			}
			results, err := scoreboard.Measure(cmd.Context(), config)
			if err == nil {
				config.Say("%.0f days in %.0f s: %.2f s a day", results.Days, results.ElapsedSeconds,
					results.ElapsedSeconds/results.Days)
			}
			return err
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&config.Folder, "traces", "",
		"The folder with traces, .csv or .csv.gz; without it, --made-up and --drawn, generated days are played.")
	flags.Int32Var(&config.TargetPercent, "target", config.TargetPercent, "The target, in percent of the CPU request.")
	flags.Int32Var(&config.MinReplicas, "min", config.MinReplicas, "The least replicas.")
	flags.Int32Var(&config.MaxReplicas, "max", config.MaxReplicas, "The most replicas.")
	flags.DurationSliceVar(&config.Ready, "ready", config.Ready,
		"How long a pod takes to be ready once it is asked for; everything is played with each.")
	flags.StringSliceVar(&samples, "samples", []string{string(scoreboard.Old), string(scoreboard.Fresh)},
		"How old the kubelets' samples are: old, as kubelets give them, or fresh; everything is played with each.")
	flags.StringSliceVar(&config.Forecasts, "forecasts", config.Forecasts,
		"The sides beside upstream and plimsoll: all, none, or some of "+
			strings.Join(scoreboard.ForecastNames(), ", ")+".")
	flags.BoolVar(&config.MadeUp, "made-up", false, "Play made-up loads of three weeks too, from each seed another one.")
	flags.BoolVar(&config.Drawn, "drawn", false,
		"Play loads of three weeks too whose times, heights and changes are drawn from the seed.")
	flags.Uint64Var(&config.FirstSeed, "first-seed", config.FirstSeed, "The seed of the first time, of others the next.")
	flags.IntVar(&config.Seeds, "seeds", config.Seeds, "How many times each load is played.")
	flags.DurationVar(&config.Start, "start", 0, "Leave out this much of the beginning of each load.")
	flags.DurationVar(&config.For, "for", 0, "Play no more than this of each load.")
	flags.DurationVar(&config.ScoreFrom, "score-from", 0, "Do not score this much of the beginning of each load.")
	flags.StringVar(&path, "out", "", "The file to write the results to, as JSON.")
	return cmd
}
