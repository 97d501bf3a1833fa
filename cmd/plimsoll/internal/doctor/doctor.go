// Package doctor is the command plimsoll doctor.
package doctor

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericclioptions"

	"github.com/plimsoll-dev/plimsoll/internal/doctor"
	"github.com/plimsoll-dev/plimsoll/internal/doctor/facts"
	"github.com/plimsoll-dev/plimsoll/internal/doctor/judge"
	"github.com/plimsoll-dev/plimsoll/internal/doctor/read"
	"github.com/plimsoll-dev/plimsoll/internal/doctor/show"
)

const doctorLong = `Doctor examines a cluster, before Plimsoll is installed and after, and says of each
thing whether it is as it should be, why it matters, and what to do.

It reads the cluster with your permissions and writes nothing. What you may not read
is of level unknown, with the right that is missing. To read the kubelets' samples
takes the right to get nodes/proxy; to examine the rights of Plimsoll's accounts, the
right to create subjectaccessreviews. It reads at most ten kubelets.

The checks:
%s
It ends with exit status 0; with 1 if there is a finding of the level of --fail-on or
above; with 2 if the cluster could not be examined.`

const doctorExample = `  # Is the cluster fit for Plimsoll, and is Plimsoll well?
  plimsoll doctor

  # Only what is wrong or could not be read
  plimsoll doctor --quiet

  # Fail a pipeline on warnings, and keep the findings
  plimsoll doctor --fail-on=warning -o json > doctor.json`

// never is no level of --fail-on.
const never = "never"

type doctorOptions struct {
	output, failOn string
	quiet          bool
	timeout        time.Duration
	program        facts.Program
	kube           *genericclioptions.ConfigFlags
	out            io.Writer
}

// Error is an error with an exit status.
type Error struct {
	error
	code int
}

// ExitCode is the exit status.
func (e *Error) ExitCode() int { return e.code }

// Unwrap is the error itself.
func (e *Error) Unwrap() error { return e.error }

// The exit statuses.
const (
	foundSomething = 1
	notExamined    = 2
)

// Command is plimsoll doctor. The version is that of the program.
func Command(version string) *cobra.Command {
	o := doctorOptions{kube: genericclioptions.NewConfigFlags(true), program: facts.Program{Version: version}}
	cmd := &cobra.Command{
		Use:     "doctor",
		Short:   "Examine a cluster before and after Plimsoll is installed, and say what to do",
		Long:    fmt.Sprintf(doctorLong, checks()),
		Example: doctorExample,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			o.out = cmd.OutOrStdout()
			return o.run(cmd.Context())
		},
	}
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return &Error{err, notExamined} })
	fs := cmd.Flags()
	fs.StringVarP(&o.output, "output", "o", "text", "text, json or yaml")
	fs.StringVar(&o.failOn, "fail-on", doctor.Problem.String(),
		"the lowest level that makes the exit status 1: problem, warning, unknown or never")
	fs.BoolVarP(&o.quiet, "quiet", "q", false, "leave out what is as it should be")
	fs.DurationVar(&o.timeout, "check-timeout", 10*time.Second, "how long the API server may take to answer each question")
	fs.StringVar(&o.program.Namespace, "controller-namespace", "plimsoll-system", "the namespace of Plimsoll's controller")
	fs.StringVar(&o.program.Lease, "controller-lease", "plimsoll-controller", "the name of its Lease")
	o.kube.AddFlags(fs)
	return cmd
}

// checks are their names, with what they examine.
func checks() string {
	var out strings.Builder
	for _, check := range judge.All() {
		fmt.Fprintf(&out, "  %-18s  %s\n", check.Name, check.About)
	}
	return out.String()
}

func (o *doctorOptions) validate() error {
	if !slices.Contains([]string{"text", "json", "yaml"}, o.output) {
		return fmt.Errorf("--output: %q, want text, json or yaml", o.output)
	}
	if level, err := doctor.ParseLevel(o.failOn); o.failOn != never && (err != nil || level == doctor.OK) {
		return fmt.Errorf("--fail-on: %q, want problem, warning, unknown or never", o.failOn)
	}
	if o.timeout <= 0 {
		return errors.New("--check-timeout must be greater than 0")
	}
	return nil
}

func (o *doctorOptions) run(ctx context.Context) error {
	report, err := o.examine(ctx)
	if err != nil {
		return &Error{err, notExamined}
	}
	return o.result(report)
}

// examine reads and judges.
func (o *doctorOptions) examine(ctx context.Context) (*doctor.Report, error) {
	if err := o.validate(); err != nil {
		return nil, err
	}
	config, err := o.kube.ToRESTConfig()
	if err != nil {
		return nil, fmt.Errorf("reading the kubeconfig: %w", err)
	}
	config.UserAgent = "plimsoll-doctor"
	read, err := read.Read(ctx, read.Config{REST: config, Program: o.program, Timeout: o.timeout})
	if err != nil {
		return nil, err
	}
	report := judge.Judge(read)
	return &report, nil
}

// result prints the report, and is an error if a finding is as bad as --fail-on says.
func (o *doctorOptions) result(report *doctor.Report) error {
	if err := o.print(report); err != nil {
		return &Error{err, notExamined}
	}
	if o.failOn == never {
		return nil
	}
	limit, err := doctor.ParseLevel(o.failOn)
	if err != nil {
		return &Error{err, notExamined}
	}
	if worst := report.Worst(); worst >= limit {
		return &Error{fmt.Errorf("the worst finding is of level %s (--fail-on=%s)", worst, o.failOn), foundSomething}
	}
	return nil
}

func (o *doctorOptions) print(report *doctor.Report) error {
	shown := *report
	if o.quiet {
		shown.Findings = slices.DeleteFunc(slices.Clone(report.Findings), func(f doctor.Finding) bool {
			return f.Level == doctor.OK
		})
	}
	switch o.output {
	case "json":
		return show.JSON(o.out, &shown)
	case "yaml":
		return show.YAML(o.out, &shown)
	}
	return show.Text(o.out, &shown)
}
