package main

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/plimsoll-dev/plimsoll/internal/dev/bench/report"
	"github.com/plimsoll-dev/plimsoll/internal/dev/bench/scoreboard"
)

func scoreboardCommand() *cobra.Command {
	config := scoreboard.Defaults()
	var path string
	cmd := &cobra.Command{
		Use:   "scoreboard",
		Short: "Scores of upstream's settings and of Plimsoll's on the traces of a folder, in virtual time",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			began := time.Now()
			config.Say = report.NewProgress(cmd.ErrOrStderr(), began).Say
			results, err := scoreboard.Measure(cmd.Context(), config)
			if err != nil {
				return err
			}
			results.Machine = report.ThisMachine(began)
			if _, err := fmt.Fprintln(cmd.OutOrStdout()); err != nil {
				return err
			}
			if err := results.WriteTable(cmd.OutOrStdout()); err != nil {
				return err
			}
			if path == "" {
				return nil
			}
			return report.WriteJSON(path, results)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&config.Folder, "traces", "",
		"The folder with traces, .csv or .csv.gz; without it, generated days are played.")
	flags.Int32Var(&config.TargetPercent, "target", config.TargetPercent, "The target, in percent of the CPU request.")
	flags.Int32Var(&config.MinReplicas, "min", config.MinReplicas, "The least replicas.")
	flags.Int32Var(&config.MaxReplicas, "max", config.MaxReplicas, "The most replicas.")
	flags.DurationVar(&config.ReadyAfter, "ready-after", config.ReadyAfter,
		"How long a pod takes to be ready once it runs.")
	flags.IntVar(&config.Seeds, "seeds", config.Seeds, "How many times each load is played.")
	flags.DurationVar(&config.For, "for", 0, "Play no more than this of each load.")
	flags.StringVar(&path, "out", "", "The file to write the results to, as JSON.")
	return cmd
}
