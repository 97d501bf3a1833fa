package controller

import (
	"github.com/spf13/cobra"

	"github.com/plimsoll-dev/plimsoll/internal/process/controller"
)

// Command is plimsoll controller.
func Command() *cobra.Command {
	flags := &Flags{}
	cmd := &cobra.Command{
		Use:   "controller",
		Short: "Run the autoscaling loops, horizontal and vertical",
		Long: `Controller runs the autoscaling loops, horizontal and vertical.

Use it through the manifests in config/, which start it with two replicas and with the
permissions that it needs. By default it acts on WorkloadAutoscalers, on HPAs on which no other
controller acts, and on VerticalPodAutoscalers once their definitions are installed. Flags that
kube-controller-manager has too have its names and defaults.`,
		Example: `  # Compare with kube-controller-manager on the cluster of a kubeconfig, and write nothing about HPAs
  plimsoll controller --kubeconfig=$HOME/.kube/config --horizontal-pod-autoscalers=shadow --vertical=false \
    --leader-elect=false

  # Act on all HPAs, where kube-controller-manager's own loop is off
  plimsoll controller --horizontal-pod-autoscalers=act

  # Decide as upstream does, without any divergence
  plimsoll controller --divergences=none --vertical-divergences=none`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := flags.Validate(); err != nil {
				return err
			}
			return controller.Run(cmd.Context(), flags.Config(), flags.common.Logger(cmd.ErrOrStderr()))
		},
	}
	flags.Add(cmd.Flags())
	return cmd
}
