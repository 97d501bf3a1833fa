package main

import (
	"fmt"
	"io"

	"github.com/plimsoll-dev/plimsoll/internal/bench/report"
)

// publish prints a result and, if a file is named, writes it there as JSON.
func publish(out io.Writer, result interface{ Write(w io.Writer) error }, file string) error {
	if _, err := fmt.Fprintln(out); err != nil {
		return err
	}
	if err := result.Write(out); err != nil {
		return err
	}
	if file == "" {
		return nil
	}
	fmt.Fprintf(out, "\nResults as JSON: %s\n", file)
	return report.WriteJSON(file, result)
}
