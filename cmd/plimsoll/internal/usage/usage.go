// Package usage reports errors about command lines as cmderror.Error, and suggests the nearest flag, command or value.
package usage

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/plimsoll-dev/plimsoll/cmd/plimsoll/internal/complete"
	"github.com/plimsoll-dev/plimsoll/cmd/plimsoll/internal/flags"
	"github.com/plimsoll-dev/plimsoll/internal/cmderror"
	"github.com/plimsoll-dev/plimsoll/internal/explain/apierror"
	"github.com/plimsoll-dev/plimsoll/internal/output"
)

// Apply sets the errors about flags and arguments of a command and those below it, the completion of their flags'
// values, and the format of their help.
func Apply(cmd *cobra.Command) {
	cmd.SetFlagErrorFunc(flagError)
	Walk(cmd, func(each *cobra.Command) {
		complete.Values(each)
		if each.ValidArgsFunction == nil && !each.HasSubCommands() {
			each.ValidArgsFunction = cobra.NoFileCompletions // arguments are objects, not files
		}
		each.Args = checked(each.Args)
	})
	cmd.SetHelpFunc(printHelp)
	cmd.SetUsageFunc(printUsage)
}

// Walk visits a command and all below it.
func Walk(cmd *cobra.Command, visit func(*cobra.Command)) {
	visit(cmd)
	for _, each := range cmd.Commands() {
		Walk(each, visit)
	}
}

// checked returns a check of arguments that returns usage errors. A nil check stays nil: cobra then looks for commands.
func checked(check cobra.PositionalArgs) cobra.PositionalArgs {
	if check == nil {
		return nil
	}
	return func(cmd *cobra.Command, args []string) error {
		err := check(cmd, args)
		switch {
		case err == nil:
			return nil
		case cmd.HasSubCommands(), len(args) == 0:
			return cmderror.Usage(err)
		case strings.HasPrefix(err.Error(), unknownCommand):
			return cmderror.Usagef("%s takes no argument: %q", cmd.CommandPath(), args[0])
		}
		return cmderror.Usagef("%s: %w", cmd.CommandPath(), err)
	}
}

// Finish converts the error of a command to a cmderror.Error.
func Finish(cmd *cobra.Command, err error) error {
	if name, isUnknown := unknownName(err); isUnknown {
		return cmderror.Usage(&cmderror.Error{
			What: fmt.Sprintf("%s has no command %q", cmd.CommandPath(), name),
			Next: cmderror.DidYouMean(cmderror.Nearest(name, names(cmd))), Cause: err,
		})
	}
	cmderror.Each(err, func(e *cmderror.Error) { offer(cmd, e) })
	return apierror.Classify(withFile(err))
}

// withFile describes a missing or unreadable file in the words of Plimsoll's errors.
func withFile(err error) error {
	if joined, is := err.(interface{ Unwrap() []error }); is {
		var all []error
		for _, inner := range joined.Unwrap() {
			all = append(all, withFile(inner))
		}
		if rejoined := errors.Join(all...); errors.Join(joined.Unwrap()...).Error() == err.Error() {
			return rejoined
		}
	}
	var file *fs.PathError
	if !errors.As(err, &file) || strings.Contains(err.Error(), "\n") {
		return err
	}
	what := ""
	switch {
	case errors.Is(file, fs.ErrNotExist):
		what = "there is no file or folder " + file.Path
	case errors.Is(file, fs.ErrPermission):
		what = "you may not open " + file.Path
	default:
		return err
	}
	return &cmderror.Error{What: strings.Replace(err.Error(), file.Error(), what, 1), Cause: err}
}

// PrintError writes the error of a command. Lines are wrapped and indented on a terminal, and never in a pipe.
func PrintError(w io.Writer, cmd *cobra.Command, err error) {
	var text strings.Builder
	cmderror.Print(&text, err, cmd.CommandPath()+" --help", Secrets(cmd))
	width := 0
	if flags.IsTerminal(w) {
		width, _ = flags.Text(w)
	}
	_, _ = io.WriteString(w, wrapError(text.String(), width)) // there is nowhere to report it
}

