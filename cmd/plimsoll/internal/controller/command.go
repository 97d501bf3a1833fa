package controller

import (
	"github.com/spf13/cobra"

	"github.com/plimsoll-dev/plimsoll/cmd/plimsoll/internal/flags"
	"github.com/plimsoll-dev/plimsoll/internal/process/controller"
)

// Command is plimsoll controller.
func Command() *cobra.Command {
	given := &Flags{}
	cmd := &cobra.Command{
		Use:   "controller",
		Short: "Run the autoscaling loops, horizontal and vertical",
		Long: `Controller runs the autoscaling loops, horizontal and vertical.

Use it through the manifests in config/, which start it with two replicas and with the
permissions that it needs. By default it acts on WorkloadAutoscalers, on HPAs on which no other
controller acts, and on VerticalPodAutoscalers once their definitions are installed. Flags that
kube-controller-manager and upstream's vertical autoscaler have too keep their names and defaults
(docs/from-vpa.md lists the exceptions).`,
		Example: `  # Compare with kube-controller-manager on a kubeconfig's cluster, and write nothing about HPAs
  plimsoll controller --kubeconfig=$HOME/.kube/config --leader-elect=false \
    --components=horizontal --horizontal-pod-autoscalers=shadow

  # Act on all HPAs, where kube-controller-manager's own loop is off
  plimsoll controller --horizontal-pod-autoscalers=act

  # In place of upstream's recommender, with the flags that it had; its updater stays as it is
  plimsoll controller --components=recommender --recommendation-margin-fraction=0.2

  # Decide as upstream does, without any divergence
  plimsoll controller --divergences=none --vertical-divergences=none`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := given.Validate(); err != nil {
				return err
			}
			log := given.common.Logger(cmd.ErrOrStderr())
			if ignored := flags.Ignored(cmd.Flags()); len(ignored) > 0 {
				log.Info("these flags have no effect", "flags", ignored)
			}
			return controller.Run(cmd.Context(), given.Config(), log)
		},
	}
	given.Add(cmd.Flags())
	return cmd
}
