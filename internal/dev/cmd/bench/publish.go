package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/plimsoll-dev/plimsoll/internal/dev/bench/report"
)

// finish publishes the result of a benchmark that has run, unless it failed.
func finish(
	ctx context.Context, out io.Writer, result interface{ Write(w io.Writer) error }, err error, file string,
) error {
	if ctx.Err() != nil {
		return errors.New("interrupted; everything that the benchmark made is removed")
	}
	if err != nil {
		return err
	}
	return publish(out, result, file)
}

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