func wrapError(text string, width int) string {
	var out strings.Builder
	for line := range strings.Lines(text) {
		indent := len("  next  ")
		if strings.HasPrefix(line, "error: ") {
			indent = len("error: ")
		}
		out.WriteString(output.Wrap(strings.TrimSuffix(line, "\n"), width, 0, indent) + "\n")
	}
	return out.String()
}

// unknownCommand is the start of cobra's error about an unknown command.
const unknownCommand = "unknown command "

func unknownName(err error) (name string, isUnknown bool) {
	rest, isUnknown := strings.CutPrefix(err.Error(), unknownCommand)
	if !isUnknown {
		return "", false
	}
	quoted, quoteErr := strconv.QuotedPrefix(rest)
	if quoteErr != nil {
		return "", false
	}
	name, quoteErr = strconv.Unquote(quoted)
	return name, quoteErr == nil
}

func names(cmd *cobra.Command) []string {
	var all []string
	for _, each := range cmd.Commands() {
		if each.IsAvailableCommand() {
			all = append(all, each.Name())
		}
	}
	return all
}

// offer adds the nearest value to an error about a flag with few values.
func offer(cmd *cobra.Command, e *cmderror.Error) {
	f := cmd.Flags().Lookup(e.Flag)
	if f == nil || e.Next != "" {
		return
	}
	if values := flags.ValuesOf(f); len(values.All) > 0 {
		e.Next = cmderror.DidYouMean(cmderror.Nearest(values.Unknown(e.Value), values.All))
	}
}

// flagError returns the error about a flag that pflag rejects.
func flagError(cmd *cobra.Command, err error) error {
	var missing *pflag.NotExistError
	var noValue *pflag.ValueRequiredError
	var invalid *pflag.InvalidValueError
	switch {
	case errors.Is(err, pflag.ErrHelp):
		return err
	case errors.As(err, &missing):
		return unknownFlag(cmd, missing)
	case errors.As(err, &noValue):
		f := noValue.GetFlag()
		return cmderror.Usage(&cmderror.Error{What: "--" + f.Name + " needs a value", Flag: f.Name,
			Next: fmt.Sprintf("--%s=%s", f.Name, strings.ToUpper(f.Value.Type())), Cause: err})
	case errors.As(err, &invalid):
		f := invalid.GetFlag()
		return cmderror.Usage(&cmderror.Error{What: fmt.Sprintf("--%s=%s", f.Name, invalid.GetValue()),
			Why: because(f, invalid.Unwrap()), Flag: f.Name, Value: invalid.GetValue(), Cause: err})
	}
	return cmderror.Usage(err)
}

// wanted describes the types of flags whose names few people know.
var wanted = map[string]string{
	"duration": "want a duration, such as 30s or 5m",
	"int":      "want a whole number", "int32": "want a whole number", "uint64": "want a whole number",
	"float64": "want a number", "float32": "want a number", "bool": "want true or false",
}

// because returns the reason that pflag rejects a value.
func because(f *pflag.Flag, err error) string {
	if text := wanted[f.Value.Type()]; text != "" {
		return text
	}
	return err.Error()
}

// unknownFlag prints only the name of the flag: the text after a - may contain a value.
func unknownFlag(cmd *cobra.Command, missing *pflag.NotExistError) error {
	if missing.GetSpecifiedShortnames() != "" {
		return cmderror.Usage(&cmderror.Error{What: fmt.Sprintf("%s has no flag -%s", cmd.CommandPath(),
			missing.GetSpecifiedName()), Cause: missing})
	}
	var known []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			known = append(known, f.Name)
		}
	})
	name := missing.GetSpecifiedName()
	near := cmderror.Nearest(name, known)
	for i := range near {
		near[i] = "--" + near[i]
	}
	return cmderror.Usage(&cmderror.Error{What: fmt.Sprintf("%s has no flag --%s", cmd.CommandPath(), name),
		Next: cmderror.DidYouMean(near), Cause: missing})
}

// secretFlags has the flags whose values no error shows.
var secretFlags = []string{"token", "password", "prometheus-bearer-token"}

// Secrets returns the values of flags and of the environment that no error may show.
func Secrets(cmd *cobra.Command) []string {
	secrets := []string{os.Getenv("PROMETHEUS_PASSWORD")}
	for _, name := range secretFlags {
		if f := cmd.Flags().Lookup(name); f != nil {
			secrets = append(secrets, f.Value.String())
		}
	}
	return secrets
}
