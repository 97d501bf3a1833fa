package vertical

import (
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/plimsoll-dev/plimsoll/cmd/plimsoll/internal/flags"
	"github.com/plimsoll-dev/plimsoll/internal/process/kubelets"
	processvertical "github.com/plimsoll-dev/plimsoll/internal/process/vertical"
)

// RecommenderCommand is plimsoll recommender.
func RecommenderCommand() *cobra.Command {
	flags := &standaloneRecommender{}
	cmd := &cobra.Command{
		Use:   "recommender",
		Short: "Run the recommender of vertical autoscaling alone, with upstream's flags",
		Long: `Recommender writes the recommendations of VerticalPodAutoscalers, as upstream's recommender does.

Use it in place of upstream's, with the same flags, where each part of vertical autoscaling runs
in a process of its own. Otherwise plimsoll controller does that, and both must not run.`,
		Example: `  # Try it on the cluster of a kubeconfig, with each decision in the log
  plimsoll recommender --kubeconfig=$HOME/.kube/config --v=1

  # With the past from Prometheus, as upstream's recommender does
  plimsoll recommender --storage=prometheus --prometheus-address=http://prometheus.monitoring.svc:9090`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := flags.validate(); err != nil {
				return err
			}
			p := processvertical.Recommender{
				Process: flags.config(), Recommender: flags.Config(), Conflict: flags.Conflict, Kubelets: flags.kubelets,
			}
			return p.Run(cmd.Context(), flags.common.Logger(cmd.ErrOrStderr()))
		},
	}
	flags.add(cmd.Flags())
	return cmd
}

// standaloneRecommender are those of upstream's recommender as a process of its own.
type standaloneRecommender struct {
	RecommenderFlags
	standaloneFlags
	kubelets kubelets.Config
	// foreign are about other sources of metrics.
	foreign *pflag.FlagSet
}

func (f *standaloneRecommender) add(fs *pflag.FlagSet) {
	f.Add(fs)
	f.AddOwn(fs, "")
	flags.AddKubelets(fs, &f.kubelets)
	f.standaloneFlags.add(fs, ":8942", "vpa-recommender-lease", verbosityHelp)
	f.common.AddLogFormat(fs)
	f.foreign = foreignFlags()
	fs.AddFlagSet(f.foreign)
	flags.AddHiddenLogFlags(fs)
}

// foreignFlags are those of upstream whose defaults are all that works here.
func foreignFlags() *pflag.FlagSet {
	fs := pflag.NewFlagSet("", pflag.ContinueOnError)
	const about = "Of upstream's recommender: only the default works."
	fs.String("external-metrics-cpu-metric", "", about)
	fs.String("external-metrics-memory-metric", "", about)
	fs.Bool("use-external-metrics", false, about)
	return fs
}

// validate names every flag that has a value which cannot work.
func (f *standaloneRecommender) validate() error {
	var errs flags.Errors
	check := errs.Check
	f.Validate(check)
	f.standaloneFlags.validate(check)
	flags.ValidateKubelets(&f.kubelets, check)
	errs.Add(f.kubelets.Options.Validate())
	f.foreign.VisitAll(func(each *pflag.Flag) {
		check(each.Value.String() == each.DefValue, each.Name, each.Value, "other sources of metrics are not read")
	})
	return errs.Join()
}
