package flags

import (
	"io"

	"github.com/go-logr/logr"
	"github.com/spf13/pflag"

	"github.com/plimsoll-dev/plimsoll/internal/process"
)

// Common are the flags of every process.
type Common struct {
	Kubeconfig string
	verbosity  int
	format     process.LogFormat
	hasFormat  bool
}

// Add adds all but --logging-format; verbosity is the help of --v.
func (c *Common) Add(fs *pflag.FlagSet, verbosity string) {
	fs.StringVar(&c.Kubeconfig, "kubeconfig", "",
		"Path to a kubeconfig file. Without it, the service account of the pod.")
	c.AddVerbosity(fs, verbosity)
}

// AddVerbosity adds --v alone, for a process that has nothing to do with the API; verbosity is its help.
func (c *Common) AddVerbosity(fs *pflag.FlagSet, verbosity string) {
	fs.IntVarP(&c.verbosity, "v", "v", 0, verbosity)
}

// AddLogFormat adds --logging-format.
func (c *Common) AddLogFormat(fs *pflag.FlagSet) {
	c.hasFormat = true
	fs.StringVar((*string)(&c.format), "logging-format", string(process.LogText), "The log's format: text or json.")
	AddValues(fs, "logging-format", Values{All: []string{string(process.LogText), string(process.LogJSON)}})
}

// Validate checks them.
func (c *Common) Validate(check Check) {
	check(!c.hasFormat || c.format.IsValid(), "logging-format", c.format, "must be text or json")
	check(c.verbosity >= 0, "v", c.verbosity, "must not be negative")
}

// Logger is the process's log.
func (c *Common) Logger(out io.Writer) logr.Logger {
	return process.NewLogger(out, c.verbosity, c.format)
}
