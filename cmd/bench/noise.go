package main

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/surge"
	"github.com/plimsoll-dev/plimsoll/internal/dev/bench/noise"
	"github.com/plimsoll-dev/plimsoll/internal/dev/bench/report"
)

func noiseCommand() *cobra.Command {
	config := noise.Config{Seeds: 100, WorkSeeds: 10, Window: surge.Defaults()}
	var path string
	cmd := &cobra.Command{
		Use:   "noise",
		Short: "What the surge window does beyond 15 s averages, on noise and on surges, in virtual time",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			began := time.Now()
			config.Say = report.NewProgress(cmd.ErrOrStderr(), began).Say
			results, err := noise.Measure(cmd.Context(), config)
			if err != nil {
				return err
			}
			results.Machine = report.ThisMachine(began)
			if _, err := fmt.Fprintln(cmd.OutOrStdout()); err != nil {
				return err
			}
			if err := results.WriteTables(cmd.OutOrStdout()); err != nil {
				return err
			}
			if path == "" {
				return nil
			}
			return report.WriteJSON(path, results)
		},
	}
	flags, window := cmd.Flags(), &config.Window
	flags.StringVar(&path, "out", "", "The file to write the results to, as JSON.")
	flags.IntVar(&config.Seeds, "seeds", config.Seeds, "How many times each scenario is played.")
	flags.IntVar(&config.WorkSeeds, "work-seeds", config.WorkSeeds,
		"The same of the cases of work that each pod does by itself.")
	flags.DurationVar(&config.Agents, "node-agent-interval", 0,
		"How often agents of the nodes read what pods use; by default kubelets have new samples each second.")
	flags.DurationVar(&window.Window, "surge-window", window.Window, "As of plimsoll controller, as the flags below.")
	flags.Float64Var(&window.SteepFactor, "surge-steep-factor", window.SteepFactor, "")
	flags.Float64Var(&window.Margin, "surge-margin", window.Margin, "")
	return cmd
}
