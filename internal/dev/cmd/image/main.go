// Command image writes Plimsoll's container image as an OCI archive.
package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/plimsoll-dev/plimsoll/internal/dev/image"
)

func main() {
	if err := command().Execute(); err != nil {
		fmt.Fprintln(os.Stderr, "image:", err)
		os.Exit(1)
	}
}

type options struct {
	program, output, tag, version string
}

func command() *cobra.Command {
	var o options
	cmd := &cobra.Command{
		Use:           "image",
		Short:         "Write the container image as an OCI archive",
		Args:          cobra.NoArgs,
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE:          func(cmd *cobra.Command, _ []string) error { return o.run(cmd.OutOrStdout()) },
	}
	flags := cmd.Flags()
	flags.StringVar(&o.program, "program", "dist/image/plimsoll", "the static program")
	flags.StringVar(&o.output, "output", "dist/plimsoll-image.tar", "the archive to write")
	flags.StringVar(&o.tag, "tag", image.DefaultTag, "the image's name")
	flags.StringVar(&o.version, "version", "dev", "the version that the image's label says")
	return cmd
}

func (o *options) run(out io.Writer) error {
	program, err := os.ReadFile(o.program)
	if err != nil {
		return err
	}
	built, err := image.BuildFrom(program, &image.Source{Name: filepath.Base(o.program), Version: o.version})
	if err != nil {
		return fmt.Errorf("%s: %w", o.program, err)
	}
	digest, err := built.Digest()
	if err != nil {
		return err
	}
	if err := o.write(func(w io.Writer) error { return image.WriteArchive(w, built, o.tag) }); err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "%s: %s@%s\n", o.output, o.tag, digest)
	return err
}

// write leaves no half of an archive behind.
func (o *options) write(content func(io.Writer) error) error {
	if err := os.MkdirAll(filepath.Dir(o.output), 0o750); err != nil {
		return err
	}
	file, err := os.CreateTemp(filepath.Dir(o.output), ".image-*")
	if err != nil {
		return err
	}
	err = content(file)
	if closed := file.Close(); err == nil {
		err = closed
	}
	if err == nil {
		err = os.Rename(file.Name(), o.output)
	}
	if err != nil {
		_ = os.Remove(file.Name())
		return fmt.Errorf("%s: %w", o.output, err)
	}
	return nil
}
