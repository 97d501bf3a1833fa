package admission

import (
	"github.com/spf13/cobra"

	"github.com/plimsoll-dev/plimsoll/internal/process/admission"
)

// Command is plimsoll admission-controller.
func Command() *cobra.Command {
	flags := &Flags{}
	cmd := &cobra.Command{
		Use:   "admission-controller",
		Short: "Run the admission server of vertical autoscaling",
		Long: `Admission-controller sets the requests of new pods and validates VerticalPodAutoscalers.

Use it beside plimsoll controller where VerticalPodAutoscalers change pods, or in place of
upstream's admission controller with the same flags. config/vertical starts it.`,
		Example: `  # With certificates that it creates and keeps in a Secret, as config/vertical runs it
  plimsoll admission-controller --webhook-cert-secret=plimsoll-webhook

  # With certificates in files, as upstream's manifests have them
  plimsoll admission-controller --client-ca-file=/etc/tls-certs/caCert.pem --reload-cert`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := flags.Complete(); err != nil {
				return err
			}
			return admission.Run(cmd.Context(), flags.Config(), flags.common.Logger(cmd.ErrOrStderr()))
		},
	}
	flags.Add(cmd.Flags())
	return cmd
}
