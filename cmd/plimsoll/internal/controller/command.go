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
		Args:  cobra.NoArgs,
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
