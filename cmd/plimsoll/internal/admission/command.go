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
		Args:  cobra.NoArgs,
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
