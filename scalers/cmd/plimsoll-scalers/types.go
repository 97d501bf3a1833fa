package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/plimsoll-dev/plimsoll/scalers/internal/triggers"
)

// newTypes prints the types of triggers.
func newTypes() *cobra.Command {
	return &cobra.Command{
		Use:   "types",
		Short: "Lists the types of triggers",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			for _, trigger := range triggers.Types() {
				if _, err := fmt.Fprintln(c.OutOrStdout(), trigger); err != nil {
					return err
				}
			}
			return nil
		},
	}
}
