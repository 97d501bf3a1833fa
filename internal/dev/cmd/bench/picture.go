package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/plimsoll-dev/plimsoll/internal/dev/bench/reaction"
	"github.com/plimsoll-dev/plimsoll/internal/dev/bench/reaction/picture"
)

func pictureCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "picture RESULTS.json PICTURE.svg",
		Short:   "Draw what bench reaction --out wrote",
		Example: "  bench reaction picture dist/reaction.json docs/images/reaction.svg",
		Args:    cobra.ExactArgs(2),
		RunE: func(_ *cobra.Command, args []string) (err error) {
			text, err := os.ReadFile(args[0])
			if err != nil {
				return fmt.Errorf("results: %w", err)
			}
			var result reaction.Result
			if err := json.Unmarshal(text, &result); err != nil {
				return fmt.Errorf("results in %s: %w", args[0], err)
			}
			file, err := os.Create(args[1])
			if err != nil {
				return fmt.Errorf("picture: %w", err)
			}
			defer func() { err = errors.Join(err, file.Close()) }()
			return picture.SVG(file, &result)
		},
	}
}
