package vertical

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/plimsoll-dev/plimsoll/cmd/plimsoll/internal/flags"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/conflict"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/divergence"
	processupdater "github.com/plimsoll-dev/plimsoll/internal/process/vertical/updater"
)

// verbosityHelp is the help of --v, for recommender and updater.
const verbosityHelp = "The log's verbosity: 1 has each decision."

// UpdaterCommand is plimsoll updater.
func UpdaterCommand() *cobra.Command {
	flags := &standaloneUpdater{}
	cmd := &cobra.Command{
		Use:   "updater",
		Short: "Run the updater of vertical autoscaling alone, with upstream's flags",
		Long: `Updater evicts and resizes the pods of VerticalPodAutoscalers, as upstream's updater does.

Use it in place of upstream's, with the same flags, where each part of vertical autoscaling runs
in a process of its own. Otherwise plimsoll controller does that, and both must not run.`,
		Example: `  # Try it on the cluster of a kubeconfig, with each decision in the log
  plimsoll updater --kubeconfig=$HOME/.kube/config --v=1

  # Only one namespace, as upstream's updater does
  plimsoll updater --vpa-object-namespace=shop --divergences=none`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := flags.validate(); err != nil {
				return err
			}
			p := flags.updaterProcess()
			return p.Run(cmd.Context(), flags.common.Logger(cmd.ErrOrStderr()))
		},
	}
	flags.add(cmd.Flags())
	return cmd
}

// standaloneUpdater are the flags of plimsoll updater: exactly upstream's, and two of
// Plimsoll's own.
type standaloneUpdater struct {
	UpdaterFlags
	standaloneFlags
	namespace, ignored string
	divergences        string
	conflict           conflict.Mode
	set                divergence.Set
}

func (f *standaloneUpdater) add(fs *pflag.FlagSet) {
	f.Add(fs, "")
	f.standaloneFlags.add(fs, ":8943", "vpa-updater", verbosityHelp)
	fs.StringVar(&f.namespace, "vpa-object-namespace", "",
		"The one namespace whose objects are looked at; all without it.")
	fs.StringVar(&f.ignored, "ignored-vpa-object-namespaces", "",
		"Namespaces, with commas between, whose objects are left alone.")
	fs.StringVar(&f.divergences, "divergences", "default",
		"Where to decide otherwise than upstream's updater: default, none, or names with commas between "+
			"(docs/compatibility.md).")
	flags.AddDivergences(fs, "divergences", divergence.All())
	fs.StringVar((*string)(&f.conflict), "vertical-conflict", conflict.Skip.String(),
		"What to do with a resource that a HorizontalPodAutoscaler has a Utilization target on: skip or allow.")
	flags.AddValues(fs, "vertical-conflict", conflictModes)
	flags.AddHiddenLogFlags(fs)
}

// updaterProcess is the process that the flags mean.
func (f *standaloneUpdater) updaterProcess() processupdater.Standalone {
	s := processupdater.Standalone{
		Process: f.config(), Updater: f.Config(), Divergences: f.set, Conflict: f.conflict, Namespace: f.namespace,
	}
	if f.ignored != "" {
		s.Ignored = strings.Split(f.ignored, ",")
	}
	return s
}

// validate names every flag that has a value which cannot work.
func (f *standaloneUpdater) validate() error {
	var errs flags.Errors
	check := errs.Check
	f.Validate(check, "")
	f.standaloneFlags.validate(check)
	check(f.namespace == "" || f.ignored == "", "vpa-object-namespace", f.namespace,
		"cannot be given together with --ignored-vpa-object-namespaces")
	check(f.conflict.IsValid(), "vertical-conflict", f.conflict, "must be skip or allow")
	var err error
	f.set, err = divergence.Parse(f.divergences)
	check(err == nil, "divergences", f.divergences, fmt.Sprint(err))
	return errs.Join()
}
