package main

import (
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/plimsoll-dev/plimsoll/internal/dev/bench/campaign"
	"github.com/plimsoll-dev/plimsoll/internal/dev/bench/report"
)

type campaignFlags struct {
	cases, kubelets, out  string
	seeds                 []uint
	ablation, told, trace bool
	markdown              bool
	without               []string
}

func campaignCommand() *cobra.Command {
	var f campaignFlags
	cmd := &cobra.Command{
		Use:   "campaign",
		Short: "Upstream's decisions beside Plimsoll's on several hundred loads, in virtual time",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return f.run(cmd) },
	}
	flags := cmd.Flags()
	flags.StringVar(&f.cases, "cases", "", "A regular expression: only the cases whose names match, as ^spike/12$.")
	flags.UintSliceVar(&f.seeds, "seeds", []uint{1, 2, 3, 4}, "The seeds that each case is played with.")
	flags.StringVar(&f.kubelets, "kubelets", campaign.KubeletNames()[0],
		"How often samples are new: "+strings.Join(campaign.KubeletNames(), ", ")+".")
	flags.BoolVar(&f.ablation, "ablation", false,
		"Play Plimsoll without each of the divergences that concern following the load, too.")
	flags.StringArrayVar(&f.without, "without", nil,
		"Play Plimsoll without these divergences, too, with a comma between names; may be repeated.")
	flags.BoolVar(&f.told, "told", false,
		"Play Plimsoll with the requests that are offered in each second as its metric, too: what no samples can beat.")
	flags.BoolVar(&f.trace, "trace", false,
		"Print each change of the scale with the numbers that led to it, instead of tables.")
	flags.BoolVar(&f.markdown, "markdown", false, "Print tables as Markdown, for the documentation.")
	flags.StringVar(&f.out, "out", "", "The file to write the results to, as JSON.")
	return cmd
}

// config returns the configuration of the flags.
func (f *campaignFlags) config() (campaign.Config, error) {
	kubelets, err := campaign.ParseKubelets(f.kubelets)
	if err != nil {
		return campaign.Config{}, fmt.Errorf("--kubelets: %w", err)
	}
	c := campaign.Config{Kubelets: kubelets}
	for _, seed := range f.seeds {
		c.Seeds = append(c.Seeds, uint64(seed))
	}
	if c.Cases, err = regexp.Compile(f.cases); err != nil {
		return c, fmt.Errorf("--cases: %w", err)
	}
	if f.ablation {
		c.Ablations = campaign.Ablations()
	}
	if f.told {
		c.Ablations = append(c.Ablations, campaign.Told)
	}
	for _, names := range f.without {
		side, err := campaign.ParseAblation(names)
		if err != nil {
			return c, fmt.Errorf("--without: %w", err)
		}
		c.Ablations = append(c.Ablations, side)
	}
	return c, nil
}

func (f *campaignFlags) run(cmd *cobra.Command) error {
	c, err := f.config()
	if err != nil {
		return err
	}
	if f.trace {
		return campaign.Trace(cmd.Context(), c, cmd.OutOrStdout())
	}
	c.Say = report.NewProgress(cmd.ErrOrStderr(), time.Now()).Say
	results, err := campaign.Measure(cmd.Context(), c)
	if err != nil {
		return err
	}
	if err := results.WriteTables(cmd.OutOrStdout(), f.markdown); err != nil || f.out == "" {
		return err
	}
	return report.WriteJSON(f.out, results)
}
